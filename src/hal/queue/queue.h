// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// QueueObject: checks queue operations, builds their commands (command.h) in a timeline submission,
// and submits it. A member of its DeviceObject.
#pragma once

#include <span>
#include <string_view>

#include "base/mutex.h"
#include "hal/memory/block_pool.h"
#include "hal/memory/host_blocks.h"
#include "hal/recording/command.h"
#include "halyard/base/ref.h"
#include "halyard/hal/queue.h"
#include "timeline/queue.h"

namespace halyard::inline v0::hal {

class CommandBufferObject;
class DeviceObject;
class EventSetter;
class StagedCopy;
struct PieceInfo;
struct SlotValues;
template <class Binding>
struct DispatchRequest;

class QueueObject final : public timeline::LaneSource {
 public:
  static constexpr std::string_view kTypeName = "queue";

  QueueObject(DeviceObject& device, QueueKind kind,
              QueuePriority priority = QueuePriority::kNormal, void* stream = nullptr) noexcept
      : device_(device), kind_(kind), priority_(priority), stream_(stream) {}

  Status open(timeline::Domain domain, std::string_view name);
  // Gives a queue without handles to its next user. False: it still has work.
  bool reopen(std::string_view name) { return queue_->reopen(full_name(name)); }
  // The functions that end a queue, in this order (timeline::Queue). A queue that was never opened
  // has nothing to end.
  bool in_flight() noexcept { return queue_ && queue_->in_flight(); }
  void watch() noexcept {
    if (queue_) queue_->watch();
  }
  // Called when the last handle is dropped.
  void leave() noexcept {
    if (queue_) queue_->watch_dropped();
  }
  void refuse(const Status& cause) noexcept;
  bool idle() noexcept { return !queue_ || queue_->idle(); }
  bool release(const Status& cause) noexcept;
  // Makes submissions that wait for pool memory ask again.
  void retry() noexcept {
    if (queue_) queue_->retry();
  }

  QueueKind kind() const noexcept { return kind_; }
  QueuePriority priority() const noexcept { return priority_; }
  // The stream of the native library's user in which the queue runs. Null: the queue has its own.
  void* stream() const noexcept { return stream_; }
  DeviceObject& device() const noexcept { return device_; }
  std::string_view name() const noexcept { return queue_->name(); }

  // Contracts in halyard/hal/queue.h. With `issued` the caller itself waits for the issue: see
  // timeline::Queue::submit().
  Status barrier(const SubmitInfo& info, timeline::LanePoint* issued = nullptr);
  Status execute(const CommandBuffer& commands, const SlotValues& values, const SubmitInfo& info,
                 timeline::LanePoint* issued = nullptr);
  Status dispatch(const DispatchRequest<BufferRange>& request, const SubmitInfo& info);
  Status fill(const BufferRange& target, std::uint32_t pattern, std::uint32_t pattern_size,
              const SubmitInfo& info);
  Status update(const BufferRange& target, Bytes source, const SubmitInfo& info);
  Status copy(const BufferRange& source, const BufferRange& target, const SubmitInfo& info);
  Result<Buffer> allocate(const Pool& pool, const BufferInfo& info, const SubmitInfo& submit);
  Status deallocate(const Buffer& buffer, const SubmitInfo& info);
  Status transfer(const File& file, std::uint64_t offset, const BufferRange& range, bool write,
                  const SubmitInfo& info);
  Status host_call(const detail::CallableType& type, void* callable, HostCallMode mode,
                   const SubmitInfo& info);

  // Contracts in halyard/hal/native.h.
  Status native_event(const NativeEvent& event, const SubmitInfo& info);

  Status wait_idle(Deadline deadline) { return queue_->wait_idle(deadline); }
  Status flush();

  Status barrier_and_wait(const SubmitInfo& info, Deadline deadline);
  Status execute_and_wait(const CommandBuffer& commands, const SlotValues& values,
                          const SubmitInfo& info, Deadline deadline);

  Status allocate_block(std::size_t bytes, Block& block);
  // Returns an unshared semaphore for the end of a submission. The caller returns it with
  // give_back() once the end is reached.
  Result<HandleRef<timeline::Semaphore>> take_semaphore();
  void give_back(HandleRef<timeline::Semaphore> semaphore) noexcept;

 private:
  Result<timeline::NativeQueue*> open_lane() override;
  std::string full_name(std::string_view name) const;

  // Submits `submission` and takes ownership of it in every case. `issued`: see
  // timeline::Queue::submit().
  Status send(timeline::Submission& submission, const SubmitInfo& info,
              timeline::LanePoint* issued = nullptr);
  // The same for a recording with events. They change when it is submitted, or not at all if that
  // fails. `kept`, a member of the submission's payload, retains the EventSetter, if the recording
  // sets events.
  Status send_with_events(timeline::Submission& submission, const CommandBufferObject& recording,
                          Ref<EventSetter>& kept, const SubmitInfo& info,
                          timeline::LanePoint* issued);
  // Prefixes the message of `status` with the queue and the operation. Not for errors of the
  // engine: they name the queue, or are a cause that others see as well.
  Status refused(const Status& status, const char* operation) const;

  Status check(const CommandBuffer& commands) const;
  // `declared` is the user's copy; `source` or `target` may be an import of its memory.
  Status copy_directly(const BoundRange& source, const BoundRange& target,
                       const CopyCommand& declared, const SubmitInfo& info);
  // For a copy whose source, or otherwise target, is memory of `other` that this device cannot use.
  Status copy_across(const BoundRange& source, const BoundRange& target, DeviceObject& other,
                     bool source_is_foreign, const SubmitInfo& info);
  Status copy_staged(const BoundRange& source, const BoundRange& target, DeviceObject& other,
                     bool source_is_foreign, const SubmitInfo& info);
  Status submit_barrier(trace::Name name, const SubmitInfo& info,
                        timeline::LanePoint* issued = nullptr);
  Status submit_piece(StagedCopy& copy, const PieceInfo& piece, const SubmitInfo& info);
  Status copy_bytes(Bytes source, UpdateCommand& command, Block& data, HostBlock& host_data);
  Status check_kernels_allowed() const;

  // Calls submit(info, issued) and waits for the last signal of its submission.
  template <class F>
  Status submit_and_wait(const char* call, SubmitInfo info, Deadline deadline, F&& submit);

  DeviceObject& device_;
  const QueueKind kind_;
  const QueuePriority priority_;
  void* const stream_;
  bool has_lane_ = false;  // of an imported stream
  Ref<timeline::Queue> queue_;

  static constexpr std::size_t kMaxSpare = 8;  // usual number of concurrent waits for ends
  base::Mutex spare_mutex_;
  HandleRef<timeline::Semaphore> spare_[kMaxSpare];
  std::size_t spare_count_ = 0;
};

}  // namespace halyard::inline v0::hal
