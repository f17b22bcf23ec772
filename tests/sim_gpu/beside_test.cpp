// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The simulated libcuda and libamdhip64 in one process. Each has its own core.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

namespace halyard::testing {
namespace {

// Calls a function of an opened library by name.
class Opened {
 public:
  explicit Opened(const char* path) : library_(dlopen(path, RTLD_NOW | RTLD_LOCAL)) {
    EXPECT_NE(library_, nullptr) << dlerror();
  }
  template <class... Arguments>
  int operator()(const char* name, Arguments... arguments) const {
    const auto function = reinterpret_cast<int (*)(Arguments...)>(dlsym(library_, name));
    EXPECT_NE(function, nullptr) << name;
    return function != nullptr ? function(arguments...) : -1;
  }

 private:
  void* const library_;
};

const Opened& cuda() {
  static const Opened library(HALYARD_SIM_CUDA_LIBRARY);
  return library;
}
const Opened& hip() {
  static const Opened library(HALYARD_SIM_HIP_LIBRARY);
  return library;
}

void* make_cuda_context() {
  void* context = nullptr;
  EXPECT_EQ(cuda()("cuInit", 0U), 0);
  EXPECT_EQ(cuda()("cuDevicePrimaryCtxRetain", &context, 0), 0);
  EXPECT_EQ(cuda()("cuCtxSetCurrent", context), 0);
  return context;
}

// Runs `body` in a child process, whose exit status is its result, before any library is used here.
int in_child(int (*body)(), const std::string& report_of_cuda = {},
             const std::string& report_of_hip = {}) {
  const pid_t child = fork();
  if (child == 0) {
    setenv("HALYARD_SIM_CUDA_MODE", "adversarial,strict", 1);
    setenv("HALYARD_SIM_HIP_MODE", "adversarial,strict", 1);
    if (!report_of_cuda.empty()) setenv("HALYARD_SIM_CUDA_REPORT", report_of_cuda.c_str(), 1);
    if (!report_of_hip.empty()) setenv("HALYARD_SIM_HIP_REPORT", report_of_hip.c_str(), 1);
    std::exit(body());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string read(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// Makes managed memory inaccessible to the host, by a launch of a graph.
bool guard_of_cuda(char*& managed) {
  void *graph = nullptr, *exec = nullptr;
  make_cuda_context();
  std::uint64_t address = 0;
  bool is_well = cuda()("cuMemAllocManaged", &address, std::size_t{64}, 1U) == 0;
  managed = reinterpret_cast<char*>(address);
  is_well &= cuda()("cuGraphCreate", &graph, 0U) == 0;
  is_well &= cuda()("cuGraphInstantiateWithFlags", &exec, graph, 0ULL) == 0;
  return is_well && cuda()("cuGraphLaunch", exec, static_cast<void*>(nullptr)) == 0;
}
bool guard_of_hip(char*& managed) {
  void *graph = nullptr, *exec = nullptr, *address = nullptr;
  bool is_well = hip()("hipMallocManaged", &address, std::size_t{64}, 1U) == 0;
  managed = static_cast<char*>(address);
  is_well &= hip()("hipGraphCreate", &graph, 0U) == 0;
  is_well &= hip()("hipGraphInstantiateWithFlags", &exec, graph, 0ULL) == 0;
  return is_well && hip()("hipGraphLaunch", exec, static_cast<void*>(nullptr)) == 0;
}

int touch_both(bool begins_with_cuda) {
  char *of_cuda = nullptr, *of_hip = nullptr;
  // Each library installs the last SIGSEGV handler once.
  if (begins_with_cuda && !(guard_of_cuda(of_cuda) && guard_of_hip(of_hip))) return 1;
  if (!begins_with_cuda && !(guard_of_hip(of_hip) && guard_of_cuda(of_cuda))) return 1;
  *of_hip = 1;
  *of_cuda = 2;
  return *of_hip == 1 && *of_cuda == 2 ? 0 : 2;
}

TEST(SimGpuBeside, EachReportsTheTouchOfItsOwnManagedMemory) {
  const std::string folder = ::testing::TempDir();
  for (const bool begins_with_cuda : {true, false}) {
    const std::string of_cuda = folder + "beside_cuda.txt", of_hip = folder + "beside_hip.txt";
    ASSERT_EQ(
        in_child(
            begins_with_cuda ? [] { return touch_both(true); } : [] { return touch_both(false); },
            of_cuda, of_hip),
        0);
    EXPECT_NE(read(of_cuda).find("misuse managed-memory-touched 1"), std::string::npos);
    EXPECT_NE(read(of_hip).find("misuse managed-memory-touched 1"), std::string::npos);
    EXPECT_NE(read(of_cuda).find("calls cuGraphLaunch 1"), std::string::npos);
    EXPECT_EQ(read(of_cuda).find("calls hip"), std::string::npos);
    EXPECT_NE(read(of_hip).find("calls hipGraphLaunch 1"), std::string::npos);
    EXPECT_EQ(read(of_hip).find("calls cu"), std::string::npos);
    // HIP has no contexts that a program could release.
    EXPECT_NE(read(of_cuda).find("leak exit: primary contexts"), std::string::npos);
    EXPECT_EQ(read(of_hip).find("leak exit: primary contexts"), std::string::npos);
  }
}

TEST(SimGpuBeside, AThreadHasItsOwnDeviceInEach) {
  EXPECT_EQ(in_child([] {
              void* const context = make_cuda_context();
              if (hip()("hipSetDevice", 1) != 0) return 1;
              void* current = nullptr;
              cuda()("cuCtxGetCurrent", &current);
              if (current != context) return 2;
              int other_device = -1;
              std::thread([&] {
                hip()("hipGetDevice", &other_device);
                cuda()("cuCtxGetCurrent", &current);
              }).join();
              return other_device == 0 && current == nullptr ? 0 : 3;
            }),
            0);
}

TEST(SimGpuBeside, HostFunctionsOfOneDoNotWaitForThoseOfTheOther) {
  EXPECT_EQ(in_child([] {
              void *in_cuda = nullptr, *in_hip = nullptr;
              make_cuda_context();
              cuda()("cuStreamCreate", &in_cuda, 1U);
              hip()("hipStreamCreateWithFlags", &in_hip, 1U);
              static std::atomic<bool> is_open = false;
              const auto hold = +[](void*) {
                while (!is_open) std::this_thread::yield();
              };
              const auto open = +[](void*) { is_open = true; };
              cuda()("cuLaunchHostFunc", in_cuda, hold, static_cast<void*>(nullptr));
              hip()("hipLaunchHostFunc", in_hip, open, static_cast<void*>(nullptr));
              if (hip()("hipStreamSynchronize", in_hip) != 0) return 1;
              return cuda()("cuStreamSynchronize", in_cuda);
            }),
            0);
}

TEST(SimGpuBeside, AChildOfAProcessThatUsedBothCanUseNeither) {
  EXPECT_EQ(in_child([] {
              make_cuda_context();
              hip()("hipSetDevice", 0);
              const pid_t child = fork();
              if (child == 0) {
                const bool is_refused = cuda()("cuInit", 0U) == 3 && hip()("hipSetDevice", 0) != 0;
                _exit(is_refused ? 0 : 1);
              }
              int status = 0;
              waitpid(child, &status, 0);
              return status == 0 && hip()("hipSetDevice", 0) == 0 ? 0 : 1;
            }),
            0);
}

}  // namespace
}  // namespace halyard::testing
