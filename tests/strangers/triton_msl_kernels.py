# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Texts in the Metal Shading Language that triton-msl makes, executed."""
import numpy as np
from triton_msl.codegen import msl_emitter

import objective_c
from checks import check, close, equal, main, random

objective_c.install()

import Metal  # noqa: E402

device = Metal.MTLCreateSystemDefaultDevice()
queue = device.newCommandQueue()


def buffer_of(value):
    """A number is a uint."""
    data = (np.uint32(value) if isinstance(value, int) else np.ascontiguousarray(value)).tobytes()
    return device.newBufferWithBytes_length_options_(data, len(data), Metal.MTLResourceStorageModeShared)


def run(text, name, groups, threads, *arguments):
    """The memory of all arguments as it is afterwards, by their index, as arrays of the arguments' type."""
    options = Metal.MTLCompileOptions.alloc().init()
    options.setFastMathEnabled_(False)
    library, error = device.newLibraryWithSource_options_error_(text, options, None)
    assert library is not None, error
    state, error = device.newComputePipelineStateWithFunction_error_(library.newFunctionWithName_(name), None)
    assert state is not None, error
    buffers = [buffer_of(each) for each in arguments]
    with objective_c.autorelease_pool():
        commands = queue.commandBuffer()
        encoder = commands.computeCommandEncoder()
        encoder.setComputePipelineState_(state)
        for i, buffer in enumerate(buffers):
            encoder.setBuffer_offset_atIndex_(buffer, 0, i)
        groups = groups if isinstance(groups, tuple) else (groups, 1)
        encoder.dispatchThreadgroups_threadsPerThreadgroup_(
            Metal.MTLSizeMake(*groups, 1), Metal.MTLSizeMake(threads, 1, 1))
        encoder.endEncoding()
        commands.commit()
        commands.waitUntilCompleted()
        assert commands.status() == Metal.MTLCommandBufferStatusCompleted, commands.error()
    return [np.frombuffer(buffer.contents().as_buffer(each.nbytes), each.dtype).reshape(each.shape).copy()
            for buffer, each in zip(buffers, arguments) if not isinstance(each, int)]


def floats(*shape):
    return np.zeros(shape, np.float32)


@check
def elementwise():
    a, b = random(1000), random(1000, seed=2)
    close(run(msl_emitter.make_vector_add_kernel(), "vector_add", 4, 256, a, b, floats(1000), 1000)[2], a + b)
    close(run(msl_emitter.make_silu_kernel(), "silu_kernel", 4, 256, a, floats(1000), 1000)[1], a / (1 + np.exp(-a)))


@check
def softmax():
    a = random(9, 700)
    exponents = np.exp(a - a.max(1, keepdims=True))
    out = run(msl_emitter.make_softmax_kernel(), "softmax_kernel", 9, 256, a, floats(9, 700), 700)[1]
    close(out, exponents / exponents.sum(1, keepdims=True))


@check
def norms():
    a, gamma, beta = random(9, 700), random(700, seed=2), random(700, seed=3)
    normal = (a - a.mean(1, keepdims=True)) / np.sqrt(a.var(1, keepdims=True) + 1e-5)
    text = msl_emitter.make_layer_norm_kernel(eps=1e-5)
    close(run(text, "layer_norm_kernel", 9, 256, a, gamma, beta, floats(9, 700), 700)[3], normal * gamma + beta, 1e-4)
    text = msl_emitter.make_rms_norm_kernel(eps=1e-5)
    expected = a / np.sqrt((a ** 2).mean(1, keepdims=True) + 1e-5) * gamma
    close(run(text, "rms_norm_kernel", 9, 256, a, gamma, floats(9, 700), 700)[2], expected, 1e-4)


@check
def cross_entropy():
    logits, targets = random(9, 300), np.arange(0, 90, 10, dtype=np.int32)
    out = run(msl_emitter.make_cross_entropy_kernel(), "cross_entropy_kernel", 9, 256, logits, targets, floats(9), 300)
    close(out[2], np.log(np.exp(logits).sum(1)) - logits[np.arange(9), targets], 1e-4)


@check
def matrices_of_simd_groups():
    a, b = random(64, 40), random(40, 96, seed=2)
    text = msl_emitter.make_simdgroup_matmul_kernel()
    close(run(text, "simdgroup_matmul", 2 * 3, 128, a, b, floats(64, 96), 64, 96, 40)[2], a @ b, 1e-4)


@check
def quantized_matrices():
    a, weights = random(10, 40), random(30, 40, seed=2, dtype=np.int32).clip(-128, 127).astype(np.int8)
    scales, zeros = random(30, seed=3), random(30, seed=4)
    text = msl_emitter.make_int8_matmul_kernel()
    out = run(text, "int8_matmul", 2, 256, a, weights, floats(10, 30), scales, zeros, 10, 30, 40)[2]
    close(out, a @ ((weights - zeros[:, None]) * scales[:, None]).T, 1e-3)


@check
def causal_attention():
    q, k, v = (random(2, 20, 64, seed=seed) for seed in range(3))
    scores = np.where(np.tri(20), q @ k.transpose(0, 2, 1) / 8, -np.inf)
    weights = np.exp(scores - scores.max(2, keepdims=True))
    expected = weights / weights.sum(2, keepdims=True) @ v
    text = msl_emitter.make_causal_attention_kernel(n_heads=2, head_dim=64)
    close(run(text, "causal_attention", 2 * 20, 256, q, k, v, floats(2, 20, 64), 20)[3], expected, 1e-4)


@check
def convolution():
    a, weights, bias = random(2, 3, 12, 12), random(4, 3, 3, 3, seed=2), random(4, seed=3)
    windows = np.lib.stride_tricks.sliding_window_view(a, (3, 3), axis=(2, 3))
    expected = np.einsum("nchwij,ocij->nohw", windows, weights) + bias[:, None, None]
    text = msl_emitter.make_conv2d_kernel(in_channels=3, out_channels=4, pad_h=0, pad_w=0)
    out = run(text, "conv2d_kernel", 4, 256, a, weights, bias, floats(2, 4, 10, 10), 2, 12, 12, 10, 10)[3]
    close(out, expected, 1e-4)


@check
def order():
    a = random(40, 50)
    text = msl_emitter.make_transpose_kernel()
    equal(run(text, "transpose_kernel", (4, 3), 256, a, floats(50, 40), 40, 50)[1], a.T)
    values, indices = random(256), np.zeros(256, np.uint32)
    text = msl_emitter.make_bitonic_sort_kernel()
    _, sorted_values, indices = run(text, "bitonic_sort_kernel", 1, 256, values, floats(256), indices, 256)
    equal(sorted_values, np.sort(values))
    equal(values[indices], sorted_values)


@check
def atomics():
    a, indices = random(1000), (np.arange(1000) * 7 % 13).astype(np.uint32)
    text = msl_emitter.make_atomic_add_kernel()
    out = run(text, "atomic_add_kernel", 4, 256, a, floats(13), indices, 1000)[1]
    close(out, np.bincount(indices, a, 13), 1e-4)


main("triton-msl")
