# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors of tinygrad: kernels that it generates as it goes. $DEV chooses PTX of its own, CUDA C++ through NVRTC, HIP
C++ through the program hipcc of $PATH, or the Metal Shading Language."""
import os

import numpy as np

from checks import check, close, equal, main, random

DEV = os.environ["DEV"]
if DEV == "METAL":
    import macos_for_tinygrad  # noqa: F401
import tinygrad.renderer.cstyle  # noqa: E402

if DEV == "HIP":  # its HIP device knows only the compiler that is a part of ROCm
    tinygrad.renderer.cstyle.HIPRenderer = tinygrad.renderer.cstyle.HIPCCRenderer

from tinygrad import Device, Tensor, TinyJit, dtypes  # noqa: E402

assert Device.DEFAULT == DEV.partition(":")[0]
OWN_PTX = "PTX" in DEV
HAS_DOUBLE = DEV != "METAL"


@check
def elementwise():
    a, b = random(1000), random(1000, seed=2)
    x, y = Tensor(a), Tensor(b)
    close((x * y + x.exp() - (y.abs() + 1).log()).numpy(), a * b + np.exp(a) - np.log(abs(b) + 1))
    close((x.sin() * 10 + (x * 100).cos() + y.tanh()).numpy(), np.sin(a) * 10 + np.cos(a * 100) + np.tanh(b), 1e-4)
    close((x > y).where(x, -y).numpy(), np.where(a > b, a, -b))
    close(x.abs().sqrt().numpy(), np.sqrt(abs(a)))


@check
def reductions():
    a = random(37, 300)
    x = Tensor(a)
    close(x.sum(axis=1).numpy(), a.sum(1), 1e-4)
    close(x.sum(axis=0).numpy(), a.sum(0), 1e-4)
    close(x.max().numpy(), a.max())
    close(x.softmax().numpy(), np.exp(a) / np.exp(a).sum(1, keepdims=True))
    close(x.var(axis=1).numpy(), a.var(1, ddof=1), 1e-4)
    equal(x.argmax(axis=1).numpy(), a.argmax(1))
    close(x.cumsum(axis=1).numpy(), a.cumsum(1), 1e-3)


@check
def matrix_products():
    a, b = random(130, 70), random(70, 60, seed=2)
    close((Tensor(a) @ Tensor(b)).numpy(), a @ b, 1e-4)
    half_a, half_b = random(64, 64, dtype=np.float16), random(64, 64, seed=2, dtype=np.float16)
    expected = half_a.astype(np.float32) @ half_b.astype(np.float32)
    # Without matrix instructions it multiplies in half precision and only adds in single precision.
    tolerance = 1e-3 if Device[Device.DEFAULT].renderer.tensor_cores else 0.02
    close(Tensor(half_a).matmul(Tensor(half_b), dtype=dtypes.float).numpy(), expected, tolerance)
    close((Tensor(half_a) @ Tensor(half_b)).numpy(), expected, 0.02)


@check
def convolution():
    a, weights = random(2, 3, 12, 12), random(4, 3, 3, 3, seed=2)
    windows = np.lib.stride_tricks.sliding_window_view(a, (3, 3), axis=(2, 3))
    expected = np.einsum("nchwij,ocij->nohw", windows, weights)
    close(Tensor(a).conv2d(Tensor(weights)).numpy(), expected, 1e-4)
    close(Tensor(a).max_pool2d().numpy(), a.reshape(2, 3, 6, 2, 6, 2).max((3, 5)))


@check
def integers():
    a, b = random(500, dtype=np.int32), random(500, seed=2, dtype=np.int32)
    b[b == 0] = 7
    x, y = Tensor(a), Tensor(b)
    equal((x * y + (x ^ y) - (x & 255)).numpy(), a * b + (a ^ b) - (a & 255))
    equal((x // y).numpy(), a // b)
    equal((x % y).numpy(), a % b)
    equal((x.cast(dtypes.uint32) >> 3).numpy(), a.astype(np.uint32) >> 3)
    long_a, long_b = a.astype(np.int64) << 30, b.astype(np.int64)
    equal((Tensor(long_a) // Tensor(long_b)).numpy(), long_a // long_b)
    equal(x.sort()[0].numpy(), np.sort(a))


@check
def types():
    a = (random(300) * 50).clip(-127, 127)  # beyond, casts are undefined
    x = Tensor(a)
    for dtype, numpy_dtype in ((dtypes.half, np.float16), (dtypes.double, np.float64), (dtypes.int8, np.int8),
                               (dtypes.int16, np.int16), (dtypes.int64, np.int64), (dtypes.bool, np.bool_)):
        if HAS_DOUBLE or dtype != dtypes.double:
            equal(x.cast(dtype).numpy(), a.astype(numpy_dtype))
    equal(Tensor(a.astype(np.int16)).cast(dtypes.uint8).numpy(), a.astype(np.int16).astype(np.uint8))
    bits = a.view(np.uint32)
    rounded = ((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000).astype(np.uint32).view(np.float32)
    equal(x.cast(dtypes.bfloat16).realize().cast(dtypes.float).numpy(), rounded)
    if not HAS_DOUBLE:
        return
    doubles = random(300, dtype=np.float64)
    close((Tensor(doubles) / (Tensor(doubles) ** 2 + 1)).numpy(), doubles / (doubles ** 2 + 1), 1e-12)
    if not OWN_PTX:  # tinygrad writes ex2.approx.f64, which ptxas refuses as well
        close(Tensor(doubles).exp().numpy(), np.exp(doubles), 1e-12)


@check
def indexing():
    a = random(50, 20)
    index = np.array([3, 49, 0, 7, 7])
    x = Tensor(a)
    close(x[Tensor(index)].numpy(), a[index])
    close(x[:, 1::3].flip(0).permute(1, 0).numpy(), a[::-1, 1::3].T)
    close(x.pad(((1, 2), (0, 3))).numpy(), np.pad(a, ((1, 2), (0, 3))))
    equal(Tensor.arange(10, 100, 7).numpy(), np.arange(10, 100, 7))
    equal((x > 0).nonzero().numpy(), np.argwhere(a > 0))


@check
def recorded_as_a_graph():
    # The third call replays a graph; later calls update the arguments of its nodes.
    weights = random(30, 30)

    @TinyJit
    def steps(x):
        for _ in range(4):
            x = (x @ Tensor(weights)).relu() / 4
        return x.realize()

    for i in range(5):
        a = random(20, 30, seed=i)
        expected = a
        for _ in range(4):
            expected = np.maximum(expected @ weights, 0) / 4
        close(steps(Tensor(a).realize()).numpy(), expected, 1e-4)


@check
def training():
    a, target = random(16, 8), random(16, 1, seed=2)
    weights = Tensor(random(8, 1, seed=3))
    expected = random(8, 1, seed=3)
    for _ in range(3):
        loss = ((Tensor(a) @ weights - Tensor(target)) ** 2).mean()
        gradient = loss.gradient(weights)[0]
        weights = (weights - gradient * 0.1).realize()
        expected -= 0.1 * 2 * a.T @ (a @ expected - target) / 16
    close(weights.numpy(), expected, 1e-4)


@check
def two_devices():
    a = random(100)
    there = Tensor(a).to(f"{Device.DEFAULT}:1").realize()
    close((there * 2).to(Device.DEFAULT).numpy(), a * 2)


main("tinygrad-ptx" if OWN_PTX else {"HIP": "tinygrad-hip", "METAL": "tinygrad-metal"}.get(DEV, "tinygrad-nvrtc"))
