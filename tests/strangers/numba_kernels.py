# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels in Python, which Numba compiles through NVVM and links with cuLink."""
import math
import warnings

from cuda import pathfinder
import numpy as np

_load = pathfinder.load_nvidia_dynamic_lib


def _load_except_linker(name):
    """A toolkit of the machine may have nvJitLink, which makes machine code instead of PTX."""
    if name == "nvJitLink":
        raise pathfinder.DynamicLibNotFoundError("hidden: it makes machine code")
    return _load(name)


pathfinder.load_nvidia_dynamic_lib = _load_except_linker
warnings.simplefilter("ignore")

import numba  # noqa: E402
from numba import cuda  # noqa: E402

from checks import check, close, equal, main, random  # noqa: E402


@check
def vectors():
    @cuda.jit
    def add(a, b, out):
        for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
            out[i] = a[i] + 2 * b[i]

    for dtype in (np.float32, np.float64, np.int32, np.int64, np.int8, np.uint16):
        a, b = random(5000, dtype=dtype), random(5000, seed=2, dtype=dtype)
        out = np.zeros_like(a)
        add[8, 128](a, b, out)
        close(out, (a + 2 * b).astype(dtype))


@check
def mathematical_functions():
    functions = (math.sin, math.cos, math.tan, math.exp, math.log1p, math.sqrt, math.tanh, math.atan, math.erf,
                 math.sinh, math.floor, math.gamma, math.expm1)

    @cuda.jit
    def evaluate(x, out):
        i = cuda.grid(1)
        if i < x.size:
            v = x[i]
            out[0, i] = math.sin(v)
            out[1, i] = math.cos(v)
            out[2, i] = math.tan(v)
            out[3, i] = math.exp(v)
            out[4, i] = math.log1p(v)
            out[5, i] = math.sqrt(v)
            out[6, i] = math.tanh(v)
            out[7, i] = math.atan(v)
            out[8, i] = math.erf(v)
            out[9, i] = math.sinh(v)
            out[10, i] = math.floor(v)
            out[11, i] = math.gamma(v)
            out[12, i] = math.expm1(v)

    for dtype, tolerance in ((np.float64, 1e-13), (np.float32, 1e-5)):
        x = (abs(random(200, dtype=dtype)) * 5 + dtype(0.01)).astype(dtype)
        out = np.zeros((len(functions), x.size), dtype)
        evaluate[4, 64](x, out)
        for row, function in zip(out, functions):
            expected = np.array([function(float(v)) for v in x], dtype)
            scale = np.maximum(abs(expected), 1)
            close(row / scale, expected / scale, tolerance)


