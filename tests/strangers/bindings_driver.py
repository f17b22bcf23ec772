# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""NVIDIA's own binding of the driver API, with kernels in PTX and in CUDA C++ through NVRTC."""
import numpy as np
from cuda.bindings import driver, nvrtc

from checks import check, close, equal, main, random


def call(results):
    """The results of a function without its status, which must be success."""
    status, *values = results
    if int(status) != 0:
        raise RuntimeError(f"{status!r}")
    return values[0] if len(values) == 1 else tuple(values)


call(driver.cuInit(0))
device = call(driver.cuDeviceGet(0))
context = call(driver.cuDevicePrimaryCtxRetain(device))
call(driver.cuCtxSetCurrent(context))


class Buffer:
    """Device memory with the contents of an array."""

    def __init__(self, array):
        self.array = np.ascontiguousarray(array)
        self.address = call(driver.cuMemAlloc(self.array.nbytes))
        call(driver.cuMemcpyHtoD(self.address, self.array.ctypes.data, self.array.nbytes))
        # A copy from pageable memory may return before the bytes arrive, and a stream that does not
        # block does not wait for them.
        call(driver.cuStreamSynchronize(0))

    def read(self):
        result = np.empty_like(self.array)
        call(driver.cuMemcpyDtoH(result.ctypes.data, self.address, result.nbytes))
        call(driver.cuMemFree(self.address))
        return result


def compile_cuda(source, *options):
    program = call(nvrtc.nvrtcCreateProgram(source.encode(), b"kernels.cu", 0, [], []))
    options = [b"--gpu-architecture=compute_80", *options]
    status, = nvrtc.nvrtcCompileProgram(program, len(options), options)
    if int(status) != 0:
        log = b" " * call(nvrtc.nvrtcGetProgramLogSize(program))
        call(nvrtc.nvrtcGetProgramLog(program, log))
        raise RuntimeError(log.decode())
    ptx = b" " * call(nvrtc.nvrtcGetPTXSize(program))
    call(nvrtc.nvrtcGetPTX(program, ptx))
    return call(driver.cuModuleLoadData(ptx))


def launch(module, name, grid, block, *arguments, shared=0, stream=0):
    function = call(driver.cuModuleGetFunction(module, name.encode()))
    values, types = [], []
    for each in arguments:
        values.append(each.address if isinstance(each, Buffer) else each)
        types.append(None)
    arrays = [np.array([int(v)], dtype=np.uint64) if not isinstance(v, np.generic) else np.array([v]) for v in values]
    pointers = np.array([each.ctypes.data for each in arrays], dtype=np.uint64)
    call(driver.cuLaunchKernel(function, *grid, *block, shared, stream, pointers.ctypes.data, 0))


@check
def kernel_in_ptx():
    module = call(driver.cuModuleLoadData(b"""
.version 7.8
.target sm_80
.address_size 64
.visible .entry saxpy(.param .u64 x, .param .u64 y, .param .f32 a, .param .u32 n) {
  .reg .pred %p; .reg .b32 %r<5>; .reg .b64 %rd<4>; .reg .f32 %f<4>;
  mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;
  mad.lo.s32 %r4, %r1, %r2, %r3;
  ld.param.u32 %r1, [n];
  setp.ge.u32 %p, %r4, %r1;
  @%p bra DONE;
  ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [y]; ld.param.f32 %f1, [a];
  mul.wide.u32 %rd3, %r4, 4;
  add.u64 %rd1, %rd1, %rd3; add.u64 %rd2, %rd2, %rd3;
  ld.global.f32 %f2, [%rd1]; ld.global.f32 %f3, [%rd2];
  fma.rn.f32 %f3, %f1, %f2, %f3;
  st.global.f32 [%rd2], %f3;
DONE: ret;
}
\0"""))
    x, y = random(1000), random(1000, seed=2)
    there = Buffer(y)
    launch(module, "saxpy", (8, 1, 1), (128, 1, 1), Buffer(x), there, np.float32(2.5), np.uint32(1000))
    close(there.read(), 2.5 * x + y)


@check
def errors_of_ptx():
    size = 1000
    log = b" " * size
    options = [driver.CUjit_option.CU_JIT_ERROR_LOG_BUFFER, driver.CUjit_option.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES]
    text = b".version 7.8\n.target sm_80\n.address_size 64\n.entry k() { frobnicate.u32 %r1; }\0"
    status, _ = driver.cuModuleLoadDataEx(text, 2, options, [log, size])
    assert status == driver.CUresult.CUDA_ERROR_INVALID_PTX
    assert b"line 4" in log and b"frobnicate" in log, log


