// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
func.func @elementwise(%a: tensor<1000xf32>, %b: tensor<1000xf32>) -> tensor<1000xf32> {
  %product = arith.mulf %a, %b : tensor<1000xf32>
  %exponential = math.exp %product : tensor<1000xf32>
  %tangent = math.tanh %a : tensor<1000xf32>
  %r = arith.addf %exponential, %tangent : tensor<1000xf32>
  return %r : tensor<1000xf32>
}

func.func @matmul(%a: tensor<70x50xf32>, %b: tensor<50x90xf32>) -> tensor<70x90xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<70x90xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<70x90xf32>) -> tensor<70x90xf32>
  %r = linalg.matmul ins(%a, %b : tensor<70x50xf32>, tensor<50x90xf32>)
      outs(%init : tensor<70x90xf32>) -> tensor<70x90xf32>
  return %r : tensor<70x90xf32>
}

func.func @matmul_f16(%a: tensor<256x128xf16>, %b: tensor<128x256xf16>) -> tensor<256x256xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<256x256xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<256x256xf32>) -> tensor<256x256xf32>
  %r = linalg.matmul ins(%a, %b : tensor<256x128xf16>, tensor<128x256xf16>)
      outs(%init : tensor<256x256xf32>) -> tensor<256x256xf32>
  return %r : tensor<256x256xf32>
}

func.func @matmul_i8(%a: tensor<40x30xi8>, %b: tensor<30x50xi8>) -> tensor<40x50xi32> {
  %zero = arith.constant 0 : i32
  %empty = tensor.empty() : tensor<40x50xi32>
  %init = linalg.fill ins(%zero : i32) outs(%empty : tensor<40x50xi32>) -> tensor<40x50xi32>
  %r = linalg.matmul ins(%a, %b : tensor<40x30xi8>, tensor<30x50xi8>)
      outs(%init : tensor<40x50xi32>) -> tensor<40x50xi32>
  return %r : tensor<40x50xi32>
}

func.func @row_sums(%a: tensor<33x257xf32>) -> tensor<33xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<33xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<33xf32>) -> tensor<33xf32>
  %r = linalg.reduce ins(%a : tensor<33x257xf32>) outs(%init : tensor<33xf32>) dimensions = [1]
    (%x: f32, %sum: f32) {
      %next = arith.addf %x, %sum : f32
      linalg.yield %next : f32
    }
  return %r : tensor<33xf32>
}

func.func @softmax(%a: tensor<16x200xf32>) -> tensor<16x200xf32> {
  %empty = tensor.empty() : tensor<16x200xf32>
  %r = linalg.softmax dimension(1) ins(%a : tensor<16x200xf32>) outs(%empty : tensor<16x200xf32>)
      -> tensor<16x200xf32>
  return %r : tensor<16x200xf32>
}

func.func @convolution(%a: tensor<1x3x14x14xf32>, %w: tensor<5x3x3x3xf32>) -> tensor<1x5x12x12xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<1x5x12x12xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<1x5x12x12xf32>) -> tensor<1x5x12x12xf32>
  %r = linalg.conv_2d_nchw_fchw {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
      ins(%a, %w : tensor<1x3x14x14xf32>, tensor<5x3x3x3xf32>)
      outs(%init : tensor<1x5x12x12xf32>) -> tensor<1x5x12x12xf32>
  return %r : tensor<1x5x12x12xf32>
}

func.func @gather(%a: tensor<20x16xf32>, %index: tensor<8xi32>) -> tensor<16x8xf32> {
  %empty = tensor.empty() : tensor<16x8xf32>
  %r = linalg.generic {
      indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%index : tensor<8xi32>) outs(%empty : tensor<16x8xf32>) {
    ^bb0(%i: i32, %unused: f32):
      %row = arith.index_cast %i : i32 to index
      %column = linalg.index 0 : index
      %value = tensor.extract %a[%row, %column] : tensor<20x16xf32>
      linalg.yield %value : f32
  } -> tensor<16x8xf32>
  return %r : tensor<16x8xf32>
}

func.func @steps(%a: tensor<256xf32>, %n: tensor<i32>) -> tensor<256xf32> {
  %count = tensor.extract %n[] : tensor<i32>
  %end = arith.index_cast %count : i32 to index
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %half = arith.constant dense<0.5> : tensor<256xf32>
  %r = scf.for %i = %zero to %end step %one iter_args(%x = %a) -> tensor<256xf32> {
    %y = arith.mulf %x, %half : tensor<256xf32>
    %z = math.sqrt %y : tensor<256xf32>
    scf.yield %z : tensor<256xf32>
  }
  return %r : tensor<256xf32>
}

func.func @step(%a: tensor<256xf32>) -> tensor<256xf32> {
  %half = arith.constant dense<0.5> : tensor<256xf32>
  %y = arith.mulf %a, %half : tensor<256xf32>
  %z = math.sqrt %y : tensor<256xf32>
  return %z : tensor<256xf32>
}
