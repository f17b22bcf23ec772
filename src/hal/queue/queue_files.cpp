// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Queue operations between files and buffers: host work (timeline/submission.h) that the runtime's
// FileTransfers carry out.
#include <limits>

#include "hal/device/device.h"
#include "hal/files/file.h"
#include "hal/files/file_transfers.h"
#include "hal/memory/buffer.h"
#include "hal/memory/pool.h"
#include "hal/object.h"
#include "hal/queue/queue.h"
#include "hal/recording/accesses.h"
#include "hal/validate.h"
#include "timeline/queue.h"
#include "timeline/submission.h"

namespace halyard::inline v0::hal {
namespace {

const char* name_of(bool write) noexcept { return write ? "write" : "read"; }

// Memory of a pool has an address only once its allocation was issued.
Status check_host_address(const Memory& memory) {
  if (memory.host_pointer() != nullptr || memory.size() == 0) return {};
  return error(StatusCode::kUnimplemented, "files and {} memory that the host does not see",
               to_string(memory.type()));
}

struct FilePayload : FileTransfer {
  timeline::Submission* submission = nullptr;
  FileTransfers* transfers = nullptr;
  Ref<FileObject> file;
  Ref<Memory> memory;
  std::uint64_t memory_offset = 0;
};

// Memory of a pool can be checked only after the waits are reached.
constexpr timeline::Gate kFileGate{
    .ask = [](void* payload, timeline::IssueSite&, Status& cause) noexcept {
      const Memory& memory = *static_cast<FilePayload*>(payload)->memory;
      if (!can_issue(&memory, cause)) return timeline::Gate::Answer::kFail;
      cause = check_host_address(memory);
      return cause.ok() ? timeline::Gate::Answer::kGo : timeline::Gate::Answer::kFail;
    }};

void start(timeline::Submission& submission) noexcept {
  auto& payload = *static_cast<FilePayload*>(submission.payload());
  payload.data = payload.memory->host_pointer() + payload.memory_offset;
  payload.transfers->start(payload);
}

[[gnu::cold]] Status failure(const FilePayload& payload, int code) {
  const FileObject& file = *payload.file;
  const std::string_view queue = payload.submission->queue().name();
  const std::string what = base::format("{} of {} at offset {}", name_of(payload.write),
                                        base::counted(payload.length, "byte"), payload.offset);
  if (code != FileTransfer::kEndOfFile) {
    return at(file_error(code, file.name(), what), "queue {}", queue);
  }
  const Result<std::uint64_t> size = file.size();
  return error(StatusCode::kOutOfRange, "queue {}: file {}: {}: beyond the end of {} bytes", queue,
               file.name(), what, size.ok() ? *size : 0);
}

void ended(FileTransfer& transfer, int code) noexcept {
  auto& payload = static_cast<FilePayload&>(transfer);
  timeline::Submission& submission = *payload.submission;
  submission.end_host_work(code == 0 ? Status() : failure(payload, code));
}

Status check_file(const File& file, bool write, std::uint64_t offset, std::uint64_t length) {
  if (!file) return Status(StatusCode::kInvalidArgument, "empty file");
  const FileObject& object = *file.object();
  const FileAccess other = write ? FileAccess::kRead : FileAccess::kWrite;
  if (object.access() == other) {
    return error(StatusCode::kPermissionDenied, "file {} is open for {} only", object.name(),
                 write ? "reading" : "writing");
  }
  constexpr std::uint64_t kEnd = std::numeric_limits<std::int64_t>::max();  // of an off_t
  if (offset > kEnd || length > kEnd - offset) {
    return error(StatusCode::kOutOfRange, "file {}: {} at offset {} end beyond 2^63-1",
                 object.name(), base::counted(length, "byte"), base::number(offset));
  }
  return {};
}

}  // namespace

Status QueueObject::transfer(const File& file, std::uint64_t offset, const BufferRange& range,
                             bool write, const SubmitInfo& info) {
  BoundRange bound;
  Status status = resolve(device_, range, bound);
  if (status.ok()) status = check_file(file, write, offset, bound.length);
  if (status.ok() && !bound.memory->of_pool()) status = check_host_address(*bound.memory);
  if (status.ok()) status = device_.engine().work_source().ensure(base::Shell::kFile);
  if (!status.ok()) [[unlikely]]
    return refused(status, name_of(write));

  HALYARD_ASSIGN_OR_RETURN(timeline::Submission* const submission, queue_->allocate());
  auto& payload = submission->emplace<FilePayload>();
  payload.descriptor = file.object()->descriptor();
  payload.write = write;
  payload.offset = offset;
  payload.length = bound.length;
  payload.ended = &ended;
  payload.submission = submission;
  payload.transfers = &device_.files();
  payload.file = Ref<FileObject>(file.object());
  payload.memory = Ref<Memory>(bound.memory);
  payload.memory_offset = bound.offset;
  submission->set_host_work(&start);
  submission->set_name(write ? trace::kWrite : trace::kRead);
  if (bound.memory->of_pool()) submission->set_gate(kFileGate);
  if (device_.checks()) [[unlikely]] {
    using timeline::AccessKind;
    declare(*submission, bound, write ? AccessKind::kRead : AccessKind::kWrite,
            base::format("{} of {}", name_of(write), file.object()->name()));
  }
  return send(*submission, info);
}

Status Queue::read(const File& file, std::uint64_t offset, const BufferRange& target,
                   const SubmitInfo& info) const {
  HALYARD_RETURN_IF_ERROR(check_handle(*this, "read"));
  return object_->transfer(file, offset, target, false, info);
}

Status Queue::write(const BufferRange& source, const File& file, std::uint64_t offset,
                    const SubmitInfo& info) const {
  HALYARD_RETURN_IF_ERROR(check_handle(*this, "write"));
  return object_->transfer(file, offset, source, true, info);
}

}  // namespace halyard::inline v0::hal
