// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fake: a library of streams such as libcuda, on the host: a thread for each stream, events,
// contexts, and host functions on a thread of their context. The calls follow CUDA's driver API;
// misuse that CUDA leaves undetected is refused and counted (violations()).
#pragma once

#include <cstddef>
#include <cstdint>

#include "halyard/base/status.h"
#include "kernel/cpu_abi.h"
#include "kernel/hyx.h"

namespace halyard::inline v0::stream::fake {

// Values of CUresult.
enum class Code : int {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kInvalidContext = 201,
  kNoBinary = 209,         // no image for this device
  kOperatingSystem = 304,  // a thread could not be started
  kInvalidHandle = 400,
  kNotFound = 500,
  kNotReady = 600,
  kLaunchFailed = 719,
  kNotPermitted = 800,
  kCaptureUnsupported = 900,
  kUnknown = 999,
};
const char* name_of(Code code) noexcept;

enum class CaptureMode : int { kGlobal, kThreadLocal, kRelaxed };

class Context;
class Stream;
class Event;
class Module;
using HostFunction = void (*)(void* argument);
using Address = std::uint64_t;

struct Function {
  kernel::CpuEntry entry = nullptr;
  std::uint32_t binding_count = 0;
};

inline constexpr unsigned kMaxDevices = 64;

// --- contexts: of no current context -------------------------------------------------------------

Code retain_primary_context(unsigned ordinal, Context*& context) noexcept;
// The last release ends the context and destroys all objects in it.
Code release_primary_context(unsigned ordinal) noexcept;
Code get_current_context(Context*& context) noexcept;
Code set_current_context(Context* context) noexcept;
Code exchange_capture_mode(CaptureMode& mode) noexcept;

// --- streams and events --------------------------------------------------------------------------

// `unstoppable`: stop() does not stop running work.
Code create_stream(Stream*& stream, bool unstoppable) noexcept;
Code synchronize(Stream* stream) noexcept;  // waits until it has no work
// Stops a stream, which no vendor's library can. Returns kNotReady while the stream still runs. Any
// other code means that its end will not be reported.
Code stop(Stream* stream) noexcept;
Code destroy(Stream* stream) noexcept;
Code query(Stream* stream) noexcept;  // kNotReady: it has work
Code create_event(Event*& event) noexcept;
Code destroy(Event* event) noexcept;
Code record(Event* event, Stream* stream) noexcept;
Code query(Event* event) noexcept;
Code wait(Stream* stream, Event* event) noexcept;
Code launch_host_function(Stream* stream, HostFunction function, void* argument) noexcept;

// --- memory and kernels --------------------------------------------------------------------------

Code allocate(Address& address, std::uint64_t size) noexcept;
Code free(Address address) noexcept;
Code fill_async(Address target, std::uint32_t pattern, std::uint32_t pattern_size,
                std::uint64_t size, Stream* stream) noexcept;
Code copy_async(Address target, Address source, std::uint64_t size, Stream* stream) noexcept;
// `why` reports, like a log, the defect of the image.
Code load_module(Module*& module, const kernel::Hyx& file, Status& why) noexcept;
Code unload(Module* module) noexcept;
Code get_function(Function& function, Module* module, const kernel::KernelInfo& kernel,
                  Status& why) noexcept;
Code launch_kernel(const Function& function, const std::uint32_t (&groups)[3],
                   const std::byte* arguments, std::size_t size, Stream* stream) noexcept;
// The groups are read from `counts` when the kernel runs.
Code launch_kernel_indirect(const Function& function, Address counts, const std::byte* arguments,
                            std::size_t size, Stream* stream) noexcept;

// --- for tests -----------------------------------------------------------------------------------

// The number of illegal calls since the process began, and the latest of them.
std::uint64_t violations() noexcept;
const char* latest_violation() noexcept;
// Until the primary context of that device is released, every call in it fails and no host function
// is called; work that is already in streams continues.
void fault(unsigned ordinal) noexcept;
// Begins a stream capture in global mode, as another user of the library may: unsafe calls then
// fail on threads that are not in relaxed mode.
void begin_capture() noexcept;
void end_capture() noexcept;
// Counts free(), destroy() and unload() on a thread (base::this_thread()) from now on.
void watch_frees(std::uint64_t thread) noexcept;
std::uint64_t watched_frees() noexcept;

}  // namespace halyard::inline v0::stream::fake
