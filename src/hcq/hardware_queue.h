// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// HardwareQueue: hands encoded lists to the ring of a hardware queue, and keeps each until the
// device is done with it. QueueRing: all that touches the ring and its doorbell.
//
// Behind each list the device executes a fence: words that store a point of the queue's own
// timeline. Lists that do not fit the ring, or find no free fence, wait in order in a backlog, from
// which advance() moves them on. So the ring never holds words of a list that is released.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "halyard/base/ref.h"
#include "halyard/base/result.h"
#include "hcq/command_list.h"
#include "hcq/encoded_list.h"
#include "hcq/queue_encoder.h"
#include "hcq/timeline.h"

namespace halyard::inline v0::hcq {

class QueueRing {
 public:
  virtual ~QueueRing() = default;
  // Entries that are free now. An entry executes one segment.
  virtual std::size_t room() const noexcept = 0;
  // Appends an entry for each segment, then rings the doorbell once, after a full fence.
  // Precondition: there is room.
  virtual void push(std::span<const DeviceSpan> segments) noexcept = 0;
};

struct HardwareQueueLimits {
  std::size_t in_flight = 64;   // lists in the ring
  std::size_t backlog = 65536;  // lists on the host
};

// Functions are safe from any thread.
class HardwareQueue {
 public:
  // `timeline` is the queue's alone: its points are those of the fences. `memory` makes memory for
  // a fence. The ring, which has room for some segments, and the encoder outlive the queue. Errors:
  // those of EncodedList::create().
  static Result<std::unique_ptr<HardwareQueue>> create(
      QueueRing& ring, QueueEncoder& encoder, std::unique_ptr<detail::Timeline> timeline,
      const std::function<std::unique_ptr<WordList::BlockMemory>()>& memory,
      const HardwareQueueLimits& limits = {});
  // Precondition: the device executes nothing of the queue any more.
  ~HardwareQueue() = default;

  // Queues the list after all others, or nothing: kResourceExhausted if the backlog is full,
  // kUnavailable after close(). Never blocks.
  Status submit(Ref<EncodedList> list);

  // Releases the lists that are done and moves the backlog on. To be called when the device has
  // reached a fence: after an interrupt, or from time to time.
  void advance();

  // Drops the lists that no part of has reached the ring; later ones are refused.
  void close();

 private:
  // A list in the ring. Used again, with its words.
  struct Fence {
    detail::CommandList commands{QueueType::kCompute};  // one signal
    Ref<EncodedList> words;
    Ref<EncodedList> list;  // what it follows
    Point done;
  };
  HardwareQueue(QueueRing& ring, std::unique_ptr<detail::Timeline> timeline,
                const HardwareQueueLimits& limits) noexcept
      : ring_(ring), limits_(limits), timeline_(std::move(timeline)) {}
  void feed();
  void set(Fence& fence);
  void retire();

  QueueRing& ring_;
  const HardwareQueueLimits limits_;

  base::Mutex mutex_;  // guards all below
  const std::unique_ptr<detail::Timeline> timeline_;
  std::vector<std::unique_ptr<Fence>> fences_;
  std::size_t first_ = 0;      // the oldest fence in use
  std::size_t in_flight_ = 0;  // fences in use
  std::deque<Ref<EncodedList>> backlog_;
  std::size_t pushed_ = 0;           // segments of the backlog's first list that are in the ring
  std::vector<DeviceSpan> entries_;  // of one push
  bool closed_ = false;
};

}  // namespace halyard::inline v0::hcq
