// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "halyard/base/status.h"

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>

#include "base/native_call.h"

namespace halyard::inline v0 {
namespace detail {

// One allocation: the record, then the characters of message and native error.
struct StatusRecord {
  std::atomic<std::uint32_t> references{1};
  StatusCode code;
  std::uint32_t message_size;
  std::uint32_t native_size;
  const char* text;

  std::string_view message() const { return {text, message_size}; }
  std::string_view native_error() const { return {text + message_size, native_size}; }
};

namespace {

HALYARD_CALL_SITE(kAllocate, "status.allocate", ENOMEM);

// Used when memory is exhausted; its count never reaches zero in practice.
StatusRecord* exhausted_record() {
  static constexpr char kText[] = "out of memory while building an error message";
  static StatusRecord record{.references = 1u << 30,
                             .code = StatusCode::kResourceExhausted,
                             .message_size = sizeof(kText) - 1,
                             .native_size = 0,
                             .text = kText};
  return &record;
}

StatusRecord* make_record(StatusCode code, std::string_view message, std::string_view native) {
  const std::size_t size = sizeof(StatusRecord) + message.size() + native.size();
  void* memory = base::native_call(kAllocate, [&] { return std::malloc(size); });
  if (memory == nullptr) {
    StatusRecord* record = exhausted_record();
    record->references.fetch_add(1, std::memory_order_relaxed);
    return record;
  }
  char* text = static_cast<char*>(memory) + sizeof(StatusRecord);
  if (!message.empty()) std::memcpy(text, message.data(), message.size());
  if (!native.empty()) std::memcpy(text + message.size(), native.data(), native.size());
  return ::new (memory) StatusRecord{.references = 1,
                                     .code = code,
                                     .message_size = static_cast<std::uint32_t>(message.size()),
                                     .native_size = static_cast<std::uint32_t>(native.size()),
                                     .text = text};
}

}  // namespace
}  // namespace detail

std::string_view to_string(StatusCode code) noexcept {
  switch (code) {
    case StatusCode::kOk:
      return "Ok";
    case StatusCode::kInvalidArgument:
      return "InvalidArgument";
    case StatusCode::kOutOfRange:
      return "OutOfRange";
    case StatusCode::kFailedPrecondition:
      return "FailedPrecondition";
    case StatusCode::kNotFound:
      return "NotFound";
    case StatusCode::kPermissionDenied:
      return "PermissionDenied";
    case StatusCode::kResourceExhausted:
      return "ResourceExhausted";
    case StatusCode::kUnimplemented:
      return "Unimplemented";
    case StatusCode::kUnavailable:
      return "Unavailable";
    case StatusCode::kDeadlineExceeded:
      return "DeadlineExceeded";
    case StatusCode::kCancelled:
      return "Cancelled";
    case StatusCode::kDeviceLost:
      return "DeviceLost";
    case StatusCode::kDataLoss:
      return "DataLoss";
    case StatusCode::kInternal:
      return "Internal";
  }
  return "Unknown";
}

Status::Status(StatusCode code, std::string_view message, std::string_view native_error) noexcept
    : record_(code == StatusCode::kOk ? nullptr
                                      : detail::make_record(code, message, native_error)) {}

void Status::retain_slow(detail::StatusRecord* record) noexcept {
  record->references.fetch_add(1, std::memory_order_relaxed);
}

void Status::release_slow(detail::StatusRecord* record) noexcept {
  if (record->references.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    record->~StatusRecord();
    std::free(record);
  }
}

StatusCode Status::code() const noexcept { return ok() ? StatusCode::kOk : record_->code; }
std::string_view Status::message() const noexcept {
  return ok() ? std::string_view() : record_->message();
}
std::string_view Status::native_error() const noexcept {
  return ok() ? std::string_view() : record_->native_error();
}

std::string Status::to_string() const {
  std::string text(v0::to_string(code()));
  if (!message().empty()) text.append(": ").append(message());
  if (!native_error().empty()) text.append(" [").append(native_error()).append("]");
  return text;
}

}  // namespace halyard::inline v0
