// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "conformance/context.h"

#include <algorithm>
#include <cstring>

#include "conformance/suites.h"

namespace halyard::inline v0::conformance {
namespace {

constexpr std::size_t kMaxFailuresShown = 8;
constexpr std::size_t kMaxDump = 4096;  // characters

}  // namespace

hal::Queue Context::queue(std::size_t device, hal::QueueKind kind) const {
  if (queues_.empty()) return devices_[device].queue(kind);
  return queues_[2 * device + (kind == hal::QueueKind::kCopy ? 1 : 0)];
}

std::vector<hal::Semaphore> Context::semaphores(std::size_t count) const {
  std::vector<hal::Semaphore> made;
  made.reserve(count);
  for (std::size_t i = 0; i < count; ++i) made.push_back(semaphore());
  return made;
}

hal::Buffer Context::buffer(std::uint64_t size, std::uint8_t byte, std::size_t device) const {
  hal::Buffer made =
      devices_[device].allocate({.size = size, .memory = hal::MemoryType::kHostVisible}).value();
  std::ranges::fill(made.map().value().bytes(), std::byte{byte});
  return made;
}

const hal::Executable& Context::executable(std::size_t device) {
  if (executables_.size() <= device) executables_.resize(device + 1);
  hal::Executable& loaded = executables_[device];
  if (!loaded) {
    if (options_.kernels.empty()) {
      loaded = devices_[device].load(built_in_kernels(), "conformance.hyx").value();
    } else {
      loaded = devices_[device].load(options_.kernels).value();
    }
  }
  return loaded;
}

void Context::fail(const char* file, int line, std::string text) {
  const char* const slash = std::strrchr(file, '/');
  const std::scoped_lock lock(mutex_);
  if (failure_count_++ >= kMaxFailuresShown) return;
  if (!failures_.empty()) failures_ += '\n';
  failures_ += fmt::format("{}:{}: {}", slash != nullptr ? slash + 1 : file, line, text);
}

std::string Context::failures() const {
  const std::scoped_lock lock(mutex_);
  if (failure_count_ <= kMaxFailuresShown) return failures_;
  return fmt::format("{}\nand {} more", failures_, failure_count_ - kMaxFailuresShown);
}

void Context::needs_access(std::size_t user, std::size_t owner) const {
  if (devices_[user].can_access(devices_[owner])) return;
  throw Skip{fmt::format("{} (device {} of the case) cannot use memory of {} (device {})",
                         devices_[user].info().uri, user, devices_[owner].info().uri, owner)};
}

void Context::needs_indirect_dispatch() const {
  if (devices_[0].info().limits.indirect_dispatch) return;
  throw Skip{fmt::format("{} does not read group counts from memory", devices_[0].info().uri)};
}

std::string Context::dump() const {
  if (devices_.empty()) return {};
  std::string text = devices_[0].dump_timelines();
  if (text.size() > kMaxDump) text.resize(kMaxDump);
  return text;
}

std::string show(std::string_view value) { return fmt::format("\"{}\"", value); }
std::string show(double value) { return fmt::format("{}", value); }
std::string show(std::int64_t value) { return fmt::format("{}", value); }
std::string show(std::uint64_t value) { return fmt::format("{}", value); }

void verify_code(Context& t, const char* file, int line, const char* text, const Status& status,
                 StatusCode expected) {
  if (status.code() == expected) return;
  t.fail(file, line,
         fmt::format("{} is {}, expected {}", text, status.to_string(), to_string(expected)));
}

hal::BindingRef Recording::ref(const hal::Buffer& buffer, std::uint64_t offset,
                               std::uint64_t length) {
  if (!t_.indirect()) return hal::BufferRange(buffer, offset, length);
  const auto index =
      static_cast<std::uint32_t>(std::ranges::find(buffers_, buffer) - buffers_.begin());
  if (index == buffers_.size()) {
    buffers_.push_back(buffer);
    table_.emplace_back(buffer);
  }
  return hal::slot(index, offset, length);
}

void Recording::run() { check(queue_.execute_and_wait(finish(), {.bindings = table_}, kWatchdog)); }

}  // namespace halyard::inline v0::conformance
