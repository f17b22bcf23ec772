# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""AMD's own binding of HIP, with kernels in HIP C++ that the program hipcc of $PATH compiles for gfx1100."""
import pathlib
import subprocess
import tempfile

import numpy as np
from hip import hip

from checks import check, close, equal, main, random

PRELUDE = """
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define thread_index __builtin_amdgcn_workitem_id_x()
#define block_index __builtin_amdgcn_workgroup_id_x()
#define block_size __builtin_amdgcn_workgroup_size_x()
extern "C" __device__ __attribute__((const)) unsigned long __ockl_get_num_groups(unsigned);
extern "C" __device__ __attribute__((const)) float __ocml_exp_f32(float);
extern "C" __device__ __attribute__((pure)) double __ocml_sin_f64(double);
static __device__ void synchronize() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
"""


def call(results):
    """The results of a function without its status, which must be success."""
    status, *values = results if isinstance(results, tuple) else (results,)
    if int(status) != 0:
        raise RuntimeError(f"{status!r}")
    return values[0] if len(values) == 1 else tuple(values)


call(hip.hipSetDevice(0))


class Buffer:
    """Device memory with the contents of an array."""

    def __init__(self, array):
        self.array = np.ascontiguousarray(array)
        self.memory = call(hip.hipMalloc(self.array.nbytes))
        call(hip.hipMemcpy(self.memory, self.array, self.array.nbytes, hip.hipMemcpyKind.hipMemcpyHostToDevice))
        # A copy from pageable memory may return before the bytes arrive, and a stream that does not block does not wait
        # for them.
        call(hip.hipStreamSynchronize(None))

    def read(self):
        result = np.empty_like(self.array)
        call(hip.hipMemcpy(result, self.memory, result.nbytes, hip.hipMemcpyKind.hipMemcpyDeviceToHost))
        call(hip.hipFree(self.memory))
        return result


def compile_hip(source):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "k.cpp").write_text(PRELUDE + source)
        subprocess.run(["hipcc", "-c", "-emit-llvm", "--cuda-device-only", "-O3", "--offload-arch=gfx1100", "-o",
                        folder / "k.bc", folder / "k.cpp"], check=True)
        subprocess.run(["hipcc", "-target", "amdgcn-amd-amdhsa", "-mcpu=gfx1100", "-O3", "-c", "-o", folder / "k.hsaco",
                        folder / "k.bc"], check=True)
        return (folder / "k.hsaco").read_bytes()


kept = []  # HIP goes on reading the bytes of an image


def load(source):
    kept.append(compile_hip(source))
    return call(hip.hipModuleLoadData(kept[-1]))


def launch(module, name, grid, block, *arguments, shared=0, stream=None):
    """With the arguments in a packed buffer; that ends with 3 where CUDA's ends with 0."""
    function = call(hip.hipModuleGetFunction(module, name.encode()))
    packed = b""
    for each in arguments:
        value = np.uint64(int(each.memory)) if isinstance(each, Buffer) else each
        packed += bytes(-len(packed) % value.itemsize) + value.tobytes()
    buffer = np.frombuffer(packed, np.uint8).copy()
    size = np.array([buffer.nbytes], np.uint64)
    extra = np.array([1, buffer.ctypes.data, 2, size.ctypes.data, 3], np.uint64)
    call(hip.hipModuleLaunchKernel(function, *grid, *block, shared, stream, None, extra.ctypes.data))


@check
def what_the_device_is():
    properties = call(hip.hipGetDeviceProperties(0))
    assert properties.gcnArchName.startswith("gfx1100"), properties.gcnArchName
    assert properties.warpSize == 32
    attribute = hip.hipDeviceAttribute_t.hipDeviceAttributeWarpSize
    equal(call(hip.hipDeviceGetAttribute(attribute, 0)), 32)
    assert call(hip.hipRuntimeGetVersion()) > 5_06_00000
    free, total = call(hip.hipMemGetInfo())
    assert 0 < free <= total


@check
def elementwise():
    module = load("""
extern "C" __global__ void f(const float* x, float* y, float a, int n) {
  int stride = __ockl_get_num_groups(0) * 128;
  for (int i = block_index * 128 + thread_index; i < n; i += stride) y[i] = a * x[i] + __ocml_exp_f32(y[i]);
}
extern "C" __global__ void g(const double* x, double* y, int n) {
  int i = block_index * 64 + thread_index;
  if (i < n) y[i] = __ocml_sin_f64(x[i]) / (1 + x[i] * x[i]);
}
""")
    x, y = random(5000), random(5000, seed=2)
    there = Buffer(y)
    launch(module, "f", (6, 1, 1), (128, 1, 1), Buffer(x), there, np.float32(2.5), np.int32(5000))
    close(there.read(), 2.5 * x + np.exp(y))
    x = random(1000, dtype=np.float64) * 100
    there = Buffer(np.zeros_like(x))
    launch(module, "g", (16, 1, 1), (64, 1, 1), Buffer(x), there, np.int32(1000))
    close(there.read(), np.sin(x) / (1 + x * x), 1e-13)
    call(hip.hipModuleUnload(module))


