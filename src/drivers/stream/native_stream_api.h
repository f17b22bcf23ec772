// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NativeStreamApi: streams, events, contexts and commands of CUDA and HIP (native_calls.h). The
// contracts are those of api.h and completion.h.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <string>

#include "base/format.h"
#include "drivers/stream/api.h"
#include "drivers/stream/device_api.h"
#include "drivers/stream/native_calls.h"
#include "halyard/base/result.h"
#include "halyard/hal/executable.h"

namespace halyard::inline v0::stream {

// hy-kernarg-1 as the `extra` of a launch, valid while this object and the arguments live. `end` is
// the mark that terminates the list.
class PackedArguments {
 public:
  PackedArguments(std::span<const std::byte> arguments, std::uintptr_t end) noexcept
      : size_(arguments.size()),
        extra_{mark(1), const_cast<std::byte*>(arguments.data()), mark(2), &size_, mark(end)} {}
  PackedArguments(const PackedArguments&) = delete;
  PackedArguments& operator=(const PackedArguments&) = delete;
  void** extra() noexcept { return size_ != 0 ? &extra_[0] : nullptr; }

 private:
  static void* mark(std::uintptr_t number) noexcept { return reinterpret_cast<void*>(number); }
  std::size_t size_;
  void* extra_[5];
};

template <class Api, class Names>
struct NativeStreamApi : NativeCalls<Api, Names> {
  using Calls = NativeCalls<Api, Names>;
  using Calls::call, Calls::check, Calls::check_on, Calls::status_of_call, Calls::self,
      Calls::pointer_to, Calls::address_of;
  using typename Calls::NativeResult;
  using typename Calls::Pointer;
  using typename Calls::Stream;
  using Event = typename Names::Event;
  using Context = typename Names::Context;
  using CaptureMode = typename Names::CaptureMode;
  using Module = typename Names::Module;
  using Function = NativeKernel<typename Names::Function>;
  using Flag = HostMemory;  // pinned
  static constexpr auto kRelaxedCapture = static_cast<CaptureMode>(2);

  // --- streams and events

  Status create_stream(Stream& stream, int priority) const noexcept {
    return check(Names::StreamCreateWithPriority, &stream, 1u /* non-blocking */, priority);
  }
  // Submitted work cannot be stopped, but an idle stream counts as stopped. After a device fault no
  // query can report that the work has ended: kStillRunning.
  timeline::Abandoned stop(Stream stream) const noexcept {
    const NativeResult result = call(Names::StreamQuery, stream);
    return result == Calls::kSuccess    ? timeline::Abandoned::kStopped
           : result == Calls::kNotReady ? timeline::Abandoned::kStopping
                                        : timeline::Abandoned::kStillRunning;
  }
  void destroy(Stream stream) const noexcept { (void)call(Names::StreamDestroy, stream); }
  Status query(Stream stream) const noexcept {
    const NativeResult result = call(Names::StreamQuery, stream);
    return result == Calls::kNotReady ? Status() : status_of_call(result, Names::StreamQuery);
  }
  Status create_event(Event& event) const noexcept {
    return check(Names::EventCreate, &event, Names::event_flags(self().sleeps_on_events));
  }
  void destroy(Event event) const noexcept { (void)call(Names::EventDestroy, event); }
  Status record(Event event, Stream stream) const noexcept {
    return check_on(stream, Names::EventRecord, event, stream);
  }
  Result<bool> query(Event event) const noexcept {
    const NativeResult result = call(Names::EventQuery, event);
    if (result == Calls::kSuccess || result == Calls::kNotReady) return result == Calls::kSuccess;
    return status_of_call(result, Names::EventQuery);
  }
  Status wait(Stream stream, Event event) const noexcept {
    return check_on(stream, Names::StreamWaitEvent, stream, event, 0u);
  }
  Status call_host(Stream stream, HostFunction function, void* argument) const noexcept {
    return check_on(stream, Names::LaunchHostFunc, stream, function, argument);
  }
  // cuda.h, cuStreamIsCapturing: CUDA_ERROR_STREAM_CAPTURE_IMPLICIT for the legacy stream while a
  // blocking stream is captured, which is not invalidated.
  Status check_capture(Stream stream) const noexcept {
    auto status = typename Names::CaptureStatus{};
    const NativeResult result = call(Names::StreamIsCapturing, stream, &status);
    const bool is_implicit = result == Calls::kImplicitCapture;
    if (result != Calls::kSuccess && !is_implicit) {
      return status_of_call(result, Names::StreamIsCapturing);
    }
    if (!is_implicit && status == typename Names::CaptureStatus{}) return {};
    return error(StatusCode::kFailedPrecondition,
                 "{}: the stream is being captured{}; submit after {}StreamEndCapture",
                 Names::kDriver,
                 is_implicit ? ": it is the legacy stream, and a stream that it waits for is" : "",
                 Names::kPrefix);
  }

