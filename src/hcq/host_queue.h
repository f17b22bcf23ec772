// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// HostQueue: a ring that accepts more than it holds. What does not fit waits in order in a bounded
// backlog, and moves on when the ring retires, on the thread that retires (timelines.md, rule 34).
//
// Kernel arguments live in a second ring, of bytes, which the packets of the first retire: a block
// is taken when its packet enters the ring and is free again when the packet is done.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/mutex.h"
#include "halyard/base/result.h"
#include "halyard/base/status.h"
#include "hcq/command_list.h"
#include "hcq/host_image.h"
#include "hcq/ring.h"
#include "hcq/ring_group.h"

namespace halyard::inline v0::hcq {

struct HostQueueLimits {
  std::size_t ring_packets = 1024;       // a power of two
  std::size_t kernargs_bytes = 1 << 18;  // a power of two, at least 16 KiB: three of the largest
  std::size_t backlog_packets = 1 << 16;
};

class HostQueue final : private RingFeeder {
 public:
  // `group` outlives the queue. kResourceExhausted.
  static Result<std::unique_ptr<HostQueue>> create(RingGroup& group,
                                                   const HostQueueLimits& limits = {});
  ~HostQueue();
  HostQueue(const HostQueue&) = delete;
  HostQueue& operator=(const HostQueue&) = delete;

  // All of `list` in order, or nothing: kResourceExhausted. Any thread; rings the doorbell.
  Status submit(const detail::CommandList& list) noexcept;
  // The same with one packet. The image lives until it was executed.
  Status submit(HostImage& image) noexcept;

  Ring& ring() noexcept { return *ring_; }

  // Ends it: see Ring::close(). The backlog is dropped.
  void close() noexcept;

 private:
  struct Submission {
    const detail::Command* commands;
    std::size_t count;
    const std::uint64_t* args;
    std::size_t args_count;
    std::size_t packets;
    const Ref<detail::Profile>& profile;
  };
  // One in the backlog: a copy, from a place on.
  struct Batch {
    Batch* next = nullptr;
    detail::Command* commands;
    std::uint64_t* args;
    std::size_t count;
    std::size_t done = 0;
    Ref<detail::Profile> profile;
  };
  static constexpr std::size_t kBlock = detail::kArgsBlock;

  HostQueue(RingGroup& group, const HostQueueLimits& limits) noexcept
      : group_(group), limits_(limits) {}
  void feed() noexcept override;
  void feed_locked() noexcept;
  Status submit(const Submission& submission) noexcept;
  bool fits(const Submission& submission) noexcept;
  bool push(const detail::Command& command, const std::uint64_t* args,
            const Ref<detail::Profile>& profile) noexcept;
  using Words = std::array<std::uint64_t, kPacketWords>;
  void publish(PacketKind kind, const Words& words, RefCounted* keeps) noexcept;
  void publish_timestamp(base::Atomic<Nanoseconds>& time,
                         const Ref<detail::Profile>& profile) noexcept;
  static Batch* copy(const Submission& submission) noexcept;
  static void destroy(Batch* batch) noexcept;

  RingGroup& group_;
  const HostQueueLimits limits_;
  std::unique_ptr<std::byte[]> kernargs_memory_;
  std::byte* kernargs_ = nullptr;
  std::unique_ptr<Ring> ring_;

  base::Mutex mutex_;                // the producer's role, and all below
  std::uint32_t kernargs_tail_ = 0;  // in blocks since the start; modular, as Packet::retires
  Batch* first_ = nullptr;
  Batch** last_ = &first_;
  std::size_t backlogged_ = 0;  // commands
  bool closed_ = false;
};

}  // namespace halyard::inline v0::hcq
