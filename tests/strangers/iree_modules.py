# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of iree_functions.mlir, compiled by iree-compile and run by iree-run-module: on its cuda driver for sm_80,
or, with $IREE_DRIVER=hip, on its hip driver for gfx1100."""
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

from checks import check, close, main, random

DRIVER = os.environ.get("IREE_DRIVER", "cuda")
TARGET = {"cuda": "--iree-cuda-target=sm_80", "hip": "--iree-rocm-target=gfx1100"}[DRIVER]
TOOLS = pathlib.Path(sys.executable).parent
FOLDER = pathlib.Path(tempfile.mkdtemp())
MODULE = FOLDER / "functions.vmfb"
subprocess.run(
    [TOOLS / "iree-compile", f"--iree-hal-target-device={DRIVER}", TARGET, "-o", MODULE,
     pathlib.Path(__file__).with_name("iree_functions.mlir")], check=True)


def run(function, *inputs):
    """Runs the function once with each kind of command buffer; returns the results."""
    for i, each in enumerate(inputs):
        np.save(FOLDER / f"{i}.npy", each)
    results = []
    for use_streams in (True, False):
        subprocess.run(
            [TOOLS / "iree-run-module", f"--device={DRIVER}", f"--{DRIVER}_use_streams={str(use_streams).lower()}",
             f"--module={MODULE}", f"--function={function}", f"--output=@{FOLDER / 'output.npy'}",
             *(f"--input=@{FOLDER / f'{i}.npy'}" for i in range(len(inputs)))],
            check=True, stdout=subprocess.DEVNULL)
        results.append(np.load(FOLDER / "output.npy"))
    return results


def close_both(results, expected, tolerance=1e-5):
    for each in results:
        close(each, expected, tolerance)


@check
def elementwise():
    a, b = random(1000), random(1000, seed=2)
    close_both(run("elementwise", a, b), np.exp(a * b) + np.tanh(a), 1e-4)


@check
def matmul():
    a, b = random(70, 50), random(50, 90, seed=2)
    close_both(run("matmul", a, b), a @ b, 1e-4)


@check
def matmul_on_tensor_cores():
    a, b = random(256, 128, dtype=np.float16), random(128, 256, seed=2, dtype=np.float16)
    close_both(run("matmul_f16", a, b), a.astype(np.float32) @ b.astype(np.float32), 1e-3)


@check
def matmul_of_integers():
    a, b = random(40, 30, dtype=np.int8), random(30, 50, seed=2, dtype=np.int8)
    close_both(run("matmul_i8", a, b), a.astype(np.int32) @ b.astype(np.int32), 0)


@check
def reduction():
    a = random(33, 257)
    close_both(run("row_sums", a), a.sum(1), 1e-4)


@check
def softmax():
    a = random(16, 200)
    close_both(run("softmax", a), np.exp(a) / np.exp(a).sum(1, keepdims=True))


@check
def convolution():
    a, weights = random(1, 3, 14, 14), random(5, 3, 3, 3, seed=2)
    windows = np.lib.stride_tricks.sliding_window_view(a, (3, 3), axis=(2, 3))
    close_both(run("convolution", a, weights), np.einsum("nchwij,ocij->nohw", windows, weights), 1e-4)


@check
def gather_and_transpose():
    a, index = random(20, 16), np.array([3, 19, 0, 7, 7, 5, 11, 2], dtype=np.int32)
    close_both(run("gather", a, index), a[index].T)


@check
def loop_on_the_host():
    a = abs(random(256))
    expected = a
    for _ in range(7):
        expected = np.sqrt(expected * np.float32(0.5))
    close_both(run("steps", a, np.int32(7)), expected)


main("iree" if DRIVER == "cuda" else "iree-hip")