  Status synchronize(Event event) const noexcept { return check(Names::EventSynchronize, event); }
  Status create_flag(Flag& flag) const noexcept {
    HALYARD_RETURN_IF_ERROR(self().allocate_host(flag, sizeof(std::uint64_t)));
    flag.pointer = new (flag.pointer) std::uint64_t{0};
    return {};
  }
  void destroy(Flag flag) const noexcept { self().free_host(flag.pointer); }
  // By default a barrier precedes the write, so a host that reads the value sees all earlier writes
  // (CU_STREAM_WRITE_VALUE_DEFAULT, 0).
  Status write(Stream stream, Flag flag, std::uint64_t value) const noexcept {
    return check_on(stream, Names::StreamWriteValue64, stream, pointer_to(flag.address), value, 0u);
  }
  std::uint64_t read(Flag flag) const noexcept {
    return std::atomic_ref(*static_cast<std::uint64_t*>(flag.pointer))
        .load(std::memory_order_acquire);
  }

  // --- contexts

  Status current_context(Context& context) const noexcept {
    return check(Names::GetCurrent, &context);
  }
  Status set_current_context(Context context) const noexcept {
    return check(Names::SetCurrent, context);
  }
  Status exchange_capture_mode(CaptureMode& mode) const noexcept {
    return check(Names::ThreadExchangeStreamCaptureMode, &mode);
  }
  Status priority_range(int& least, int& greatest) const noexcept {
    return check(Names::GetStreamPriorityRange, &least, &greatest);
  }

  // --- commands

  Status fill(Stream stream, std::uint64_t target, std::uint32_t pattern,
              std::uint32_t pattern_size, std::uint64_t size) const noexcept {
    const Pointer pointer = pointer_to(target);
    switch (pattern_size) {
      case 1:
        return check_on(stream, Names::MemsetD8Async, pointer, static_cast<unsigned char>(pattern),
                        size, stream);
      case 2:
        return check_on(stream, Names::MemsetD16Async, pointer,
                        static_cast<unsigned short>(pattern), size / 2, stream);
      default:
        return check_on(stream, Names::MemsetD32Async, pointer, pattern, size / 4, stream);
    }
  }
  // Bytes of updates lie in pinned memory (Device::needs_host_blocks), which copies reach by the
  // host's address.
  Status copy_in(Stream stream, std::uint64_t target, const std::byte* source,
                 std::uint64_t size) const noexcept {
    return self().copy(stream, target, reinterpret_cast<std::uintptr_t>(source), size);
  }
  Status find_function(Module module, const kernel::KernelInfo& kernel,
                       Function& function) const noexcept {
    const std::string name(kernel.name);
    const NativeResult result =
        call(Names::ModuleGetFunction, &function.handle, Names::handle_of(module), name.c_str());
    if (result == Calls::kNotFound) {
      return Status(StatusCode::kDataLoss,
                    base::format("{}: the image has no entry {}", Names::kDriver, name),
                    Names::native_name(result));
    }
    HALYARD_RETURN_IF_ERROR(status_of_call(result, Names::ModuleGetFunction));
    std::ranges::copy(kernel.workgroup_size, function.workgroup_size);
    function.dynamic_shared_bytes = kernel.dynamic_shared_bytes;
    return {};
  }
  Result<hal::FunctionResources> resources(const Function& function) const noexcept {
    hal::FunctionResources found;
    Status status;
    const auto read = [&](int attribute) {
      int value = 0;
      if (status.ok()) {
        status = check(Names::FuncGetAttribute, &value,
                       static_cast<typename Names::FunctionAttribute>(attribute), function.handle);
      }
      return static_cast<std::uint32_t>(std::max(0, value));
    };
    found.registers = read(4);
    found.shared_bytes = read(1) + function.dynamic_shared_bytes;
    found.local_bytes = read(3);
    HALYARD_RETURN_IF_ERROR(status);
    const auto& items = function.workgroup_size;
    int groups = 0;
    HALYARD_RETURN_IF_ERROR(check(Names::MaxActiveBlocks, &groups, function.handle,
                                  static_cast<int>(items[0] * items[1] * items[2]),
                                  std::size_t{function.dynamic_shared_bytes}));
    found.groups_per_worker = static_cast<std::uint32_t>(std::max(0, groups));
    return found;
  }
  Status launch(Stream stream, const Function& function, const std::uint32_t (&groups)[3],
                std::span<const std::byte> arguments) const noexcept {
    PackedArguments packed(arguments, Names::kLaunchEnd);
    const auto& items = function.workgroup_size;
    return check_on(stream, Names::LaunchKernel, function.handle, groups[0], groups[1], groups[2],
                    items[0], items[1], items[2], function.dynamic_shared_bytes, stream,
                    static_cast<void**>(nullptr), packed.extra());
  }
};

}  // namespace halyard::inline v0::stream
