// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Registration: a range of the host's memory that a driver has pinned. Imports within the range
// share it, for all devices of a library. Safe from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

#include "base/format.h"
#include "base/mutex.h"
#include "drivers/stream/context.h"
#include "drivers/stream/device_api.h"
#include "halyard/base/result.h"
#include "timeline/entry_guard.h"

namespace halyard::inline v0::stream {

template <DeviceApi Api>
class Registration {
 public:
  // Pins exactly [data, data + size): libraries require no alignment, and two ranges may share a
  // page. Null, with the reason, if the library has registered it already or refuses it. Called
  // within `guard`.
  static Result<Registration*> pin(const Api& api, const Ref<timeline::EntryGuard>& guard,
                                   std::byte* data, std::uint64_t size, Status& refused) {
    const auto begin = reinterpret_cast<std::uintptr_t>(data);
    base::LockGuard lock(mutex);
    if (Registration* const known = share(api, begin, begin + size)) return known;
    std::unique_ptr<Registration> fresh(new (std::nothrow)
                                            Registration(api, data, begin + size, guard));
    if (fresh == nullptr) {
      return error(StatusCode::kResourceExhausted, "{}: no memory to import {} bytes", Api::kDriver,
                   size);
    }
    const Status status = api.register_host(data, size);
    if (status.code() == StatusCode::kFailedPrecondition ||
        status.code() == StatusCode::kInvalidArgument) {
      refused = status;
      return static_cast<Registration*>(nullptr);
    }
    HALYARD_RETURN_IF_ERROR(status);
    fresh->next_ = all;
    return all = fresh.release();
  }

  // Removes one user. The last one ends the registration.
  void unpin() noexcept {
    base::LockGuard lock(mutex);
    if (--users_ != 0) return;
    Registration** link = &all;
    while (*link != this) link = &(*link)->next_;
    *link = next_;
    {
      const timeline::Visit inside(*guard_);
      api_.unregister_host(data_);
    }
    delete this;
  }

 private:
  Registration(const Api& api, std::byte* data, std::uintptr_t end,
               const Ref<timeline::EntryGuard>& guard) noexcept
      : api_(api), data_(data), end_(end), guard_(guard) {}

  // Returns a registration that contains [begin, end) and adds a user to it; null if there is none.
  static Registration* share(const Api& api, std::uintptr_t begin, std::uintptr_t end) noexcept {
    for (Registration* known = all; known != nullptr; known = known->next_) {
      if (known->api_.same_library(api) &&
          reinterpret_cast<std::uintptr_t>(known->data_) <= begin && end <= known->end_) {
        ++known->users_;
        return known;
      }
    }
    return nullptr;
  }

  static inline constinit base::Mutex mutex;
  static inline constinit Registration* all = nullptr;  // guarded by the mutex

  const Api api_;
  std::byte* const data_;
  const std::uintptr_t end_;
  const Ref<timeline::EntryGuard> guard_;  // of the context in which it was registered
  unsigned users_ = 1;
  Registration* next_ = nullptr;
};

}  // namespace halyard::inline v0::stream
