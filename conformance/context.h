// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Context: the devices, queues, kernels and expectations of one case.
//
// A failed expectation is recorded with its place and values, and the case continues. Any thread
// may verify expectations. A case that cannot continue lets Result::value() or check() throw.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "conformance/conformance.h"
#include "halyard/halyard.h"

namespace halyard::inline v0::conformance {

// The deadline of every wait: far beyond the time of a case on a loaded machine under a sanitizer.
inline constexpr std::chrono::seconds kWatchdog{20};
// How long a case watches for an event that must not happen.
inline constexpr std::chrono::milliseconds kAWhile{2};

// Thrown by a case to end as skipped.
struct Skip {
  std::string reason;
};

// One combination of the values that a case varies over.
struct Variant {
  hal::QueueKind kind = hal::QueueKind::kCompute;
  bool indirect = false;
  bool bound = false;
};

class Context {
 public:
  // `queues`: the compute and the copy queue of each device, or none for their own.
  Context(std::vector<hal::Device> devices, std::vector<hal::Queue> queues, const Options& options,
          const Variant& variant)
      : devices_(std::move(devices)),
        queues_(std::move(queues)),
        options_(options),
        variant_(variant) {}

  // There are at least two devices, of one runtime.
  const hal::Device& device(std::size_t index = 0) const { return devices_[index]; }
  const std::string& uri() const noexcept { return options_.uri; }
  // True if both devices use each other's memory.
  bool shares_memory() const noexcept {
    return devices_[0].can_access(devices_[1]) && devices_[1].can_access(devices_[0]);
  }
  // Skips the case where device `user` cannot use memory of device `owner`.
  void needs_access(std::size_t user, std::size_t owner) const;
  // Skips the case where dispatches do not read their counts from memory.
  void needs_indirect_dispatch() const;
  // Drops the case's handles of its devices.
  void drop_devices() {
    executables_.clear();
    queues_.clear();
    devices_.clear();
  }

  // The queue of the kind that the case varies over; the compute queue if it does not.
  hal::Queue queue(std::size_t device = 0) const { return queue(device, variant_.kind); }
  hal::Queue compute(std::size_t device = 0) const {
    return queue(device, hal::QueueKind::kCompute);
  }
  hal::Queue copy_queue(std::size_t device = 0) const {
    return queue(device, hal::QueueKind::kCopy);
  }
  // Every queue of both devices.
  std::vector<hal::Queue> queues() const {
    return {compute(0), copy_queue(0), compute(1), copy_queue(1)};
  }
  hal::QueueKind kind() const noexcept { return variant_.kind; }
  bool indirect() const noexcept { return variant_.indirect; }
  bool bound() const noexcept { return variant_.bound; }

  // The numbers of repetitions and of threads, scaled by Options::stress.
  std::uint32_t rounds(std::uint32_t count) const noexcept { return count * options_.stress; }
  std::uint32_t threads(std::uint32_t count) const noexcept {
    return count * std::min(options_.stress, 4u);
  }

  hal::Semaphore semaphore(std::uint64_t initial = 0) const {
    return devices_[0].create_semaphore(initial).value();
  }
  std::vector<hal::Semaphore> semaphores(std::size_t count) const;

  // Allocates host-visible memory and sets every byte to `byte`.
  hal::Buffer buffer(std::uint64_t size, std::uint8_t byte = 0, std::size_t device = 0) const;
  // Allocates host-visible memory with these elements.
  template <class T>
  hal::Buffer buffer_of(std::span<const T> values, std::size_t device = 0) const {
    hal::Buffer made = buffer(values.size_bytes(), 0, device);
    std::copy(values.begin(), values.end(), made.map().value().template as<T>().begin());
    return made;
  }

  // The suite's kernels, loaded for a device on first use.
  const hal::Executable& executable(std::size_t device = 0);
  hal::Function kernel(std::string_view name, std::size_t device = 0) {
    return executable(device).function(name).value();
  }

  // Submits by `submit(SubmitInfo)` and waits until the submission ends. Throws its error.
  template <class F>
  void finish(F&& submit) const {
    const hal::Semaphore done = semaphore();
    check(submit(hal::SubmitInfo{.signal = {{done, 1}}}));
    check(done.wait(1, kWatchdog));
  }

