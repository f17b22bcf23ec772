// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// SignalPool: the signals of a device that stores their values itself. It cuts memory that the
// device writes into slots of SignalWords; a released signal's slot is used again.
//
// A device that stores a value wakes no thread: its driver calls look(), from the thread that
// handles its interrupts or that polls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/mutex.h"
#include "halyard/base/ref.h"
#include "halyard/hcq/device.h"
#include "hcq/signal_object.h"
#include "hcq/timeline.h"
#include "hcq/word_list.h"

namespace halyard::inline v0::hcq {

// Functions are safe from any thread. Signals keep the pool, so they may outlive the device.
class SignalPool final : public RefCounted, public detail::SignalSource {
 public:
  // The bytes that it takes from `memory` at a time.
  static constexpr std::size_t kPage = 4096;

  // `clock`: of the times that the device writes.
  SignalPool(std::unique_ptr<WordList::BlockMemory> memory, const DeviceClock& clock) noexcept
      : memory_(std::move(memory)), clock_(clock) {}

  // Null if there is no memory.
  Ref<SignalObject> make(std::uint64_t initial) noexcept override;

  // SignalObject::look() of all its signals. What is notified must not make or release a signal.
  void look() noexcept;

 private:
  class DeviceSignal;
  struct Slot {
    SignalWords* words;
    std::uint64_t address;
  };
  bool add_page() noexcept;

  const std::unique_ptr<WordList::BlockMemory> memory_;
  const DeviceClock clock_;
  base::Mutex mutex_;
  std::vector<Slot> free_;  // has capacity for all slots
  std::size_t slots_ = 0;
  DeviceSignal* first_ = nullptr;  // of all signals
};

}  // namespace halyard::inline v0::hcq
