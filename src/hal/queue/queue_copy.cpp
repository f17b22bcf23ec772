// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Queue::copy. Between memory that the device can use, a copy is one command. There are two ways to
// copy memory of other devices:
//
//     directly   a device that works in host memory imports host memory of the other for the copy
//     staged     in pieces, by both devices (copy_path.h)
#include <algorithm>
#include <cstring>
#include <iterator>

#include "base/array.h"
#include "hal/device/device.h"
#include "hal/memory/buffer.h"
#include "hal/memory/pool.h"
#include "hal/object.h"
#include "hal/queue/copy_path.h"
#include "hal/queue/queue.h"
#include "hal/recording/accesses.h"
#include "hal/validate.h"
#include "timeline/submission.h"

namespace halyard::inline v0::hal {

struct PieceInfo {
  enum class Step : std::uint8_t { kRead, kHost, kWrite };
  Step step;
  std::uint32_t index;
  const BoundRange& range;  // the user's whole range
  // The whole copy. Only set for the first piece, which has the user's waits.
  const CopyCommand* declared = nullptr;
};

namespace {

using Step = PieceInfo::Step;
using timeline::Gate;

struct PiecePayload {
  PiecePayload(StagedCopy& staged, const PieceInfo& info) noexcept
      : memory(info.range.memory),
        copy(&staged),
        offset(info.range.offset + info.index * staged.shape().piece),
        index(info.index),
        step(info.step) {}

  Operation operation;
  Ref<Memory> memory;
  Ref<StagedCopy> copy;
  std::uint64_t offset;  // in the memory
  std::uint32_t index;
  Step step;
};

// The block is known when the gate runs, like the memory of a pool's buffer.
constexpr Gate kPieceGate{
    .ask =
        [](void* payload, timeline::IssueSite& site, Status& cause) noexcept {
          auto& piece = *static_cast<PiecePayload*>(payload);
          if (!can_issue(piece.memory.get(), cause)) return Gate::Answer::kFail;
          const bool writes = piece.step == Step::kWrite;
          if (piece.index == 0 && !writes) {
            const Gate::Answer answer = piece.copy->take_ring(site.lane().queue(), cause);
            if (answer != Gate::Answer::kGo) return answer;
          }
          const CommandRange block{piece.copy->block(piece.index, writes)};
          const CommandRange users{{piece.memory.get(), piece.offset, block.length}};
          piece.operation.command =
              Command(writes ? CopyCommand{block, users} : CopyCommand{users, block});
          return Gate::Answer::kGo;
        },
    .issued =
        [](void* payload, const timeline::LanePoint& at) noexcept {
          auto& piece = *static_cast<PiecePayload*>(payload);
          if (piece.index == 0 && piece.step == Step::kRead) piece.copy->note_begun();
          if (piece.index + 1 == piece.copy->shape().pieces) piece.copy->note_last(at);
        },
    .describe =
        [](const void* payload) noexcept {
          const auto& piece = *static_cast<const PiecePayload*>(payload);
          const bool first = piece.index == 0 && piece.step == Step::kRead;
          return first ? piece.copy->describe() : std::string();
        },
};

void piece_ended(void* payload, const Status& cause) noexcept {
  auto& piece = *static_cast<PiecePayload*>(payload);
  if (piece.index == 0 && piece.step == Step::kRead) piece.copy->leave_line();
  piece.copy->piece_ended(cause);
}

// Copies a piece between two blocks that the host sees.
Status move_piece(void* payload) noexcept {
  auto& piece = *static_cast<PiecePayload*>(payload);
  const BoundRange from = piece.copy->block(piece.index, false);
  const BoundRange to = piece.copy->block(piece.index, true);
  std::memcpy(to.memory->host_pointer() + to.offset, from.memory->host_pointer() + from.offset,
              from.length);
  return {};
}

CopyCommand declared_copy(const BoundRange& source, const BoundRange& target) noexcept {
  return {{source}, {target}};
}

// The user's waits and one more point.
class WaitsAndOne {
 public:
  Status set(Points waits) {
    size_ = waits.size() + 1;
    points_ = inline_;
    if (size_ > std::size(inline_)) {
      if (!array_.grow(size_)) {
        return Status(StatusCode::kResourceExhausted, "no memory for the waits of a copy");
      }
      points_ = array_.data();
    }
    std::copy(waits.begin(), waits.end(), points_);
    return {};
  }
  Points with(const Point& last) {
    points_[size_ - 1] = last;
    return {points_, size_};
  }

