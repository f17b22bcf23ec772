// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Small programs of the driver API, each chosen by its name. report_test runs them and reads the
// simulated driver's report. They print the results of the relevant calls.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>

#include "sim_cuda/driver.h"

// A child of fork(2) inherits objects to which only the stacks of its parent's other threads refer.
// They are not leaks.
static bool is_child_of_fork = false;
extern "C" int __lsan_is_turned_off();
extern "C" int __lsan_is_turned_off() { return is_child_of_fork ? 1 : 0; }

namespace halyard::testing::driver {
namespace {

Handle context() {
  Handle made = nullptr;
  cuInit(0);
  cuCtxCreate_v2(&made, 0, 0);
  return made;
}

void print(const char* what, int result) { std::printf("%s %d\n", what, result); }

void clean() {
  const Handle made = context();
  Handle in = nullptr;
  cuStreamCreate(&in, kNonBlocking);
  print("synchronize", cuStreamSynchronize(in));
  cuStreamDestroy_v2(in);
  cuCtxDestroy_v2(made);
}

// Leaks a stream, an event, memory and a graph, and releases the primary context.
void leak() {
  Handle primary = nullptr, in = nullptr, done = nullptr, graph = nullptr;
  Address a = 0;
  cuInit(0);
  cuDevicePrimaryCtxRetain(&primary, 0);
  cuCtxSetCurrent(primary);
  cuStreamCreate(&in, 0);
  cuEventCreate(&done, 0);
  cuMemAlloc_v2(&a, 1000);
  cuGraphCreate(&graph, 0);
  print("release", cuDevicePrimaryCtxRelease_v2(0));
}

void misuse() {
  context();
  Handle in = nullptr, event = nullptr, other = nullptr, there = nullptr;
  Address a = 0;
  cuStreamCreate(&in, 0);
  cuEventCreate(&event, 0);
  cuMemAllocAsync(&a, 64, in);
  cuMemFreeAsync(a, in);
  int type = 0;
  cuPointerGetAttribute(&type, 2, a);
  cuMemFreeAsync(a, in);
  cuMemFree_v2(77);
  cuLaunchHostFunc(
      in,
      [](void*) {
        int count = 0;
        cuDeviceGetCount(&count);
      },
      nullptr);
  cuStreamSynchronize(in);
  cuCtxCreate_v2(&other, 0, 1);
  cuStreamCreate(&there, 0);
  cuEventRecord(event, there);
  cuStreamDestroy_v2(there);
  cuStreamQuery(there);
  Handle module = nullptr, function = nullptr;
  cuModuleLoadData(&module, kFillPtx);
  cuModuleGetFunction(&function, module, "fill");
  void* parameters[] = {&a, &type, &type};
  cuLaunchKernel(function, 1, 65536, 1, 32, 1, 1, 0, nullptr, parameters, nullptr);
  std::size_t size = 0;
  void* extra[] = {reinterpret_cast<void*>(1), &a, reinterpret_cast<void*>(2), &size, nullptr};
  cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, extra);
  cuCtxSynchronize();
  Handle graph = nullptr, node = nullptr;
  const MemsetNode fill{a, 4, 0x1ff, 1, 4, 1};
  cuGraphCreate(&graph, 0);
  cuGraphAddMemsetNode(&node, graph, nullptr, 0, &fill, nullptr);
  cuTexObjectCreate(nullptr, nullptr, nullptr, nullptr);
  // A copy whose source was freed, and whose address other memory has reused.
  void* pinned = nullptr;
  Handle exec = nullptr;
  cuMemHostAlloc(&pinned, 4096, 0);
  cuMemAlloc_v2(&a, 64);
  cuStreamBeginCapture_v2(in, 0);
  cuMemcpyHtoDAsync_v2(a, pinned, 64, in);
  cuStreamEndCapture(in, &graph);
  cuGraphInstantiateWithFlags(&exec, graph, 0);
  cuGraphLaunch(exec, in);
  cuStreamSynchronize(in);
  cuMemFreeHost(pinned);
  cuMemHostAlloc(&pinned, 4096, 0);
  cuGraphLaunch(exec, in);
  cuStreamSynchronize(in);
}

// Unloads a module before its kernel runs, and another module while only the first module's kernel
// is in flight. Both calls may wait for the kernel.
void unload_in_flight() {
  const Handle current = context();
  Handle in = nullptr, module = nullptr, other = nullptr, function = nullptr;
  cuStreamCreate(&in, 0);
  cuModuleLoadData(&module, kFillPtx);
  cuModuleLoadData(&other, kFillPtx);
  cuModuleGetFunction(&function, module, "fill");
  Gate gate;
  cuLaunchHostFunc(in, &Gate::wait, &gate);
  Address a = 0;
  std::uint32_t value = 3, count = 0;
  void* parameters[] = {&a, &value, &count};
  cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, in, parameters, nullptr);
  const auto unload = [&](Handle of) {
    cuCtxSetCurrent(current);
    cuModuleUnload(of);
  };
  std::thread first(unload, other), second(unload, module);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  gate.open();
  first.join();
  second.join();
  cuStreamSynchronize(in);
}

