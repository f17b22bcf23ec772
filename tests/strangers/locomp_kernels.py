# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of locomp, which translates Python to the Metal Shading Language and runs it by PyObjC."""
import platform

import numpy as np

import objective_c
from checks import check, close, equal, main, random

objective_c.install()
platform.system = lambda: "Darwin"  # it asks for the system's name before it looks for Metal

import locomp  # noqa: E402

gradients = locomp.gpu_ag


@locomp.kernel
def scale_and_add(X: locomp.Tensor, Y: locomp.Tensor, O: locomp.Tensor, N: locomp.constexpr):
    i = locomp.program_id(0) * 64 + locomp.local_id(0)
    if i < N:
        locomp.store(O + i, locomp.load(X + i) * 2.0 + locomp.exp(locomp.load(Y + i)))


@locomp.kernel
def normalize_rows(X: locomp.Tensor, W: locomp.Tensor, O: locomp.Tensor, N: locomp.constexpr, EPS: locomp.constexpr):
    row = locomp.program_id(0)
    tid = locomp.local_id(0)
    parts = locomp.shared_memory(32)
    sum_of_squares = 0.0
    for i in range(tid, N, 128):
        value = locomp.load(X + row * N + i)
        sum_of_squares = sum_of_squares + value * value
    sum_of_squares = locomp.simd_sum(sum_of_squares)
    if locomp.simd_lane_id() == 0:
        locomp.shared_store(parts, locomp.simd_group_id(), sum_of_squares)
    locomp.barrier()
    if tid == 0:
        total = 0.0
        for g in range(4):
            total = total + locomp.shared_load(parts, g)
        locomp.shared_store(parts, 0, locomp.rsqrt(total / N + EPS))
    locomp.barrier()
    factor = locomp.shared_load(parts, 0)
    for i in range(tid, N, 128):
        locomp.store(O + row * N + i, locomp.load(X + row * N + i) * factor * locomp.load(W + i))


@locomp.kernel
def softmax_rows(X: locomp.Tensor, O: locomp.Tensor, N: locomp.constexpr):
    row = locomp.program_id(0)
    tid = locomp.local_id(0)
    greatest = -1000000.0
    for i in range(tid, N, 32):
        greatest = locomp.where(locomp.load(X + row * N + i) > greatest, locomp.load(X + row * N + i), greatest)
    greatest = locomp.simd_max(greatest)
    total = 0.0
    for i in range(tid, N, 32):
        total = total + locomp.exp(locomp.load(X + row * N + i) - greatest)
    total = locomp.simd_sum(total)
    for i in range(tid, N, 32):
        locomp.store(O + row * N + i, locomp.exp(locomp.load(X + row * N + i) - greatest) / total)


@locomp.kernel
def multiply_matrices(A: locomp.Tensor, B: locomp.Tensor, C: locomp.Tensor, K: locomp.constexpr, N: locomp.constexpr):
    # One SIMD group for each 8 x 8 part of the product.
    row = locomp.program_id(1) * 8
    column = locomp.program_id(0) * 8
    part = locomp.simdgroup_matrix(0.0)
    for k in range(0, K, 8):
        a = locomp.simdgroup_matrix_load_device(A + (row * K + k), K)
        b = locomp.simdgroup_matrix_load_device(B + (k * N + column), N)
        part = locomp.simdgroup_mac(part, a, b)
    locomp.simdgroup_matrix_store_device(part, C + (row * N + column), N)


@locomp.kernel
def scale_halves(X: locomp.Float16, O: locomp.Float16, N: locomp.constexpr):
    i = locomp.program_id(0)
    locomp.store(O + i, locomp.load(X + i) * 3.0)


@locomp.kernel
def count_residues(X: locomp.Int32, O: locomp.Int32, N: locomp.constexpr):
    i = locomp.program_id(0)
    locomp.atomic_add(O + locomp.load(X + i) % 7, 1)


def run(kernel, grid, threads, *arguments, **constants):
    kernel[grid, threads](*arguments, **constants)


@check
def elementwise():
    x, y, out = locomp.tensor(random(1000)), locomp.tensor(random(1000, seed=2)), locomp.empty(1000)
    run(scale_and_add, (16,), (64,), x, y, out, N=1000)
    close(out.numpy(), random(1000) * 2 + np.exp(random(1000, seed=2)))


@check
def rows_with_threadgroup_memory():
    a, weights = random(20, 500), random(500, seed=2)
    out = locomp.empty((20, 500))
    run(normalize_rows, (20,), (128,), locomp.tensor(a), locomp.tensor(weights), out, N=500, EPS=1e-5)
    close(out.numpy(), a / np.sqrt((a ** 2).mean(1, keepdims=True) + 1e-5) * weights, 1e-4)


@check
def softmax_of_a_simd_group():
    a, out = random(12, 90), locomp.empty((12, 90))
    run(softmax_rows, (12,), (32,), locomp.tensor(a), out, N=90)
    exponents = np.exp(a - a.max(1, keepdims=True))
    close(out.numpy(), exponents / exponents.sum(1, keepdims=True))


@check
def matrices_of_a_simd_group():
    a, b, out = random(32, 40), random(40, 24, seed=2), locomp.empty((32, 24))
    run(multiply_matrices, (3, 4), (32,), locomp.tensor(a), locomp.tensor(b), out, K=40, N=24)
    close(out.numpy(), a @ b, 1e-4)


@check
def half_precision():
    a = random(200, dtype=np.float16)
    out = locomp.empty(200, dtype=np.float16)
    run(scale_halves, (200,), (1,), locomp.tensor(a, dtype=np.float16), out, N=200)
    close(out.numpy(), a * np.float16(3), 1e-3)


@check
def atomics():
    a = np.abs(random(500, dtype=np.int32))
    out = locomp.zeros(7, dtype=np.int32)
    run(count_residues, (500,), (1,), locomp.tensor(a, dtype=np.int32), out, N=500)
    equal(out.numpy(), np.bincount(a % 7, minlength=7))


@check
def one_command_buffer_for_a_graph():
    x, y, between, out = (locomp.tensor(random(256, seed=i)) for i in range(4))
    graph = locomp.graph()
    graph.add(scale_and_add, ((4,), (64,)), x, y, between, N=256)
    graph.add(scale_and_add, ((4,), (64,)), between, y, out, N=256)
    graph.run()
    first = random(256, seed=0) * 2 + np.exp(random(256, seed=1))
    close(out.numpy(), first * 2 + np.exp(random(256, seed=1)))


@check
def training():
    a, target, weights = random(16, 8), random(16, 1, seed=2), random(8, 1, seed=3)
    expected = weights.copy()
    for _ in range(3):
        tensor = gradients.tensor(weights, requires_grad=True)
        product = gradients.matmul(gradients.tensor(a), tensor, 16, 8, 1)
        difference = gradients.sub(product, gradients.tensor(target.reshape(-1)))
        gradients.backward(gradients.mean(gradients.mul(difference, difference)))
        weights = weights - 0.1 * tensor.grad.numpy().reshape(8, 1)
        expected -= 0.1 * 2 * a.T @ (a @ expected - target) / 16
    close(weights, expected, 1e-4)


main("locomp")