@check
def powers_and_remainders():
    @cuda.jit
    def evaluate(a, b, out):
        i = cuda.grid(1)
        if i < a.size:
            out[0, i] = abs(a[i]) ** b[i]
            out[1, i] = math.atan2(a[i], b[i])
            out[2, i] = math.fmod(a[i], b[i])
            out[3, i] = math.hypot(a[i], b[i])
            out[4, i] = a[i] // b[i]
            out[5, i] = a[i] % b[i]

    a, b = random(300, dtype=np.float64) * 10, random(300, seed=2, dtype=np.float64)
    out = np.zeros((6, 300))
    evaluate[3, 128](a, b, out)
    close(out, [abs(a) ** b, np.arctan2(a, b), np.fmod(a, b), np.hypot(a, b), a // b, a % b], 1e-12)


@check
def matrix_product_in_shared_memory():
    size = 16

    @cuda.jit
    def product(a, b, out):
        tile_a = cuda.shared.array((size, size), numba.float32)
        tile_b = cuda.shared.array((size, size), numba.float32)
        x, y = cuda.grid(2)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        total = numba.float32(0)
        for k in range((a.shape[1] + size - 1) // size):
            tile_a[tx, ty] = a[x, ty + k * size] if x < a.shape[0] and ty + k * size < a.shape[1] else 0
            tile_b[tx, ty] = b[tx + k * size, y] if y < b.shape[1] and tx + k * size < b.shape[0] else 0
            cuda.syncthreads()
            for j in range(size):
                total += tile_a[tx, j] * tile_b[j, ty]
            cuda.syncthreads()
        if x < out.shape[0] and y < out.shape[1]:
            out[x, y] = total

    a, b = random(50, 70), random(70, 40, seed=2)
    out = np.zeros((50, 40), np.float32)
    product[(4, 3), (size, size)](a, b, out)
    close(out, a @ b, 1e-4)


@check
def atomic_operations():
    @cuda.jit
    def scatter(x, sums, ends, counts):
        i = cuda.grid(1)
        if i < x.size:
            cuda.atomic.add(sums, i % 4, x[i])
            cuda.atomic.max(ends, 0, x[i])
            cuda.atomic.min(ends, 1, x[i])
            cuda.atomic.inc(counts, 0, 999999)
            cuda.atomic.or_(counts, 1, 1 << (i % 32))
            cuda.atomic.cas(counts, 2, 0, i + 1)

    for dtype in (np.float32, np.float64):
        x = random(1000, dtype=dtype)
        sums, ends, counts = np.zeros(4, dtype), np.zeros(2, dtype), np.zeros(3, np.uint32)
        scatter[8, 128](x, sums, ends, counts)
        close(sums, x.reshape(250, 4).sum(0), 1e-4)
        equal(ends, [x.max(), x.min()])
        equal(counts[:2], [1000, 0xffffffff])
        assert 1 <= counts[2] <= 1000


@check
def warps():
    @cuda.jit
    def scan(x, sums, votes):
        i = cuda.grid(1)
        lane = i % 32
        value = x[i]
        step = 1
        while step < 32:
            other = cuda.shfl_up_sync(0xffffffff, value, step)
            if lane >= step:
                value += other
            step *= 2
        sums[i] = value
        votes[i] = cuda.ballot_sync(0xffffffff, x[i] > 0) if cuda.any_sync(0xffffffff, x[i] > 0) else 0

    x = random(256, dtype=np.int32)
    sums, votes = np.zeros(256, np.int32), np.zeros(256, np.uint32)
    scan[2, 128](x, sums, votes)
    equal(sums, x.reshape(8, 32).cumsum(1).ravel())
    bits = (np.uint64(1) << np.arange(32, dtype=np.uint64)) * (x.reshape(8, 32) > 0)
    equal(votes.reshape(8, 32)[:, 5], bits.sum(1).astype(np.uint32))


@check
def reductions():
    @cuda.reduce
    def total(a, b):
        return a + b

    x = random(10000, dtype=np.float64)
    close(total(x), x.sum(), 1e-10)


@check
def functions_and_local_arrays():
    @cuda.jit(device=True)
    def fibonacci(n):
        return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)

    @cuda.jit
    def evaluate(x, numbers, medians):
        i = cuda.grid(1)
        numbers[i] = fibonacci(i % 12)
        window = cuda.local.array(5, numba.float32)
        for j in range(5):
            window[j] = x[i + j]
        for j in range(1, 5):
            k = j
            while k > 0 and window[k - 1] > window[k]:
                window[k - 1], window[k] = window[k], window[k - 1]
                k -= 1
        medians[i] = window[2]

    x = random(68)
    numbers, medians = np.zeros(64, np.int64), np.zeros(64, np.float32)
    evaluate[1, 64](x, numbers, medians)
    equal(numbers, [[0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89][i % 12] for i in range(64)])
    equal(medians, np.median(np.lib.stride_tricks.sliding_window_view(x, 5), axis=1))


@check
def complex_numbers_and_records():
    record = np.dtype([("a", np.int16), ("b", np.float64), ("c", np.uint8, 3)], align=True)

    @cuda.jit
    def evaluate(z, records):
        i = cuda.grid(1)
        z[i] = z[i] * z[i] + 1j / z[i]
        records[i].b = records[i].a * 0.5
        records[i].c[1] = records[i].c[0] + 1

    z = random(32, dtype=np.float64) + 1j * random(32, seed=2, dtype=np.float64)
    expected = z * z + 1j / z
    records = np.zeros(32, record)
    records["a"] = np.arange(32) - 16
    records["c"][:, 0] = np.arange(32)
    evaluate[1, 32](z, records)
    close(z, expected, 1e-12)
    equal(records["b"], (np.arange(32) - 16) * 0.5)
    equal(records["c"][:, 1], np.arange(32) + 1)


@check
def streams_and_views():
    @cuda.jit
    def double(x):
        i = cuda.grid(1)
        if i < x.size:
            x[i] *= 2

    streams = [cuda.stream() for _ in range(3)]
    inputs = [random(1000, seed=i) for i in range(3)]
    there = [cuda.to_device(x, stream=stream) for x, stream in zip(inputs, streams)]
    done = cuda.event()
    for x, stream in zip(there, streams):
        double[8, 128, stream](x)
        double[8, 128, stream](x[100:200])
    done.record(streams[0])
    done.wait(streams[1])
    for x, stream, original in zip(there, streams, inputs):
        original[:] *= 2
        original[100:200] *= 2
        close(x.copy_to_host(stream=stream) if stream.synchronize() is None else None, original)


@check
def random_numbers():
    # xoroshiro128p: 64-bit shifts and rotations, and state that lives in device memory.
    from numba.cuda.random import create_xoroshiro128p_states, xoroshiro128p_uniform_float64

    @cuda.jit
    def estimate(states, inside):
        i = cuda.grid(1)
        for _ in range(200):
            x = xoroshiro128p_uniform_float64(states, i)
            y = xoroshiro128p_uniform_float64(states, i)
            if x * x + y * y <= 1:
                inside[i] += 1

    states = create_xoroshiro128p_states(256, seed=1)
    inside = np.zeros(256, np.int32)
    estimate[2, 128](states, inside)
    assert abs(4 * inside.sum() / (256 * 200) - math.pi) < 0.05


main("numba")