@check
def sums_in_shared_memory():
    module = load("""
extern "C" __device__ int calls = 0;
extern "C" __constant__ int scale = 3;
extern "C" __global__ void sums(const double* x, double* y, int n) {
  __shared__ double shared[256];
  const int t = thread_index, i = block_index * 256 + t;
  shared[t] = i < n ? x[i] : 0;
  synchronize();
  for (int s = 128; s > 0; s /= 2) {
    if (t < s) shared[t] += shared[t + s];
    synchronize();
  }
  if (t == 0) {
    y[block_index] = shared[0] * scale;
    __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
  }
}
""")
    x = random(5000, dtype=np.float64)
    there = Buffer(np.zeros(20))
    address, size = call(hip.hipModuleGetGlobal(module, b"scale"))
    equal(int(size), 4)
    call(hip.hipMemcpyHtoD(address, np.array([7], np.int32), 4))
    launch(module, "sums", (20, 1, 1), (256, 1, 1), Buffer(x), there, np.int32(5000))
    close(there.read(), 7 * np.pad(x, (0, 120)).reshape(20, 256).sum(1), 1e-12)
    calls = np.zeros(1, np.int32)
    call(hip.hipMemcpyDtoH(calls, call(hip.hipModuleGetGlobal(module, b"calls"))[0], 4))
    equal(calls, [20])


STEP = """
extern "C" __global__ void step(int* x, int add) { x[thread_index] = x[thread_index] * 3 + add; }
"""


def after_steps(adds):
    expected = np.arange(64, dtype=np.int32)
    for add in adds:
        expected = expected * 3 + add
    return expected


@check
def streams_and_events():
    module = load(STEP)
    there = Buffer(np.arange(64, dtype=np.int32))
    streams = [call(hip.hipStreamCreateWithFlags(hip.hipStreamNonBlocking)) for _ in range(3)]
    event = call(hip.hipEventCreateWithFlags(hip.hipEventDisableTiming))
    for i in range(9):
        call(hip.hipStreamWaitEvent(streams[i % 3], event, 0))
        launch(module, "step", (1, 1, 1), (64, 1, 1), there, np.int32(i), stream=streams[i % 3])
        call(hip.hipEventRecord(event, streams[i % 3]))
    call(hip.hipEventSynchronize(event))
    equal(there.read(), after_steps(range(9)))
    for stream in streams:
        call(hip.hipStreamDestroy(stream))
    call(hip.hipEventDestroy(event))


@check
def captured_graph():
    module = load(STEP)
    there = Buffer(np.arange(64, dtype=np.int32))
    stream = call(hip.hipStreamCreateWithFlags(hip.hipStreamNonBlocking))
    call(hip.hipStreamBeginCapture(stream, hip.hipStreamCaptureMode.hipStreamCaptureModeThreadLocal))
    for i in range(5):
        launch(module, "step", (1, 1, 1), (64, 1, 1), there, np.int32(i), stream=stream)
    graph = call(hip.hipStreamEndCapture(stream))
    executable = call(hip.hipGraphInstantiateWithFlags(graph, 0))
    for _ in range(2):
        call(hip.hipGraphLaunch(executable, stream))
    call(hip.hipStreamSynchronize(stream))
    equal(there.read(), after_steps(list(range(5)) * 2))
    call(hip.hipGraphExecDestroy(executable))
    call(hip.hipGraphDestroy(graph))


@check
def memory_of_every_kind():
    x = random(1000)
    pool = call(hip.hipMallocAsync(x.nbytes, None))
    managed = call(hip.hipMallocManaged(x.nbytes, hip.hipMemAttachGlobal))
    pinned = call(hip.hipHostMalloc(x.nbytes, hip.hipHostMallocMapped))
    call(hip.hipMemcpy(pool, x, x.nbytes, hip.hipMemcpyKind.hipMemcpyDefault))
    call(hip.hipMemcpyAsync(managed, pool, x.nbytes, hip.hipMemcpyKind.hipMemcpyDefault, None))
    call(hip.hipMemcpyAsync(pinned, managed, x.nbytes, hip.hipMemcpyKind.hipMemcpyDefault, None))
    call(hip.hipFreeAsync(pool, None))
    call(hip.hipDeviceSynchronize())
    result = np.empty_like(x)
    call(hip.hipMemcpy(result, pinned, x.nbytes, hip.hipMemcpyKind.hipMemcpyDefault))
    equal(result, x)
    call(hip.hipFree(managed))
    call(hip.hipHostFree(pinned))


@check
def two_devices():
    x = random(1000)
    here = Buffer(x)
    call(hip.hipSetDevice(1))
    there = call(hip.hipMalloc(x.nbytes))
    call(hip.hipMemcpyPeer(there, 1, here.memory, 0, x.nbytes))
    result = np.empty_like(x)
    call(hip.hipMemcpy(result, there, x.nbytes, hip.hipMemcpyKind.hipMemcpyDeviceToHost))
    call(hip.hipFree(there))
    call(hip.hipSetDevice(0))
    equal(result, x)


@check
def images_that_are_refused():
    status, _ = hip.hipModuleLoadData(b"not an image" + bytes(100))
    equal(int(status), int(hip.hipError_t.hipErrorInvalidImage))
    status, _ = hip.hipModuleGetFunction(load(STEP), b"absent")
    equal(int(status), int(hip.hipError_t.hipErrorNotFound))
    assert str(call(hip.hipGetErrorName(status))) == "hipErrorNotFound"


main("hip-python")
