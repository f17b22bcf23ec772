// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How a lane observes that its markers are reached, and how sleeping waiters are woken:
//
//                    progress is read from    sleepers are woken by
//   kHostCallback    a query of an event      a host function after the event, in a second stream
//   kEvent           a query of an event      a thread of the lane that sleeps on the event
//   kFlag            a word in memory         the same thread
//
// Edges are events in every mode.
#pragma once

#include <concepts>
#include <cstdint>

#include "drivers/stream/api.h"
#include "halyard/base/status.h"

namespace halyard::inline v0::stream {

enum class CompletionMode : std::uint8_t { kHostCallback, kEvent, kFlag };

// The functions of a library that kEvent and kFlag need.
//
//   synchronize(e)    blocks until the latest record of `e` is reached, or its device has a fault
//   create_flag(f)    a word, initially 0, that streams write and the host reads.
//                     kResourceExhausted without memory
//   destroy(f)        precondition: no stream writes it any more
//   write(s, f, v)    sets `f` to `v` once all work issued to `s` before has completed. A thread
//                     that reads `v` sees what that work wrote
//   read(f)           makes no native call
template <class A>
concept CompletionApi =
    StreamApi<A> && std::copyable<typename A::Flag> &&
    requires(const A& api, typename A::Stream stream, typename A::Event event,
             typename A::Flag flag, typename A::Flag& new_flag, std::uint64_t value) {
      { api.synchronize(event) } noexcept -> std::same_as<Status>;
      { api.create_flag(new_flag) } noexcept -> std::same_as<Status>;
      { api.destroy(flag) } noexcept;
      { api.write(stream, flag, value) } noexcept -> std::same_as<Status>;
      { api.read(flag) } noexcept -> std::same_as<std::uint64_t>;
    };

// The flag of one lane; empty if the lane has none.
template <StreamApi Api>
class LaneFlag {
 public:
  bool used() const noexcept { return false; }
  Status open(const Api&) noexcept { return {}; }
  void close(const Api&) noexcept {}
  Status write(const Api&, typename Api::Stream, std::uint64_t) const noexcept { return {}; }
  std::uint64_t read(const Api&) const noexcept { return 0; }
};
template <CompletionApi Api>
class LaneFlag<Api> {
 public:
  bool used() const noexcept { return used_; }
  Status open(const Api& api) noexcept {
    Status status = api.create_flag(flag_);
    used_ = status.ok();
    return status;
  }
  void close(const Api& api) noexcept {
    if (used_) api.destroy(flag_);
  }
  Status write(const Api& api, typename Api::Stream stream, std::uint64_t value) const noexcept {
    return api.write(stream, flag_, value);
  }
  std::uint64_t read(const Api& api) const noexcept { return api.read(flag_); }

 private:
  typename Api::Flag flag_{};
  bool used_ = false;
};

}  // namespace halyard::inline v0::stream