@check
def kernels_in_cuda():
    module = compile_cuda("""
extern "C" __constant__ float scale = 3;
extern "C" __device__ int calls;
template <class T> __device__ T square(T v) { return v * v; }
extern "C" __global__ void squares(const float* x, float* y, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = scale * square(x[i]);
  if (threadIdx.x == 0) atomicAdd(&calls, 1);
}
extern "C" __global__ void sums(const double* x, double* y, int n) {
  extern __shared__ double shared[];
  const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  shared[t] = i < n ? x[i] : 0;
  __syncthreads();
  for (int s = blockDim.x / 2; s > 32; s /= 2) {
    if (t < s) shared[t] += shared[t + s];
    __syncthreads();
  }
  if (t < 32) {
    double v = shared[t] + shared[t + 32];
    for (int s = 16; s > 0; s /= 2) v += __shfl_down_sync(~0u, v, s);
    if (t == 0) y[blockIdx.x] = v;
  }
}
""")
    x = random(5000)
    there = Buffer(np.zeros_like(x))
    address, size = call(driver.cuModuleGetGlobal(module, b"scale"))
    assert size == 4
    call(driver.cuMemcpyHtoD(address, np.float32(7).tobytes(), 4))
    launch(module, "squares", (6, 1, 1), (128, 1, 1), Buffer(x), there, np.int32(5000))
    close(there.read(), 7 * x * x)
    calls = np.zeros(1, np.int32)
    call(driver.cuMemcpyDtoH(calls.ctypes.data, call(driver.cuModuleGetGlobal(module, b"calls"))[0], 4))
    equal(calls, [6])

    x = random(5000, dtype=np.float64)
    there = Buffer(np.zeros(20))
    launch(module, "sums", (20, 1, 1), (256, 1, 1), Buffer(x), there, np.int32(5000), shared=2048)
    close(there.read(), np.pad(x, (0, 120)).reshape(20, 256).sum(1), 1e-12)


@check
def captured_graph():
    module = compile_cuda("""
extern "C" __global__ void step(int* x, int add) { x[threadIdx.x] = x[threadIdx.x] * 3 + add; }
""")
    there = Buffer(np.arange(64, dtype=np.int32))
    stream = call(driver.cuStreamCreate(driver.CUstream_flags.CU_STREAM_NON_BLOCKING))
    call(driver.cuStreamBeginCapture(stream, driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL))
    for i in range(5):
        launch(module, "step", (1, 1, 1), (64, 1, 1), there, np.int32(i), stream=stream)
    graph = call(driver.cuStreamEndCapture(stream))
    executable = call(driver.cuGraphInstantiate(graph, 0))
    for _ in range(2):
        call(driver.cuGraphLaunch(executable, stream))
    call(driver.cuStreamSynchronize(stream))
    expected = np.arange(64, dtype=np.int32)
    for i in list(range(5)) * 2:
        expected = expected * 3 + i
    equal(there.read(), expected)


@check
def linked_texts():
    # cuLink takes the kernel and the function that it calls from two texts.
    head = b".version 7.8\n.target sm_80\n.address_size 64\n"
    texts = [head + b"""
.extern .func (.param .b32 r) twice(.param .b32 x);
.visible .entry k(.param .u64 out) {
  .reg .b32 %r<3>; .reg .b64 %rd;
  ld.param.u64 %rd, [out];
  { .param .b32 a; .param .b32 b;
    st.param.b32 [a], 21;
    call.uni (b), twice, (a);
    ld.param.b32 %r1, [b]; }
  st.global.u32 [%rd], %r1;
  ret; }\0""", head + b"""
.visible .func (.param .b32 r) twice(.param .b32 x) {
  .reg .b32 %r; ld.param.b32 %r, [x]; add.u32 %r, %r, %r; st.param.b32 [r], %r; ret; }\0"""]
    link = call(driver.cuLinkCreate(0, [], []))
    for text in texts:
        call(driver.cuLinkAddData(link, driver.CUjitInputType.CU_JIT_INPUT_PTX, text, len(text), b"text", 0, [], []))
    cubin, _ = call(driver.cuLinkComplete(link))
    module = call(driver.cuModuleLoadData(cubin))
    call(driver.cuLinkDestroy(link))
    there = Buffer(np.zeros(1, np.int32))
    launch(module, "k", (1, 1, 1), (1, 1, 1), there)
    equal(there.read(), [42])


main("cuda-bindings")