 private:
  Point* points_ = nullptr;
  std::size_t size_ = 0;
  Point inline_[8];
  base::Array<Point> array_;
};

}  // namespace

Status QueueObject::copy(const BufferRange& source, const BufferRange& target,
                         const SubmitInfo& info) {
  CommandRange from;
  CommandRange to;
  Status status = resolve_anywhere(device_, source, from);
  if (!status.ok()) [[unlikely]]
    return refused(status, "copy: source");
  status = resolve_anywhere(device_, target, to);
  if (!status.ok()) [[unlikely]]
    return refused(status, "copy: target");
  status = check_copy(from, to);
  if (!status.ok()) [[unlikely]]
    return refused(status, "copy");
  const auto is_foreign = [&](const BufferRange& range) {
    DeviceObject& owner = range.buffer->device();
    return &owner != &device_ && !device_.can_access(owner);
  };
  const bool foreign_source = is_foreign(source);
  const bool foreign_target = is_foreign(target);
  if (!foreign_source && !foreign_target) [[likely]]
    return copy_directly(from, to, declared_copy(from, to), info);
  if (foreign_source && foreign_target) {
    return refused(
        error(StatusCode::kPermissionDenied,
              "memory of {} and memory of {} cannot be used by {}; submit it to a queue of one of "
              "them",
              source.buffer->device().name(), target.buffer->device().name(), device_.name()),
        "copy");
  }
  DeviceObject& other = (foreign_source ? source : target).buffer->device();
  return copy_across(from, to, other, foreign_source, info);
}

Status QueueObject::copy_across(const BoundRange& source, const BoundRange& target,
                                DeviceObject& other, bool source_is_foreign,
                                const SubmitInfo& info) {
  if (source.length == 0) return barrier(info);
  Memory& foreign = *(source_is_foreign ? source : target).memory;
  // Host memory is as fast for this device as its own; memory of a device, read over the bus, is
  // not.
  const bool in_reach = foreign.type() == MemoryType::kHostLocal ||
                        (!source_is_foreign && foreign.type() == MemoryType::kHostVisible);
  if (device_.works_in_host_memory() && in_reach && !foreign.of_pool() &&
      foreign.host_pointer() != nullptr) {
    Result<Ref<Memory>> imported = device_.import_memory_of(foreign);
    if (!imported.ok()) return refused(imported.status(), "copy");
    BoundRange here = source_is_foreign ? source : target;
    here.memory = imported->get();
    const CopyCommand declared = declared_copy(source, target);
    return source_is_foreign ? copy_directly(here, target, declared, info)
                             : copy_directly(source, here, declared, info);
  }
  return copy_staged(source, target, other, source_is_foreign, info);
}

Status QueueObject::copy_staged(const BoundRange& source, const BoundRange& target,
                                DeviceObject& other, bool source_is_foreign,
                                const SubmitInfo& info) {
  QueueObject& theirs = other.queue(QueueKind::kCopy);
  QueueObject& reader = source_is_foreign ? theirs : *this;
  QueueObject& writer = source_is_foreign ? *this : theirs;
  const Result<Ref<CopyPath>> path = device_.copy_path(other);
  if (!path.ok()) return refused(path.status(), "copy");
  const Result<Ref<StagedCopy>> begun = (*path)->begin(reader.device_, source.length);
  if (!begun.ok()) return refused(begun.status(), "copy");
  StagedCopy& copy = **begun;
  const std::uint32_t pieces = copy.shape().pieces;
  const std::uint32_t slots = copy.shape().slots;

  const auto submit = [&]() -> Status {
    // These park on the first piece, which is not submitted yet.
    for (std::uint32_t i = 0; i < pieces; ++i) {
      if (i != 0) {
        const Point waits[] = {copy.filled(i), copy.drained(i < slots ? 0 : i - slots + 1)};
        HALYARD_RETURN_IF_ERROR(reader.submit_piece(
            copy, {Step::kRead, i, source},
            {.wait = waits, .signal = {copy.filled(i + 1)}, .room = info.room}));
      }
      Point ready = copy.filled(i + 1);
      if (copy.needs_host()) {
        const Point waits[] = {ready, copy.moved(i)};
        ready = copy.moved(i + 1);
        HALYARD_RETURN_IF_ERROR(submit_piece(
            copy, {Step::kHost, i, source}, {.wait = waits, .signal = {ready}, .room = info.room}));
      }
      const Point waits[] = {ready, copy.drained(i)};
      const Point signals[] = {copy.drained(i + 1), copy.end()};
      HALYARD_RETURN_IF_ERROR(
          writer.submit_piece(copy, {Step::kWrite, i, target},
                              {.wait = waits,
                               .signal = Points(signals, i + 1 == pieces ? 2u : 1u),
                               .room = info.room}));
    }
    WaitsAndOne waits;
    HALYARD_RETURN_IF_ERROR(waits.set(info.wait));
    const CopyCommand whole = declared_copy(source, target);
    HALYARD_RETURN_IF_ERROR(reader.submit_piece(copy, {Step::kRead, 0, source, &whole},
                                                {.wait = waits.with(copy.begin()),
                                                 .signal = {copy.filled(1)},
                                                 .submission = info.submission,
                                                 .room = info.room}));
    // Until here no effect is visible to the user, and submitted pieces can be withdrawn.
    const Points last = waits.with(copy.end());
    if (&writer != this) {
      HALYARD_RETURN_IF_ERROR(submit_barrier(trace::kCopy, {.wait = last, .room = info.room}));
    }
    return writer.submit_barrier(trace::kCopy,
                                 {.wait = last, .signal = info.signal, .room = info.room});
  };
  Status status = submit();
  if (status.ok()) {
    copy.submitted();
  } else {
    copy.refused(status);
    if (info.submission != nullptr) *info.submission = Submission();
  }
  return status;
}

Status QueueObject::submit_piece(StagedCopy& copy, const PieceInfo& piece, const SubmitInfo& info) {
  HALYARD_ASSIGN_OR_RETURN(timeline::Submission* const submission, queue_->allocate());
  auto& payload = submission->emplace<PiecePayload>(copy, piece);
  payload.operation.kind = OperationKind::kCommand;
  constexpr trace::Name kNames[] = {trace::kCopyRead, trace::kCopyHost, trace::kCopyWrite};
  submission->set_name(kNames[static_cast<int>(piece.step)]);
  if (piece.step == Step::kHost) {
    submission->set_host_call(&move_piece);
  } else {
    submission->set_gate(kPieceGate);
  }
  const bool last = piece.step == Step::kWrite && piece.index + 1 == copy.shape().pieces;
  submission->set_ended(&piece_ended, last);
  if (piece.declared != nullptr && device_.checks()) [[unlikely]]
    (void)declare(*submission, Command(*piece.declared));
  copy.add_piece();
  Status status = send(*submission, info);
  if (!status.ok()) copy.piece_ended(status);
  return status;
}

}  // namespace halyard::inline v0::hal
