// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Status: how an operation ended.
//
// Errors of the caller and of the world are a Status. A defect of Halyard is an assertion.
//
// An ok Status is one null pointer. An error is a shared, immutable record {code, message, native
// error}, so copies are cheap. A failure that passes through many semaphores stays one record:
// every waiter sees the first cause with its origin. All functions are safe on distinct objects
// from any thread; one Status variable follows ordinary C++ rules. Nothing here throws.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "halyard/base/export.h"

namespace halyard::inline v0 {

enum class StatusCode : std::uint8_t {
  kOk = 0,
  kInvalidArgument,     // the caller passed something that can never be right
  kOutOfRange,          // an index, offset or value beyond what the object has
  kFailedPrecondition,  // right call, wrong state of the object
  kNotFound,            // no such file, device, kernel, entry
  kPermissionDenied,    // the object was not created for this use
  kResourceExhausted,   // memory, slots or backlog are used up
  kUnimplemented,       // Halyard or the backend does not have it; the message says which
  kUnavailable,         // exists, but cannot be used now
  kDeadlineExceeded,    // the deadline passed first
  kCancelled,           // withdrawn by the user, or its last signaller is gone
  kDeviceLost,          // the device faulted; the native error is the origin
  kDataLoss,            // a file or image is damaged
  kInternal,            // a defect of Halyard, or a function of the user's threw
};

// "InvalidArgument", "OutOfRange", ...
HALYARD_EXPORT std::string_view to_string(StatusCode code) noexcept;

namespace detail {
struct StatusRecord;
}

class [[nodiscard]] HALYARD_EXPORT Status {
 public:
  // Ok.
  Status() noexcept = default;
  // An error, or an ok Status if `code` is kOk. `message` names the object, the operation and the
  // offending value. `native_error` is the backend's own name for it ("CUDA_ERROR_OUT_OF_MEMORY",
  // "ENOENT"), or empty. When memory is exhausted the record has no message.
  Status(StatusCode code, std::string_view message, std::string_view native_error = {}) noexcept;

  Status(const Status& other) noexcept : record_(other.record_) { retain(record_); }
  Status(Status&& other) noexcept : record_(std::exchange(other.record_, nullptr)) {}
  Status& operator=(Status other) noexcept {
    std::swap(record_, other.record_);
    return *this;
  }
  ~Status() { release(record_); }

  bool ok() const noexcept { return record_ == nullptr; }
  StatusCode code() const noexcept;
  // The views live as long as any copy of this Status.
  std::string_view message() const noexcept;
  std::string_view native_error() const noexcept;
  // "DeviceLost: queue cpu:0/compute: ... [CUDA_ERROR_ILLEGAL_ADDRESS]", or "Ok".
  std::string to_string() const;

  // True if both are ok or both are copies of the same failure.
  bool same_as(const Status& other) const noexcept { return record_ == other.record_; }

  // For storage in an atomic word: release_record() passes this Status's reference to the caller,
  // adopt_record() takes it over, share_record() adds one.
  detail::StatusRecord* release_record() && noexcept { return std::exchange(record_, nullptr); }
  static Status adopt_record(detail::StatusRecord* record) noexcept { return Status(record); }
  static Status share_record(detail::StatusRecord* record) noexcept {
    retain(record);
    return Status(record);
  }

 private:
  explicit Status(detail::StatusRecord* record) noexcept : record_(record) {}
  static void retain(detail::StatusRecord* record) noexcept {
    if (record != nullptr) retain_slow(record);
  }
  static void release(detail::StatusRecord* record) noexcept {
    if (record != nullptr) release_slow(record);
  }
  static void retain_slow(detail::StatusRecord* record) noexcept;
  static void release_slow(detail::StatusRecord* record) noexcept;

  detail::StatusRecord* record_ = nullptr;
};

}  // namespace halyard::inline v0
