// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ContextGuard: prepares a thread for calls to a native library for one device. It makes the
// device's context current, and sets a capture mode in which another thread's stream capture
// forbids nothing. Both belong to the thread's user, and the guard restores them.
//
// A capture forbids calls that are "not enqueued asynchronously to a stream" (cuda.h,
// cuThreadExchangeStreamCaptureMode). So the stream operations of issue() and mark() need no other
// mode. Their other, rare calls set the mode themselves (ScopedCaptureMode).
//
// The context is the device's primary context, which all users of the library in this process
// share. It is reference-counted and never reset.
#pragma once

#include <cstdint>
#include <new>

#include "base/format.h"
#include "drivers/stream/api.h"
#include "halyard/base/result.h"
#include "timeline/entry_guard.h"

namespace halyard::inline v0::stream {

template <ContextApi Api>
class ContextGuard final : public timeline::EntryGuard {
 public:
  using Context = typename Api::Context;
  using CaptureMode = typename Api::CaptureMode;

  static Result<Ref<ContextGuard>> create(const Api& api, unsigned ordinal) {
    auto guard = Ref<ContextGuard>::adopt(new (std::nothrow) ContextGuard(api, ordinal));
    if (!guard)
      return error(StatusCode::kResourceExhausted, "{}: no memory for a context", Api::kDriver);
    HALYARD_RETURN_IF_ERROR(api.retain_context(ordinal, guard->context_));
    guard->retained_ = true;
    return guard;
  }

  // A context or mode that cannot be read or set stays as it is. Then later calls fail, at the
  // latest those that create objects.
  void enter(Saved& saved, timeline::Calls calls) noexcept override {
    Context before{};
    CaptureMode mode = Api::kRelaxedCapture;
    const bool other = api_.current_context(before).ok() && before != context_;
    const bool set = other && api_.set_current_context(context_).ok();
    const bool relaxed =
        calls == timeline::Calls::kAny && api_.exchange_capture_mode(mode).ok();
    saved.words[0] = to_word(before);
    saved.words[1] = to_word(mode);
    saved.words[2] = set ? this : nullptr;
    saved.words[3] = relaxed ? this : nullptr;
  }
  void leave(const Saved& saved) noexcept override {
    if (saved.words[3] != nullptr) {
      CaptureMode mode = from_word<CaptureMode>(saved.words[1]);
      (void)api_.exchange_capture_mode(mode);
    }
    if (saved.words[2] != nullptr) {
      (void)api_.set_current_context(from_word<Context>(saved.words[0]));
    }
  }

  Context context() const noexcept { return context_; }

 private:
  ContextGuard(const Api& api, unsigned ordinal) noexcept : api_(api), ordinal_(ordinal) {}
  ~ContextGuard() override {
    if (retained_) api_.release_context(ordinal_);
  }

  template <class T>
  static void* to_word(T value) noexcept {
    static_assert(sizeof value <= sizeof(void*));
    void* word = nullptr;
    __builtin_memcpy(&word, &value, sizeof value);
    return word;
  }
  template <class T>
  static T from_word(void* word) noexcept {
    T value;
    __builtin_memcpy(&value, &word, sizeof value);
    return value;
  }

  const Api api_;
  const unsigned ordinal_;
  Context context_{};
  bool retained_ = false;
};

// Sets only the capture mode, for a scope. Does nothing for an Api without contexts.
template <class Api>
class ScopedCaptureMode {
 public:
  explicit ScopedCaptureMode(const Api&) noexcept {}
  ~ScopedCaptureMode() {}
  ScopedCaptureMode(const ScopedCaptureMode&) = delete;
  ScopedCaptureMode& operator=(const ScopedCaptureMode&) = delete;
};
template <ContextApi Api>
class ScopedCaptureMode<Api> {
 public:
  explicit ScopedCaptureMode(const Api& api) noexcept
      : api_(api), set_(api.exchange_capture_mode(mode_).ok()) {}
  ~ScopedCaptureMode() {
    if (set_) (void)api_.exchange_capture_mode(mode_);
  }
  ScopedCaptureMode(const ScopedCaptureMode&) = delete;
  ScopedCaptureMode& operator=(const ScopedCaptureMode&) = delete;

 private:
  const Api& api_;
  typename Api::CaptureMode mode_ = Api::kRelaxedCapture;  // the user's mode, once ours is set
  const bool set_;
};

}  // namespace halyard::inline v0::stream
