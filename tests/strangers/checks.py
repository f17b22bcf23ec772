# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the checks of a program and prints "ok NAME" or "FAILED NAME" for each."""
import sys
import traceback

import numpy as np

_checks = []


def check(function):
    """Decorates a check. It fails by raising an exception."""
    _checks.append(function)
    return function


def close(actual, expected, tolerance=1e-5):
    """Fails unless both have the same shape and agree within `tolerance`, relative and absolute."""
    np.testing.assert_allclose(
        np.asarray(actual), expected, rtol=tolerance, atol=tolerance, equal_nan=True, strict=False)


def equal(actual, expected):
    np.testing.assert_array_equal(np.asarray(actual), expected)


def random(*shape, seed=1, dtype=np.float32):
    """Normally distributed numbers, or integers in [-1000, 1000)."""
    generator = np.random.default_rng(seed)
    if np.issubdtype(dtype, np.floating):
        return generator.standard_normal(shape).astype(dtype)
    return generator.integers(-1000, 1000, shape).astype(dtype)


def main(prefix):
    """Runs all checks, or those that the command line names. The names begin with `prefix`."""
    failed = False
    for each in _checks:
        name = f"{prefix}-{each.__name__.replace('_', '-')}"
        if len(sys.argv) > 1 and name not in sys.argv[1:]:
            continue
        try:
            each()
            print(f"ok {name}", flush=True)
        except Exception:
            failed = True
            print(f"FAILED {name}", flush=True)
            print(f"--- {name}", file=sys.stderr)
            traceback.print_exc()
            sys.stderr.flush()
    sys.exit(failed)
