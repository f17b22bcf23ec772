# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Native calls of each dispatch on the simulated libcuda, by IREE's cuda HAL and by Halyard: the same kernel, the same
chain. The library counts them; the difference of two runs leaves out the set-up. Prints the table to stderr."""
import collections
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

from checks import check, close, main

TOOLS = pathlib.Path(sys.executable).parent
FOLDER = pathlib.Path(tempfile.mkdtemp())
MODULE = FOLDER / "functions.vmfb"
HERE = pathlib.Path(__file__).parent
BIN = pathlib.Path(os.environ["HALYARD_BIN"])
FEW, MANY = 100, 1100

subprocess.run(
    [TOOLS / "iree-compile", "--iree-hal-target-device=cuda", "--iree-cuda-target=sm_80", "-o", MODULE,
     HERE / "iree_functions.mlir"], check=True)

# step() N times, each after the one before; the host waits for each result.
CALLS = """
import sys
import iree.runtime as rt
import numpy as np
module = rt.load_vm_flatbuffer_file(sys.argv[1], driver="cuda")
x = rt.asdevicearray(rt.get_device("cuda"), np.ones(256, np.float32))
for _ in range(int(sys.argv[2])):
    x = module.step(x)
print(x.to_host()[255])
"""


def iree_loop(steps):
    return [TOOLS / "iree-run-module", "--device=cuda", f"--module={MODULE}", "--function=steps", "--input=256xf32=1",
            f"--input=i32={steps}", f"--output=@{FOLDER / 'output.npy'}"]


def iree_calls(steps):
    return [sys.executable, "-c", CALLS, MODULE, str(steps)]


def halyard(kind):
    return lambda steps: [BIN / "halyard_steps", BIN / "kernels" / "half_sqrt.hyx", kind, str(steps)]


def counts(command, steps):
    """Calls by function. Kernels count too, so that the work is seen to be the same."""
    report = FOLDER / "report"
    report.unlink(missing_ok=True)
    run = subprocess.run(command(steps), env=os.environ | {"HALYARD_SIM_CUDA_REPORT": str(report)}, check=True,
                         stdout=subprocess.PIPE, text=True)
    value = np.load(FOLDER / "output.npy")[255] if command is iree_loop else float(run.stdout)
    expected = np.float32(1)
    for _ in range(steps):
        expected = np.sqrt(expected * np.float32(0.5))
    close(value, expected)
    lines = [line.split() for line in report.read_text().splitlines()]
    return collections.Counter({words[1]: int(words[2]) for words in lines if words[0] == "calls"})


def each(command):
    """Calls for each dispatch, by function."""
    few, many = counts(command, FEW), counts(command, MANY)
    return {name: (many[name] - few[name]) / (MANY - FEW) for name in many if many[name] != few[name]}


# What asks how far the device is, as often as time allows, and what makes a context current hand over nothing.
HANDS_OVER_NOTHING = ("cuEventQuery", "cuEventSynchronize", "cuStreamQuery", "cuStreamSynchronize", "cuCtx", "cuThread")


def compare(name, theirs, ours):
    table = {"IREE": each(theirs), "Halyard": each(ours)}
    sums = {}
    for who, calls in table.items():
        kernels = calls.pop("kernel")
        assert round(kernels, 1) == 1, f"{who}: {kernels} kernels a dispatch"
        sums[who] = sum(n for call, n in calls.items() if not call.startswith(HANDS_OVER_NOTHING))
        listed = ", ".join(f"{call} {n:.2f}" for call, n in sorted(calls.items(), key=lambda it: -it[1]))
        print(f"{name}, {who}: {sums[who]:.2f} that hand over work or memory, {sum(calls.values()):.2f} in all:", listed,
              file=sys.stderr)
    assert sums["Halyard"] < sums["IREE"], sums


@check
def of_a_loop_on_the_host():
    compare("loop", iree_loop, halyard("loop"))


@check
def of_calls_whose_results_are_awaited():
    compare("calls", iree_calls, halyard("calls"))


main("native-calls")
