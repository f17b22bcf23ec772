// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hal/memory/memory.h"

#include <new>
#include <utility>

#include "base/atomic.h"
#include "timeline/effects.h"

namespace halyard::inline v0::hal {
namespace {

constinit base::Atomic<std::uint64_t> last_serial{0};

}  // namespace

Memory::Memory(std::uint64_t size, MemoryType type, std::byte* host_pointer,
               std::uint64_t device_address, const void* domain) noexcept
    : size_(size),
      type_(type),
      host_pointer_(host_pointer),
      device_address_(device_address),
      root_(this),
      serial_(last_serial.fetch_add(1, std::memory_order_relaxed) + 1),
      domain_(domain) {}

void Memory::take_serial() noexcept {
  serial_ = last_serial.fetch_add(1, std::memory_order_relaxed) + 1;
}

// Calls the release function of imported memory after its last use. A lane drops memory while it
// holds its retire role, and the user's function may query the progress of that lane. So the call
// is an effect, as callbacks are (rule 7).
class MemoryOwner final : public timeline::WorkItem {
 public:
  explicit MemoryOwner(const detail::MemoryRelease& release) noexcept : release_(release) {}

  // Called after the last use.
  void tell() noexcept {
    if (timeline::active_list != nullptr) return timeline::EffectScope::add(*this);
    run(false);
  }

 private:
  void run(bool) noexcept override {
    release_.call(release_.state);
    release_.destroy(release_.state);
    delete this;
  }

  const detail::MemoryRelease release_;
};

void MemoryCounters::note(std::uint64_t now_bytes) noexcept {
  if (tracer == nullptr) return;
  trace::Record record;
  record.kind = trace::Record::Kind::kMemory;
  record.name = device;
  record.value = now_bytes;
  record.at = tracer->now();
  trace::note(*tracer, record);
}

bool Memory::on_release(const detail::MemoryRelease& release) noexcept {
  owner_ = new (std::nothrow) MemoryOwner(release);
  return owner_ != nullptr;
}

void Memory::count_in(Ref<MemoryCounters> counters) noexcept {
  if (!counters) return;  // creating the counters failed
  counters_ = std::move(counters);
  if (owner_ != nullptr) {
    counters_->imported_bytes.fetch_add(size_, std::memory_order_relaxed);
    return;
  }
  counters_->count.fetch_add(1, std::memory_order_relaxed);
  counters_->total_count.fetch_add(1, std::memory_order_relaxed);
  const std::uint64_t bytes = counters_->bytes.fetch_add(size_, std::memory_order_relaxed) + size_;
  counters_->note(bytes);
  std::uint64_t peak = counters_->peak_bytes.load(std::memory_order_relaxed);
  while (peak < bytes &&
         !counters_->peak_bytes.compare_exchange_weak(peak, bytes, std::memory_order_relaxed)) {
  }
}

void Memory::place(Memory& root, std::uint64_t offset) noexcept {
  root_ = &root;
  root_offset_ = offset;
  host_pointer_ = root.host_pointer_ != nullptr ? root.host_pointer_ + offset : nullptr;
  device_address_ = root.device_address_ != 0 ? root.device_address_ + offset : 0;
}

void Memory::uncount() noexcept {
  if (counters_ && owner_ != nullptr) {
    counters_->imported_bytes.fetch_sub(size_, std::memory_order_relaxed);
  } else if (counters_) {
    counters_->count.fetch_sub(1, std::memory_order_relaxed);
    counters_->note(counters_->bytes.fetch_sub(size_, std::memory_order_relaxed) - size_);
  }
}

void Memory::notify_owner() noexcept {
  if (owner_ != nullptr) owner_->tell();
}

}  // namespace halyard::inline v0::hal