void allocate() {
  context();
  Address a = 0;
  for (int i = 0; i < 3; ++i) print("allocate", cuMemAlloc_v2(&a, 64));
  Handle in = nullptr;
  print("stream", cuStreamCreate(&in, 0));
  print("memset", cuMemsetD32Async(a, 1, 16, in));
  print("synchronize", cuStreamSynchronize(in));
}

void launch() {
  context();
  Handle module = nullptr, function = nullptr;
  Address a = 0;
  std::uint32_t value = 3, count = 16, host[16] = {};
  cuModuleLoadData(&module, kFillPtx);
  cuModuleGetFunction(&function, module, "fill");
  cuMemAlloc_v2(&a, 64);
  cuMemsetD32_v2(a, 0, 16);
  cuCtxSynchronize();
  void* parameters[] = {&a, &value, &count};
  print("launch", cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, nullptr, parameters, nullptr));
  print("copy", cuMemcpyDtoH_v2(host, a, 64));
  std::printf("value %u\n", host[15]);
  std::atomic<int> ran = 0;
  cuLaunchHostFunc(
      nullptr, [](void* flag) { *static_cast<std::atomic<int>*>(flag) = 1; }, &ran);
  print("synchronize", cuStreamSynchronize(nullptr));
  print("host", ran);
}

// A fault. Prints whether another context and another device still work.
void fault() {
  launch();
  Handle made = nullptr;
  Address a = 0;
  print("new context", cuCtxCreate_v2(&made, 0, 0));
  cuCtxCreate_v2(&made, 0, 1);
  print("second", cuMemAlloc_v2(&a, 64));
}

// New memory does not contain zeros in strict and adversarial mode.
void fresh() {
  context();
  Address a = 0;
  unsigned word = 0;
  cuMemAlloc_v2(&a, 64);
  cuMemcpyDtoH_v2(&word, a, 4);
  std::printf("word %x\n", word);
}

// A managed allocation, and the device's attribute for concurrent access to it.
void managed() {
  cuInit(0);
  int concurrent = -1;
  cuDeviceGetAttribute(&concurrent, 89, 0);
  print("concurrent", concurrent);
}

// Frees memory by cuMemFree while a stream is blocked; prints whether the call waited.
void free_in_flight(bool is_pooled, bool is_used = true) {
  context();
  Handle in = nullptr;
  Address a = 0, other = 0;
  cuStreamCreate(&in, kNonBlocking);
  is_pooled ? cuMemAllocAsync(&a, 64, in) : cuMemAlloc_v2(&a, 64);
  cuMemAlloc_v2(&other, 64);
  cuStreamSynchronize(in);
  Gate gate;
  cuLaunchHostFunc(in, &Gate::wait, &gate);
  cuMemsetD32Async(is_used ? a : other, 1, 16, in);
  print("free", cuMemFree_v2(a));
  print("query", cuStreamQuery(in));
  gate.open();
  print("synchronize", cuCtxSynchronize());
}
void free_pooled() { free_in_flight(true); }
void free_pooled_beside() { free_in_flight(true, false); }
void free_plain() { free_in_flight(false); }

