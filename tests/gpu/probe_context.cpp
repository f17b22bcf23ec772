// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Probes of the calls that a thread may make without a current context or with another context, of
// the memory of graphs, and of the ends of processes. cuda.h does not say which calls need a
// context, except for the default streams ("default stream specified with no current context",
// cuMemFreeAsync).
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "gpu/probe.h"

namespace halyard::testing::probe {
namespace {

// Adds "what result" to an answer.
void add(std::string& answer, const char* what, int result) {
  if (!answer.empty()) answer += ", ";
  answer += std::string(what) + " " + name_of(result);
}

// The answer of `body` on a thread without a current context.
template <class Body>
std::string without_context(Body body) {
  std::string answer;
  std::thread([&] { body(answer); }).join();
  return answer;
}

// An engineer of NVIDIA: cuMemFree frees "in its owning context, with any context or none current"
// (NVIDIA/cuda-python, pull request 2750).
std::string free_without_context() {
  make_context();
  const Handle stream = make_stream();
  const Address plain = make_words(1);
  Address ordered = 0;
  void* host = nullptr;
  call("cuMemAllocAsync", &ordered, std::size_t{64}, stream);
  call("cuMemHostAlloc", &host, std::size_t{64}, 0U);
  return without_context([&](std::string& answer) {
    add(answer, "memory", call("cuMemFree_v2", plain));
    add(answer, "in a stream", call("cuMemFreeAsync", ordered, stream));
    add(answer, "host", call("cuMemFreeHost", host));
  });
}

std::string destroy_without_context() {
  make_context();
  const Handle stream = make_stream(), event = make_event();
  Handle module = nullptr, graph = nullptr, exec = nullptr;
  load_kernel("store", &module);
  call("cuGraphCreate", &graph, 0U);
  call("cuGraphInstantiateWithFlags", &exec, graph, 0ULL);
  return without_context([&](std::string& answer) {
    add(answer, "stream", call("cuStreamDestroy_v2", stream));
    add(answer, "event", call("cuEventDestroy_v2", event));
    add(answer, "module", call("cuModuleUnload", module));
    add(answer, "executable graph", call("cuGraphExecDestroy", exec));
  });
}

// NVIDIA/cccl, pull request 9615: copies and memsets of a stream succeed "with empty driver stack".
std::string work_without_context() {
  make_context();
  const Handle stream = make_stream(), event = make_event(), store = load_kernel("store");
  Handle graph = nullptr, exec = nullptr;
  const Address a = make_words(2);
  call("cuGraphCreate", &graph, 0U);
  return without_context([&](std::string& answer) {
    add(answer, "memset", fill(a, 1, 1, stream));
    add(answer, "copy", call("cuMemcpyAsync", a + 4, a, std::size_t{4}, stream));
    add(answer, "launch", launch_store(store, a, 2, stream));
    add(answer, "record", call("cuEventRecord", event, stream));
    add(answer, "instantiate", call("cuGraphInstantiateWithFlags", &exec, graph, 0ULL));
    add(answer, "graph", call("cuGraphLaunch", exec, stream));
    add(answer, "synchronize", call("cuStreamSynchronize", stream));
  });
}

std::string questions_without_context() {
  make_context();
  const Handle stream = make_stream();
  Handle module = nullptr, function = nullptr, context = nullptr;
  const Handle store = load_kernel("store", &module);
  const Address a = make_words(1);
  return without_context([&](std::string& answer) {
    Address base = 0;
    std::size_t size = 0;
    int value = 0;
    unsigned type = 0;
    add(answer, "range", call("cuMemGetAddressRange_v2", &base, &size, a));
    add(answer, "attribute", call("cuPointerGetAttribute", static_cast<void*>(&type), 2, a));
    add(answer, "context of a stream", call("cuStreamGetCtx", stream, &context));
    add(answer, "function", call("cuModuleGetFunction", &function, module, "store"));
    add(answer, "attribute of a function", call("cuFuncGetAttribute", &value, 0, store));
  });
}

// cuMemAllocAsync: CUDA_ERROR_INVALID_CONTEXT (default stream specified with no current context)
std::string default_stream_without_context() {
  make_context();
  const Handle event = make_event();
  const Address a = make_words(1);
  return without_context([&](std::string& answer) {
    const Handle none = nullptr;
    Address b = 0;
    add(answer, "memset", fill(a, 1, 1, none));
    add(answer, "allocation", call("cuMemAllocAsync", &b, std::size_t{4}, none));
    add(answer, "record", call("cuEventRecord", event, none));
    add(answer, "synchronize", call("cuStreamSynchronize", none));
  });
}

// cuCtxDestroy: the context stays current to other threads.
std::string free_beside_a_destroyed_context() {
  make_context();
  const Handle stream = make_stream();
  const Address a = make_words(1);
  const Handle destroyed = make_context();
  std::thread([&] { call("cuCtxDestroy_v2", destroyed); }).join();
  std::string answer;
  add(answer, "synchronize", call("cuCtxSynchronize"));
  add(answer, "memory", call("cuMemFree_v2", a));
  add(answer, "stream", call("cuStreamDestroy_v2", stream));
  return answer;
}

struct KernelOfNode {
  Handle function;
  unsigned grid[3], block[3], shared_bytes;
  void** parameters;
  void** extra;
  Handle kernel, context;
};

// CUDA_KERNEL_NODE_PARAMS: the context "is ignored if func is set".
std::string kernel_node_of_another_context() {
  make_context();
  Handle store = load_kernel("store"), graph = nullptr, node = nullptr, exec = nullptr;
  Address a = make_words(1);
  make_context();
  std::uint32_t value = 5;
  void* parameters[] = {&a, &value};
  const KernelOfNode parts{store, {1, 1, 1}, {1, 1, 1}, 0, parameters, nullptr, nullptr, nullptr};
  const Handle stream = make_stream();
  call("cuGraphCreate", &graph, 0U);
  std::string answer;
  add(answer, "node",
      call("cuGraphAddKernelNode_v2", &node, graph, static_cast<const Handle*>(nullptr),
           std::size_t{0}, &parts));
  add(answer, "instantiate", call("cuGraphInstantiateWithFlags", &exec, graph, 0ULL));
  add(answer, "launch", call("cuGraphLaunch", exec, stream));
  add(answer, "synchronize", call("cuStreamSynchronize", stream));
  return answer + ", writes " + std::to_string(read_word(a));
}

// cuGraphLaunch: "If any allocations created by hGraphExec remain unfreed ... the launch will fail"
std::string launch_before_the_free() {
  make_context();
  const Handle stream = make_stream();
  Handle graph = nullptr, exec = nullptr;
  Address a = 0;
  call("cuStreamBeginCapture_v2", stream, 2);
  call("cuMemAllocAsync", &a, std::size_t{64}, stream);
  fill(a, 5, 16, stream);
  call("cuStreamEndCapture", stream, &graph);
  call("cuGraphInstantiateWithFlags", &exec, graph, 0ULL);
  std::string answer;
  add(answer, "first", call("cuGraphLaunch", exec, stream));
  add(answer, "second", call("cuGraphLaunch", exec, stream));
  add(answer, "free", call("cuMemFreeAsync", a, stream));
  add(answer, "third", call("cuGraphLaunch", exec, stream));
  call("cuStreamSynchronize", stream);
  answer += ", reads " + std::to_string(read_word(a));
  call("cuGraphExecDestroy", exec);
  call("cuGraphDestroy", graph);
  add(answer, "free after the end of the graph", call("cuMemFree_v2", a));
  return answer;
}

// The documents of the driver API do not mention it. Programs get CUDA_ERROR_NOT_INITIALIZED:
// triton-lang/triton, pull request 10443.
std::string calls_in_a_child() {
  make_context();
  const pid_t child = fork();
  if (child == 0) {
    std::string answer;
    int count = 0;
    add(answer, "cuInit", call("cuInit", 0U));
    add(answer, "cuDeviceGetCount", call("cuDeviceGetCount", &count));
    add(answer, "cuCtxSynchronize", call("cuCtxSynchronize"));
    (void)!write(answer_file, answer.data(), answer.size());
    std::exit(0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return status == 0 ? ", the child ends" : ", the child ends with " + std::to_string(status);
}

// CUDA_ERROR_DEINITIALIZED: "the CUDA driver is in the process of shutting down"
struct AtExit {
  Address memory = 0;
  ~AtExit() {
    if (memory == 0) return;
    std::string answer;
    Handle current = nullptr;
    add(answer, "current", call("cuCtxGetCurrent", &current));
    add(answer, "free", call("cuMemFree_v2", memory));
    add(answer, "synchronize", call("cuCtxSynchronize"));
    (void)!write(answer_file, answer.data(), answer.size());
  }
};
AtExit at_exit;
std::string calls_at_exit() {
  make_context();
  at_exit.memory = make_words(1);
  std::exit(0);
}

constexpr Probe kContextProbes[] = {
    {"27", "free memory without a current context",
     "memory success, in a stream success, host success", &free_without_context},
    {"27b", "destroy handles without a current context",
     "stream success, event success, module success, executable graph success",
     &destroy_without_context},
    {"27c", "work of a stream without a current context",
     "memset success, copy success, launch success, record success, instantiate success, graph "
     "success, synchronize success",
     &work_without_context},
    {"27d", "questions about handles and addresses without a current context",
     "range success, attribute success, context of a stream success, function success, attribute "
     "of a function success",
     &questions_without_context},
    {"27e", "the default stream without a current context",
     "memset INVALID_CONTEXT, allocation INVALID_CONTEXT, record INVALID_CONTEXT, synchronize "
     "INVALID_CONTEXT",
     &default_stream_without_context},
    {"27f", "free what another context has while a destroyed one is current",
     "synchronize CONTEXT_IS_DESTROYED, memory success, stream success",
     &free_beside_a_destroyed_context},
    {"27g", "a kernel node whose function another context has than the current one",
     "node success, instantiate success, launch success, synchronize success, writes 5",
     &kernel_node_of_another_context},
    {"28", "launch a graph whose allocation is not freed, free it, and launch again",
     "first success, second INVALID_VALUE, free success, third success, reads 5, free after the "
     "end of the graph success",
     &launch_before_the_free},
    {"29", "calls in a child of fork(2) after cuInit",
     "cuInit NOT_INITIALIZED, cuDeviceGetCount NOT_INITIALIZED, cuCtxSynchronize NOT_INITIALIZED, "
     "the child ends",
     &calls_in_a_child},
    {"29b", "calls in the destructor of a global",
     "current success, free success, synchronize success", &calls_at_exit},
};

}  // namespace

std::span<const Probe> context_probes() { return kContextProbes; }

}  // namespace halyard::testing::probe
