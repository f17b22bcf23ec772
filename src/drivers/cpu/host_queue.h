// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// HostQueue: a ring with a bounded backlog. Commands that do not fit the ring wait in order in the
// backlog. They move to the ring when it retires packets, on the retiring thread (timelines.md,
// rule 34).
//
// Kernel arguments live in a second ring, of bytes. A command takes a block when its packet enters
// the first ring, and the block is free again when the packet is complete.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/mutex.h"
#include "drivers/cpu/host_image.h"
#include "drivers/cpu/packet.h"
#include "drivers/cpu/ring.h"
#include "drivers/cpu/ring_group.h"
#include "halyard/base/result.h"
#include "halyard/base/status.h"
#include "hcq/command_list.h"

namespace halyard::inline v0::cpu {

struct HostQueueLimits {
  std::size_t ring_packets = 1024;  // a power of two
  std::size_t kernargs_bytes =
      1 << 18;  // a power of two, at least 16 KiB: three of the largest blocks
  std::size_t backlog_packets = 1 << 16;
};

class HostQueue final : private RingFeeder {
 public:
  // `group` outlives the queue. Errors: kResourceExhausted.
  static Result<std::unique_ptr<HostQueue>> create(RingGroup& group,
                                                   const HostQueueLimits& limits = {});
  ~HostQueue();
  HostQueue(const HostQueue&) = delete;
  HostQueue& operator=(const HostQueue&) = delete;

  // Queues all of `list` in order, or nothing: kResourceExhausted. Any thread; rings the doorbell.
  Status submit(const hcq::detail::CommandList& list) noexcept;
  // The same with one packet. The image must live until it was executed.
  Status submit(HostImage& image) noexcept;

  Ring& ring() noexcept { return *ring_; }

  // Closes the ring (Ring::close()) and drops the backlog.
  void close() noexcept;

 private:
  struct Submission {
    const hcq::detail::Command* commands;
    std::size_t count;
    const std::uint64_t* args;
    std::size_t args_count;
    std::size_t packets;
    const Ref<hcq::detail::Profile>& profile;
  };
  // An entry of the backlog: a copy of the commands, and the first one that has not moved yet.
  struct Batch {
    Batch* next = nullptr;
    hcq::detail::Command* commands;
    std::uint64_t* args;
    std::size_t count;
    std::size_t done = 0;
    Ref<hcq::detail::Profile> profile;
  };
  static constexpr std::size_t kBlock = hcq::detail::kArgsBlock;

  HostQueue(RingGroup& group, const HostQueueLimits& limits) noexcept
      : group_(group), limits_(limits) {}
  void feed() noexcept override;
  void feed_locked() noexcept;
  Status submit(const Submission& submission) noexcept;
  bool fits(const Submission& submission) noexcept;
  bool push(const hcq::detail::Command& command, const std::uint64_t* args,
            const Ref<hcq::detail::Profile>& profile) noexcept;
  void publish(PacketKind kind, RefCounted* keeps) noexcept;
  void publish_timestamp(base::Atomic<std::uint64_t>& time,
                         const Ref<hcq::detail::Profile>& profile) noexcept;
  static Batch* copy(const Submission& submission) noexcept;
  static void destroy(Batch* batch) noexcept;

  RingGroup& group_;
  const HostQueueLimits limits_;
  std::unique_ptr<std::byte[]> kernargs_memory_;
  std::byte* kernargs_ = nullptr;
  std::unique_ptr<Ring> ring_;

  base::Mutex mutex_;                // the producer's role, and all members below
  std::uint32_t kernargs_tail_ = 0;  // in blocks since the start; modular, as Packet::retires
  Batch* first_ = nullptr;
  Batch** last_ = &first_;
  std::size_t backlogged_ = 0;  // commands
  bool closed_ = false;
};

}  // namespace halyard::inline v0::cpu