// A wait for a value that another stream writes, submitted before the write or after it.
void wait_and_write(bool waits_first) {
  context();
  Handle consumer = nullptr, producer = nullptr;
  Address a = 0;
  cuStreamCreate(&consumer, kNonBlocking);
  cuStreamCreate(&producer, kNonBlocking);
  cuMemAlloc_v2(&a, 4);
  cuMemsetD32_v2(a, 0, 1);
  cuCtxSynchronize();
  if (waits_first) cuStreamWaitValue32_v2(consumer, a, 1, 0);
  cuStreamWriteValue32_v2(producer, a, 1, 0);
  if (!waits_first) cuStreamWaitValue32_v2(consumer, a, 1, 0);
  print("synchronize", cuStreamSynchronize(consumer));
}
void wait_first() { wait_and_write(true); }
void write_first() { wait_and_write(false); }

// Touches managed memory while a kernel that does not use it waits in a stream, and after that.
void touch_managed(bool touches_early) {
  std::signal(SIGSEGV, SIG_DFL);  // otherwise a sanitizer's handler ends the process
  context();
  Handle in = nullptr, module = nullptr, function = nullptr;
  Address shared = 0, a = 0;
  std::uint32_t value = 3, count = 1;
  cuStreamCreate(&in, kNonBlocking);
  cuModuleLoadData(&module, kFillPtx);
  cuModuleGetFunction(&function, module, "fill");
  cuMemAllocManaged(&shared, 64, 1);
  cuMemAlloc_v2(&a, 64);
  Gate gate;
  cuLaunchHostFunc(in, &Gate::wait, &gate);
  void* parameters[] = {&a, &value, &count};
  cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, in, parameters, nullptr);
  auto* const word = reinterpret_cast<volatile std::uint32_t*>(shared);
  if (touches_early) *word = 1;
  gate.open();
  print("synchronize", cuStreamSynchronize(in));
  *word = 2;
  print("touched", static_cast<int>(*word));
}
void touch_early() { touch_managed(true); }
void touch_late() { touch_managed(false); }

// A kernel that is given the host's address of registered memory.
void registered() {
  context();
  alignas(4096) static std::uint32_t bytes[1024];
  int may_use = -1;
  cuDeviceGetAttribute(&may_use, 91, 0);
  Handle module = nullptr, function = nullptr;
  cuModuleLoadData(&module, kFillPtx);
  cuModuleGetFunction(&function, module, "fill");
  cuMemHostRegister_v2(bytes, sizeof bytes, 2);
  Address a = 0, host = reinterpret_cast<Address>(bytes);
  std::uint32_t value = 3, count = 1;
  cuMemHostGetDevicePointer_v2(&a, bytes, 0);
  print("may use", may_use);
  print("same", a == host ? 1 : 0);
  void* good[] = {&a, &value, &count};
  cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, nullptr, good, nullptr);
  print("device pointer", cuCtxSynchronize());
  print("value", static_cast<int>(bytes[0]));
  void* bad[] = {&host, &value, &count};
  cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, nullptr, bad, nullptr);
  print("host pointer", cuCtxSynchronize());
}

// Prints whether any cuMemcpyHtoD of pageable memory returned before its bytes had arrived.
void pageable() {
  context();
  Address a = 0;
  std::uint32_t word = 1;
  cuMemAlloc_v2(&a, 4);
  bool is_early = false;
  for (int i = 0; i < 1000 && !is_early; ++i) {
    cuMemcpyHtoD_v2(a, &word, 4);
    is_early = cuStreamQuery(nullptr) == kNotReady;
  }
  print("early", is_early ? 1 : 0);
}

