// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// AsyncProgram: the invariants that hold when the hosts have ended.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <ranges>
#include <utility>

#include "halyard/hal/pool.h"
#include "simulation/async/async_program.h"

namespace halyard::inline v0::sim {
namespace {

// Longer than the duration of all work in flight, and longer than any completion stays unnoticed.
constexpr Nanoseconds kLongest = 10'000'000'000;

}  // namespace

// Drops all handles, in any order. An errand that resumes meanwhile may still put a tensor into a
// slot.
void AsyncProgram::drop_handles() {
  const bool abrupt = random_.one_in(2);
  const std::uint64_t first = abrupt ? random_.below(4) : 0;
  for (std::uint64_t i = 0; i < 4; ++i) {
    switch ((first + i) % 4) {
      case 0:
        if (abrupt) break;
        end_errands();
        drop_slots();
        wait_for_memory();
        break;
      case 1: {
        const async::Runtime last = std::exchange(runtime_, {});
        break;
      }
      case 2: {
        const auto pools = std::exchange(small_pools_, {});
        const auto last = std::exchange(devices_, {});
        break;
      }
      default:
        drop_slots();
        end_errands();
        drop_slots();
    }
  }
}

void AsyncProgram::drop_slots() {
  for (auto& recording : recordings_) {
    const auto last = std::exchange(recording, nullptr);
  }
  for (Held& held : held_) {
    const Held last = std::exchange(held, {});
  }
  for (Array& slot : slots_) {
    const Array last = std::exchange(slot, {});
  }
}

// Destroys each errand if it can be destroyed now, or waits for it. Errands may begin others.
void AsyncProgram::end_errands() {
  for (std::size_t i = 0; i < errands_.size(); ++i) {
    if (!random_.one_in(3) || !errands_[i].destroy()) errands_[i].wait_for_end();
  }
}

// Waits until the memory of all tensors, which are destroyed, has returned to the pools, which
// happens once the devices have finished with it. Without demand for memory the library need not
// notice that, but trimming a pool checks the progress of its device.
void AsyncProgram::wait_for_memory() {
  // Work that waits natively for a lost device keeps its memory as long as its own device is open
  // (rule 27).
  if (std::ranges::count(lost_, true) != 0 || plan_.gpu.fails() ||
      std::ranges::any_of(failed_calls_, std::identity())) {
    return;
  }
  std::vector<hal::Pool> pools = small_pools_;
  for (const hal::Device& device : devices_) {
    for (const auto memory : {hal::MemoryType::kDeviceLocal, hal::MemoryType::kHostLocal}) {
      pools.push_back(device.default_pool(memory));
    }
  }
  const auto is_used = [](const hal::Pool& pool) { return pool.statistics().used_bytes != 0; };
  Scheduler& scheduler = *Scheduler::current();
  const Nanoseconds until = scheduler.now() + kLongest;
  while (std::ranges::any_of(pools, is_used)) {
    check(scheduler.now() < until, "a tensor's memory does not return to its pool");
    // Check all pools, because work of a device may hold memory of another device.
    for (const hal::Pool& pool : pools) check(pool.trim().ok(), "a pool cannot be trimmed");
    scheduler.sleep_for(1'000'000);
  }
}

void AsyncProgram::check_contents(const Tree& tree, const Contents& read,
                                  const Contents& expected) const {
  check(read.size() == expected.size(),
        fmt::format("tree {}: {} elements, not {}", tree.number, read.size(), expected.size()));
  const auto [wrong, right] = std::ranges::mismatch(read, expected);
  if (wrong == read.end()) return;
  check(false, fmt::format("tree {}: element {} of {} is {:#x}, not {:#x}", tree.number,
                           wrong - read.begin(), read.size(), *wrong, *right));
}

template <class F>
bool AsyncProgram::any_device(const Tree& tree, F&& holds) const {
  for (std::uint32_t device = 0; device < plan_.devices; ++device) {
    if ((tree.devices >> device & 1) != 0 && holds(device)) return true;
  }
  return false;
}

// A failed native call belongs to one submission, so it affects one tree and its dependents.
void AsyncProgram::check_failures() const {
  std::vector<std::uint32_t> left = failed_calls_;
  for (const Tree& tree : trees_) {
    if (tree.outcome != Tree::Outcome::kFailed) continue;
    const StatusCode code = tree.status.code();
    const bool inherited = inherits(tree, code);
    check(inherited || may_cause(tree, code),
          fmt::format("tree {} failed for no reason: {}", tree.number, tree.status.to_string()));
    if (inherited || code != StatusCode::kResourceExhausted || may_be_exhausted(tree)) {
      continue;
    }
    // The message names the device of the call. A failed slab allocation fails all trees that wait
    // for the slab.
    const std::string_view message = tree.status.message();
    const bool of_slab = message.find(": allocate: ") != std::string_view::npos;
    const auto take = [&](std::uint32_t device) {
      if (plan_.is_gpu(device)) return plan_.may_refuse(device);
      const std::uint32_t before = plan_.has_gpu() ? plan_.gpu.devices : 0;
      if (message.find(fmt::format("sim{}: ", device - before)) == std::string_view::npos)
        return false;
      return of_slab ? failed_calls_[device] != 0 : left[device] != 0 && left[device]-- != 0;
    };
    check(any_device(tree, take), fmt::format("tree {} failed for a call that was another's: {}",
                                              tree.number, tree.status.to_string()));
  }
}

// Whether `tree` may have failed with `code` because of another tree, which was to write tensors
// that it uses or to read tensors that it writes. The outcome of a tree that no actor awaited to
// its end is unknown. A completed tree may have passed on failed tensors that it did not access.
bool AsyncProgram::inherits(const Tree& tree, StatusCode code) const {
  std::vector<bool> seen(trees_.size());
  std::vector<const Tree*> left = tree.operands;
  while (!left.empty()) {
    const Tree& other = *left.back();
    left.pop_back();
    if (seen[other.number]) continue;
    seen[other.number] = true;
    if (other.outcome != Tree::Outcome::kDone && may_cause(other, code)) return true;
    left.insert(left.end(), other.operands.begin(), other.operands.end());
  }
  return false;
}

// Whether `tree` may have failed with `code` by itself.
bool AsyncProgram::may_cause(const Tree& tree, StatusCode code) const {
  const auto failed_call = [&](std::uint32_t device) {
    return failed_calls_[device] != 0 || (plan_.is_gpu(device) && plan_.may_refuse(device));
  };
  const auto lost = [&](std::uint32_t device) {
    return lost_[device] || failed_call(device) ||
           (plan_.is_gpu(device) && plan_.may_be_lost(device));
  };
  switch (code) {
    case StatusCode::kDeviceLost:
      return any_device(tree, lost);  // a fault at a marker is a loss
    case StatusCode::kUnavailable:    // it waits for another device that is lost (rule 27)
      return std::ranges::any_of(std::views::iota(0u, plan_.devices), lost);
    case StatusCode::kResourceExhausted:
      return any_device(tree, failed_call) || may_be_exhausted(tree);
    case StatusCode::kCancelled:  // it was abandoned, and found no memory
      return (tree.stop.stop_requested() || tree.status.code() != StatusCode::kCancelled) &&
             may_cause(tree, StatusCode::kResourceExhausted);
    case StatusCode::kDataLoss:  // or an image that a call of the library refuses
      return tree.fails || any_device(tree, [&](std::uint32_t device) {
               return plan_.is_gpu(device) && plan_.may_refuse(device);
             });
    default:
      return false;
  }
}

bool AsyncProgram::may_be_exhausted(const Tree& tree) const {
  return tree.allocates_much || plan_.small_backlog() || (plan_.tight && tree.allocates);
}

}  // namespace halyard::inline v0::sim
