// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Probes of memory, contexts, modules and faults. Each names its place in cuda.h.
#include <chrono>
#include <vector>

#include "gpu/probe.h"

namespace halyard::testing::probe {
namespace {

// cuMemFree: "will not perform any implict synchronization when the pointer was allocated with
// cuMemAllocAsync ... For all other pointers, this API may perform implicit synchronization."
std::string free_in_flight(bool is_pooled) {
  make_context();
  const Handle stream = make_stream();
  Address a = 0;
  if (is_pooled) {
    call("cuMemAllocAsync", &a, std::size_t{64}, stream);
    call("cuStreamSynchronize", stream);
  } else {
    a = make_words(16);
  }
  Gate gate(stream);
  const int result = call("cuMemFree_v2", a);
  return name_of(result) + ", " + gate.what_the_call_did();
}
std::string free_pooled() { return free_in_flight(true); }
std::string free_plain() { return free_in_flight(false); }

// cuMemFreeAsync: "querying its pointer attributes ... is undefined"
std::string attributes_after_free() {
  make_context();
  const Handle stream = make_stream();
  Address a = 0;
  unsigned type = 0;
  call("cuMemAllocAsync", &a, std::size_t{64}, stream);
  Gate gate(stream);
  call("cuMemFreeAsync", a, stream);
  return name_of(call("cuPointerGetAttribute", static_cast<void*>(&type), 2, a));
}

// cuStreamWaitValue32: order that CUDA does not see
std::string wait_for_a_later_write() {
  make_context();
  const Handle consumer = make_stream(), producer = make_stream();
  const Address a = make_words(2);
  const int wait = call("cuStreamWaitValue32_v2", consumer, a, std::uint32_t{1}, 0U);
  fill(a + 4, 9, 1, consumer);
  call("cuStreamWriteValue32_v2", producer, a, std::uint32_t{1}, 0U);
  call("cuStreamSynchronize", consumer);
  return name_of(wait) + ", writes " + std::to_string(read_word(a + 4));
}

Address make_managed() {
  Address managed = 0;
  call("cuMemAllocManaged", &managed, std::size_t{64}, 1U);
  return managed;
}

// cuStreamWaitValue32: "cannot be used with managed memory"
std::string value_in_managed_memory() {
  make_context();
  return name_of(
      call("cuStreamWriteValue32_v2", make_stream(), make_managed(), std::uint32_t{1}, 0U));
}

// cuEventQuery: a successful query synchronizes managed memory; a flag in pinned memory does not.
std::string managed_after_a_flag() {
  make_context();
  const Handle kernel = load_kernel("store_and_flag");
  const Address managed = make_managed();
  void* flag = nullptr;
  Address flag_on_device = 0;
  call("cuMemHostAlloc", &flag, std::size_t{64}, 2U);
  call("cuMemHostGetDevicePointer_v2", &flag_on_device, flag, 0U);
  *static_cast<volatile std::uint32_t*>(flag) = 0;
  launch_store_and_flag(kernel, managed, 5, flag_on_device, make_stream());
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (*static_cast<volatile std::uint32_t*>(flag) == 0) {
    if (std::chrono::steady_clock::now() > end) return "no flag";
  }
  return "concurrent access " + attribute(89) + ", reads " +
         std::to_string(*reinterpret_cast<volatile std::uint32_t*>(managed));
}

// CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS
std::string managed_in_flight() {
  make_context();
  const Handle stream = make_stream(), store = load_kernel("store");
  const Address managed = make_managed(), a = make_words(1);
  Gate gate(stream);
  launch_store(store, a, 1, stream);
  *reinterpret_cast<volatile std::uint32_t*>(managed) = 4;
  return "concurrent access " + attribute(89) + ", reads " +
         std::to_string(*reinterpret_cast<volatile std::uint32_t*>(managed));
}

// cuGetProcAddress
std::string unknown_name() {
  void* function = &function;
  int status = -1;
  const int result =
      call("cuGetProcAddress_v2", "cuNoSuchFunction", &function, 12000, std::uint64_t{0}, &status);
  return name_of(result) + (function == nullptr ? ", null" : ", not null") + ", status " +
         std::to_string(status);
}
std::string version_of_the_future() {
  void* function = nullptr;
  int status = -1;
  return name_of(
      call("cuGetProcAddress_v2", "cuInit", &function, 99000, std::uint64_t{0}, &status));
}

// cuDevicePrimaryCtxRetain: "does not push the context to the stack"
std::string primary_context() {
  Handle first = nullptr, second = nullptr, current = nullptr;
  call("cuDevicePrimaryCtxRetain", &first, 0);
  call("cuDevicePrimaryCtxRetain", &second, 0);
  call("cuCtxGetCurrent", &current);
  call("cuDevicePrimaryCtxRelease_v2", 0);
  unsigned flags = 0;
  int is_active = -1;
  call("cuDevicePrimaryCtxGetState", 0, &flags, &is_active);
  return std::string(first == second ? "one context" : "two contexts") +
         (current == nullptr ? ", not current" : ", current") + ", active " +
         std::to_string(is_active);
}

// cuCtxGetCurrent: "bound to the calling CPU thread"
std::string current_in_another_thread() {
  make_context();
  Handle current = nullptr;
  std::thread([&] { call("cuCtxGetCurrent", &current); }).join();
  return current == nullptr ? "none" : "the first thread's";
}

// NVIDIA, "API synchronization behavior": copies of pageable memory
std::string copy_from_pageable() {
  make_context();
  const Handle stream = make_stream();
  const Address a = make_words(1);
  std::uint32_t word = 5;
  std::string answer;
  {
    Gate gate(stream);
    call("cuMemcpyHtoDAsync_v2", a, static_cast<const void*>(&word), sizeof word, stream);
    answer = gate.what_the_call_did();
    word = 6;
  }
  return answer + ", writes " + std::to_string(read_word(a));
}
std::string copy_to_pageable() {
  make_context();
  const Handle stream = make_stream();
  const Address a = make_words(1);
  std::uint32_t word = 5;
  Gate gate(stream);
  call("cuMemcpyDtoHAsync_v2", static_cast<void*>(&word), a, sizeof word, stream);
  return gate.what_the_call_did() + ", reads " + std::to_string(word);
}

// CUDA_ERROR_ILLEGAL_ADDRESS: "the process must be terminated and relaunched"
std::string after_a_fault() {
  make_context();
  const Handle store = load_kernel("store");
  launch_store(store, 8, 1, nullptr);
  const int fault = call("cuCtxSynchronize");
  Address a = 0;
  Handle other = nullptr;
  const int allocation = call("cuMemAlloc_v2", &a, std::size_t{4});
  const int context = call("cuCtxCreate_v2", &other, 0U, 0);
  return name_of(fault) + ", allocation " + name_of(allocation) + ", new context " +
         name_of(context);
}
// cuda.h does not state, for any particular call, its result after a fault.
Handle retain_primary() {
  Handle context = nullptr;
  call("cuDevicePrimaryCtxRetain", &context, 0);
  call("cuCtxSetCurrent", context);
  return context;
}
void make_fault() {
  launch_store(load_kernel("store"), 8, 1, nullptr);
  call("cuCtxSynchronize");
}
std::string queries_after_a_fault() {
  make_context();
  const Handle stream = make_stream(), event = make_event();
  call("cuEventRecord", event, stream);
  call("cuStreamSynchronize", stream);
  make_fault();
  const int of_event = call("cuEventQuery", event);
  return "event " + name_of(of_event) + ", stream " + name_of(call("cuStreamQuery", stream));
}
std::string releases_after_a_fault() {
  retain_primary();
  const Handle stream = make_stream(), event = make_event();
  Handle module = nullptr;
  load_kernel("store", &module);
  const Address a = make_words(1);
  make_fault();
  std::string answer = "memory " + name_of(call("cuMemFree_v2", a));
  answer += ", stream " + name_of(call("cuStreamDestroy_v2", stream));
  answer += ", event " + name_of(call("cuEventDestroy_v2", event));
  answer += ", module " + name_of(call("cuModuleUnload", module));
  return answer + ", context " + name_of(call("cuDevicePrimaryCtxRelease_v2", 0));
}
std::string reset_after_a_fault() {
  retain_primary();
  make_fault();
  const int reset = call("cuDevicePrimaryCtxReset_v2", 0);
  Handle context = nullptr;
  Address a = 0;
  int then = call("cuDevicePrimaryCtxRetain", &context, 0);
  if (then == 0) then = call("cuCtxSetCurrent", context);
  if (then == 0) then = call("cuMemAlloc_v2", &a, std::size_t{4});
  return name_of(reset) + ", then " + name_of(then);
}
std::string after_out_of_memory() {
  make_context();
  Address a = 0;
  const int first = call("cuMemAlloc_v2", &a, std::size_t{1} << 50);
  return name_of(first) + ", then " + name_of(call("cuMemAlloc_v2", &a, std::size_t{4}));
}

// cuMemHostRegister
std::string register_twice() {
  make_context();
  static std::vector<std::byte> bytes(1 << 16);
  call("cuMemHostRegister_v2", static_cast<void*>(bytes.data()), std::size_t{4096}, 2U);
  return name_of(
      call("cuMemHostRegister_v2", static_cast<void*>(bytes.data()), std::size_t{4096}, 2U));
}
std::string registered_address() {
  make_context();
  static std::vector<std::byte> bytes(1 << 16);
  Address address = 0;
  call("cuMemHostRegister_v2", static_cast<void*>(bytes.data()), std::size_t{4096}, 2U);
  call("cuMemHostGetDevicePointer_v2", &address, static_cast<void*>(bytes.data()), 0U);
  return "host pointer usable " + attribute(91) +
         (address == reinterpret_cast<Address>(bytes.data()) ? ", the same" : ", another");
}

int register_bytes(void* first, std::size_t size) {
  return call("cuMemHostRegister_v2", first, size, 2U);
}
std::string register_host_memory_of_the_driver() {
  make_context();
  void* host = nullptr;
  call("cuMemHostAlloc", &host, std::size_t{4096}, 2U);
  return name_of(register_bytes(host, 4096));
}
std::string register_managed() {
  make_context();
  return name_of(register_bytes(reinterpret_cast<void*>(make_managed()), 64));
}
alignas(4096) std::byte pages[8192];
std::string register_a_part_again() {
  make_context();
  register_bytes(pages, 4096);
  return name_of(register_bytes(pages, 8192));
}
std::string register_twice_in_a_page() {
  make_context();
  register_bytes(pages, 100);
  return name_of(register_bytes(pages + 200, 100));
}
std::string host_pointer_of_managed() {
  make_context();
  Address address = 0;
  return name_of(
      call("cuMemHostGetDevicePointer_v2", &address, reinterpret_cast<void*>(make_managed()), 0U));
}

// cuda.h does not specify this for cuModuleUnload.
std::string unload_in_flight() {
  make_context();
  Handle module = nullptr;
  const Handle stream = make_stream(), store = load_kernel("store", &module);
  const Address a = make_words(1);
  std::string answer;
  {
    Gate gate(stream);
    launch_store(store, a, 3, stream);
    const int result = call("cuModuleUnload", module);
    answer = name_of(result) + ", " + gate.what_the_call_did();
  }
  return answer + ", writes " + std::to_string(read_word(a));
}

std::string launch_of_no_block() {
  make_context();
  const Handle store = load_kernel("store");
  Address a = make_words(1);
  std::uint32_t value = 1;
  void* parameters[] = {&a, &value};
  return name_of(call("cuLaunchKernel", store, 0U, 1U, 1U, 1U, 1U, 1U, 0U,
                      static_cast<Handle>(nullptr), static_cast<void**>(parameters),
                      static_cast<void**>(nullptr)));
}

constexpr Probe kMemoryProbes[] = {
    {"8", "cuMemFree of stream-ordered memory in flight", "success, does not wait", &free_pooled},
    {"8b", "cuMemFree of other memory in flight", "success, waits for the work", &free_plain},
    {"9", "attributes of a pointer after cuMemFreeAsync", "INVALID_VALUE", &attributes_after_free},
    {"13", "wait for a value that another stream writes later", "success, writes 9",
     &wait_for_a_later_write},
    {"13b", "write a value to managed memory", "INVALID_VALUE", &value_in_managed_memory},
    {"14", "read managed memory after a flag in pinned memory", "concurrent access 1, reads 5",
     &managed_after_a_flag},
    {"15", "touch managed memory while a kernel is in flight", "concurrent access 1, reads 4",
     &managed_in_flight},
    {"16", "cuGetProcAddress of an unknown name", "success, null, status 1", &unknown_name},
    {"16b", "cuGetProcAddress of a later version", "INVALID_VALUE", &version_of_the_future},
    {"17", "retain the primary context twice and release it once",
     "one context, not current, active 1", &primary_context},
    {"18", "the current context of another thread", "none", &current_in_another_thread},
    {"19", "cuMemcpyHtoDAsync of pageable memory behind work, then a change of it",
     "does not wait, writes 5", &copy_from_pageable},
    {"19b", "cuMemcpyDtoHAsync to pageable memory behind work", "waits for the work, reads 0",
     &copy_to_pageable},
    {"20", "after a fault",
     "ILLEGAL_ADDRESS, allocation ILLEGAL_ADDRESS, new context ILLEGAL_ADDRESS", &after_a_fault},
    {"20b", "after an allocation that is too large", "OUT_OF_MEMORY, then success",
     &after_out_of_memory},
    {"20c", "another stream's event and the stream, after a fault",
     "event ILLEGAL_ADDRESS, stream ILLEGAL_ADDRESS", &queries_after_a_fault},
    {"20d", "release everything after a fault",
     "memory ILLEGAL_ADDRESS, stream ILLEGAL_ADDRESS, event ILLEGAL_ADDRESS, module "
     "ILLEGAL_ADDRESS, context success",
     &releases_after_a_fault},
    {"20e", "reset the primary context after a fault and retain it again",
     "success, then ILLEGAL_ADDRESS", &reset_after_a_fault},
    {"23", "register host memory twice", "HOST_MEMORY_ALREADY_REGISTERED", &register_twice},
    {"23b", "address of registered memory on the device", "host pointer usable 1, the same",
     &registered_address},
    {"23c", "register memory of cuMemHostAlloc", "INVALID_VALUE",
     &register_host_memory_of_the_driver},
    {"23d", "register managed memory", "INVALID_VALUE", &register_managed},
    {"23e", "register a range of which a part is registered", "HOST_MEMORY_ALREADY_REGISTERED",
     &register_a_part_again},
    {"23f", "register two ranges of one page", "success", &register_twice_in_a_page},
    {"23g", "cuMemHostGetDevicePointer of managed memory", "INVALID_VALUE",
     &host_pointer_of_managed},
    {"24", "unload a module in flight", "success, waits for the work, writes 3", &unload_in_flight},
    {"26", "launch a grid without blocks", "INVALID_VALUE", &launch_of_no_block},
};

}  // namespace

std::span<const Probe> memory_probes() { return kMemoryProbes; }

}  // namespace halyard::testing::probe