// A global of a single scenario. Its destructor runs after those of the first thread's thread_local
// objects, and calls the driver to free its members.
struct FreedAtExit {
  Handle context = nullptr, stream = nullptr;
  Address memory = 0;
  ~FreedAtExit() {
    if (context == nullptr) return;
    Handle current = nullptr;
    cuCtxGetCurrent(&current);
    print("kept", current == context ? 1 : 0);
    print("copy", cuMemcpyDtoH_v2(&current, memory, sizeof current));
    print("free", cuMemFree_v2(memory));
    print("stream", cuStreamDestroy_v2(stream));
    print("synchronize", cuCtxSynchronize());
  }
};
FreedAtExit freed_at_exit;

// Calls functions of a stream endlessly.
void keep_calling(Handle current) {
  Handle in = nullptr;
  Address a = 0;
  cuCtxSetCurrent(current);
  cuStreamCreate(&in, kNonBlocking);
  for (;;) {
    cuMemAllocAsync(&a, 64, in);
    cuMemsetD32Async(a, 1, 16, in);
    cuMemFreeAsync(a, in);
    cuStreamSynchronize(in);
  }
}

// Ends while another thread is inside calls.
void exit_with_globals() {
  freed_at_exit.context = context();
  cuStreamCreate(&freed_at_exit.stream, kNonBlocking);
  cuMemAlloc_v2(&freed_at_exit.memory, 64);
  std::thread(keep_calling, freed_at_exit.context).detach();
}

// Forks while other threads are inside calls; prints how many children got the expected results and
// ended.
void fork_in_use() {
  constexpr int kChildren = 400;
  constexpr unsigned kSeconds = 30;  // per child; a wait for a lost thread never ends
  const Handle made = context();
  for (int i = 0; i < 2; ++i) std::thread(keep_calling, made).detach();
  int right = 0;
  for (int i = 0; i < kChildren && right == i; ++i) {
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      is_child_of_fork = true;
      alarm(kSeconds);
      int count = 0;
      const bool is_right = cuInit(0) == kNotInitialized &&
                            cuDeviceGetCount(&count) == kNotInitialized &&
                            cuCtxSynchronize() == kNotInitialized;
      std::exit(is_right ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    right += status == 0 ? 1 : 0;
  }
  print("children", right);
  std::fflush(stdout);
  std::_Exit(0);
}

// Forks before cuInit: the child uses the driver.
void fork_before_use() {
  const char* text = nullptr;
  cuGetErrorName(0, &text);
  const pid_t child = fork();
  if (child == 0) return clean();
  int status = -1;
  waitpid(child, &status, 0);
  print("child", status);
}

// The devices of the process, by the last byte of their UUID.
void devices() {
  print("init", cuInit(0));
  int count = 0;
  cuDeviceGetCount(&count);
  for (int i = 0; i < count; ++i) {
    unsigned char id[16] = {};
    cuDeviceGetUuid_v2(id, i);
    print("device", id[15]);
  }
}

constexpr struct {
  std::string_view name;
  void (*run)();
} kScenarios[] = {{"clean", clean},
                  {"leak", leak},
                  {"misuse", misuse},
                  {"unload_in_flight", unload_in_flight},
                  {"allocate", allocate},
                  {"launch", launch},
                  {"fault", fault},
                  {"fresh", fresh},
                  {"managed", managed},
                  {"free_pooled", free_pooled},
                  {"free_pooled_beside", free_pooled_beside},
                  {"free_plain", free_plain},
                  {"wait_first", wait_first},
                  {"write_first", write_first},
                  {"touch_early", touch_early},
                  {"touch_late", touch_late},
                  {"registered", registered},
                  {"pageable", pageable},
                  {"devices", devices},
                  {"exit_with_globals", exit_with_globals},
                  {"fork_in_use", fork_in_use},
                  {"fork_before_use", fork_before_use}};

}  // namespace
}  // namespace halyard::testing::driver

int main(int count, char** arguments) {
  for (const auto& scenario : halyard::testing::driver::kScenarios) {
    if (count == 2 && scenario.name == arguments[1]) {
      scenario.run();
      return 0;
    }
  }
  std::fprintf(stderr, "usage: %s SCENARIO\n", arguments[0]);
  return 2;
}
