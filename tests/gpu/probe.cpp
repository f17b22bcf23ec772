// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "gpu/probe.h"

#include <dlfcn.h>

#include <chrono>
#include <cstdlib>

namespace halyard::testing::probe {
namespace {

// PTX of an old architecture, which every current device accepts.
constexpr const char* kPtx = R"(
.version 7.0
.target sm_60
.address_size 64
.visible .entry store(.param .u64 a, .param .u32 value)
{
  .reg .b32 %r1;
  .reg .b64 %rd1;
  ld.param.u64 %rd1, [a];
  ld.param.u32 %r1, [value];
  st.u32 [%rd1], %r1;
  ret;
}
.visible .entry store_and_flag(.param .u64 a, .param .u32 value, .param .u64 flag)
{
  .reg .b32 %r<3>;
  .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [a];
  ld.param.u32 %r1, [value];
  ld.param.u64 %rd2, [flag];
  st.u32 [%rd1], %r1;
  membar.sys;
  mov.u32 %r2, 1;
  st.volatile.u32 [%rd2], %r2;
  ret;
}
)";

}  // namespace

void* find_function(const char* name) {
  static void* const library = [] {
    const char* const chosen = std::getenv("HALYARD_LIBCUDA");
    return dlopen(chosen != nullptr ? chosen : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  }();
  return library != nullptr ? dlsym(library, name) : nullptr;
}

std::string name_of(int result) {
  constexpr std::string_view kPrefix = "CUDA_ERROR_";
  if (result == 0) return "success";
  if (result == kNoFunction) return "no such function";
  const char* name = nullptr;
  call("cuGetErrorName", result, &name);
  std::string text = name != nullptr ? name : std::to_string(result);
  return text.starts_with(kPrefix) ? text.substr(kPrefix.size()) : text;
}

std::string attribute(int which) {
  int value = -1;
  call("cuDeviceGetAttribute", &value, which, 0);
  return std::to_string(value);
}

Handle make_context() {
  Handle context = nullptr;
  call("cuCtxCreate_v2", &context, 0U, 0);
  return context;
}

Handle make_stream(unsigned flags) {
  Handle stream = nullptr;
  call("cuStreamCreate", &stream, flags);
  return stream;
}

Handle make_event(unsigned flags) {
  Handle event = nullptr;
  call("cuEventCreate", &event, flags);
  return event;
}

Address make_words(std::size_t count) {
  Address address = 0;
  call("cuMemAlloc_v2", &address, count * 4);
  call("cuMemsetD32_v2", address, 0U, count);
  call("cuCtxSynchronize");
  return address;
}

std::uint32_t read_word(Address address) {
  std::uint32_t word = 0xdead;
  call("cuMemcpyDtoH_v2", static_cast<void*>(&word), address, sizeof word);
  return word;
}

int fill(Address address, std::uint32_t value, std::size_t count, Handle stream) {
  return call("cuMemsetD32Async", address, value, count, stream);
}

Handle load_kernel(const char* name, Handle* module) {
  Handle loaded = nullptr, kernel = nullptr;
  call("cuModuleLoadData", &loaded, static_cast<const void*>(kPtx));
  call("cuModuleGetFunction", &kernel, loaded, name);
  if (module != nullptr) *module = loaded;
  return kernel;
}

namespace {

int launch(Handle kernel, void** parameters, Handle stream) {
  return call("cuLaunchKernel", kernel, 1U, 1U, 1U, 1U, 1U, 1U, 0U, stream, parameters,
              static_cast<void**>(nullptr));
}

}  // namespace

int launch_store(Handle kernel, Address address, std::uint32_t value, Handle stream) {
  void* parameters[] = {&address, &value};
  return launch(kernel, parameters, stream);
}

int launch_store_and_flag(Handle kernel, Address address, std::uint32_t value, Address flag,
                          Handle stream) {
  void* parameters[] = {&address, &value, &flag};
  return launch(kernel, parameters, stream);
}

Gate::Gate(Handle stream) {
  call("cuLaunchHostFunc", stream, &Gate::wait, static_cast<void*>(this));
  timer_ = std::thread([this] {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(2), [&] { return is_open_; });
    is_open_ = true;
    changed_.notify_all();
  });
}

Gate::~Gate() {
  open();
  timer_.join();
  call("cuCtxSynchronize");  // the host function uses this
}

void Gate::open() {
  const std::lock_guard lock(mutex_);
  is_open_ = true;
  changed_.notify_all();
}

std::string Gate::what_the_call_did() {
  const std::lock_guard lock(mutex_);
  return is_open_ ? "waits for the work" : "does not wait";
}

void Gate::wait(void* gate) {
  Gate& self = *static_cast<Gate*>(gate);
  std::unique_lock lock(self.mutex_);
  self.changed_.wait(lock, [&] { return self.is_open_; });
}

}  // namespace halyard::testing::probe