  // Yields until `holds()`. Past the watchdog's time it records a failure with the dump.
  template <class F>
  bool until(F&& holds, const char* file, int line, const char* text) {
    const auto end = std::chrono::steady_clock::now() + kWatchdog;
    while (!holds()) {
      if (std::chrono::steady_clock::now() >= end) {
        fail(file, line, fmt::format("never came true: {}\n{}", text, dump()));
        return false;
      }
      std::this_thread::yield();
    }
    return true;
  }

  void fail(const char* file, int line, std::string text);
  // Empty if all expectations held.
  std::string failures() const;

 private:
  hal::Queue queue(std::size_t device, hal::QueueKind kind) const;
  std::string dump() const;

  std::vector<hal::Device> devices_;
  std::vector<hal::Queue> queues_;
  const Options& options_;
  const Variant variant_;
  std::vector<hal::Executable> executables_;
  mutable std::mutex mutex_;
  std::string failures_;
  std::size_t failure_count_ = 0;
};

// A recording with direct references, or with slots of a binding table that execute() takes.
class Recording {
 public:
  explicit Recording(const Context& t, std::size_t device = 0)
      : t_(t), queue_(t.queue(device)), recorder_(t.device(device)) {}

  hal::Recorder* operator->() noexcept { return &recorder_; }
  hal::BindingRef ref(const hal::Buffer& buffer, std::uint64_t offset = 0,
                      std::uint64_t length = hal::kWholeSize);
  // The whole buffer, with an explicit length, which a copy between slots needs.
  hal::BindingRef whole(const hal::Buffer& buffer) { return ref(buffer, 0, buffer.size()); }

  // Ends the recording.
  hal::CommandBuffer finish() { return recorder_.finish().value(); }
  // The binding table for execute().
  const std::vector<hal::BufferRange>& table() const noexcept { return table_; }
  // Ends the recording, executes it once on Context::queue() and waits for that.
  void run();

 private:
  const Context& t_;
  hal::Queue queue_;
  hal::Recorder recorder_;
  std::vector<hal::BufferRange> table_;
  std::vector<hal::Buffer> buffers_;
};

// Threads, joined when this is destroyed: declare it after the objects that they use.
class Threads {
 public:
  template <class F>
  void start(F&& run) {
    threads_.emplace_back(std::forward<F>(run));
  }
  void join() { threads_.clear(); }

 private:
  std::vector<std::jthread> threads_;
};

// ---- Expectations

inline const Status& status_of(const Status& status) { return status; }
template <class T>
const Status& status_of(const Result<T>& result) {
  return result.status();
}

std::string show(std::string_view value);
std::string show(double value);
std::string show(std::int64_t value);
std::string show(std::uint64_t value);

template <class T>
std::string show_any(const T& value) {
  if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    return show(std::string_view(value));
  } else if constexpr (std::is_floating_point_v<T>) {
    return show(static_cast<double>(value));
  } else if constexpr (std::is_enum_v<T> || std::signed_integral<T>) {
    return show(static_cast<std::int64_t>(value));
  } else {
    return show(static_cast<std::uint64_t>(value));
  }
}

template <class A, class B>
[[gnu::noinline]] void verify_equal(Context& t, const char* file, int line, const char* text,
                                    const A& actual, const B& expected) {
  if constexpr (std::integral<A> && std::integral<B>) {
    if (std::cmp_equal(actual, expected)) return;
  } else {
    if (actual == expected) return;
  }
  t.fail(file, line,
         std::string(text) + " is " + show_any(actual) + ", expected " + show_any(expected));
}

void verify_code(Context& t, const char* file, int line, const char* text, const Status& status,
                 StatusCode expected);

// Macros, because they record place and text. `t` is the case's Context.
#define VERIFY(condition)                                     \
  do {                                                        \
    if (!(condition)) t.fail(__FILE__, __LINE__, #condition); \
  } while (false)

#define VERIFY_EQ(actual, expected) \
  ::halyard::conformance::verify_equal(t, __FILE__, __LINE__, #actual, (actual), (expected))

// A Status or a Result.
#define VERIFY_CODE(expression, expected)                                 \
  ::halyard::conformance::verify_code(t, __FILE__, __LINE__, #expression, \
                                      ::halyard::conformance::status_of(expression), (expected))

#define VERIFY_OK(expression) VERIFY_CODE(expression, ::halyard::StatusCode::kOk)

#define VERIFY_UNTIL(condition) t.until([&] { return (condition); }, __FILE__, __LINE__, #condition)

// The value of a semaphore that has not failed.
#define VERIFY_VALUE(semaphore, expected) VERIFY_EQ((semaphore).query().value(), (expected))

}  // namespace halyard::inline v0::conformance
