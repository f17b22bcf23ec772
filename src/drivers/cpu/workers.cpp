// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/cpu/workers.h"

#include <cassert>
#include <cstring>
#include <new>

#include "base/format.h"

namespace halyard::inline v0::cpu {

Workers::~Workers() { assert(count_ == 0); }

Status Workers::start(unsigned count) noexcept {
  threads_.reset(new (std::nothrow) pthread_t[count]);
  if (threads_ == nullptr) {
    return error(StatusCode::kResourceExhausted, "cpu: no memory for {} workers", count);
  }
  const auto body = [](void* group) -> void* {
    static_cast<hcq::RingGroup*>(group)->serve();
    return nullptr;
  };
  for (; count_ < count; ++count_) {
    if (const int code = pthread_create(&threads_[count_], nullptr, body, &group_); code != 0) {
      const unsigned started = count_;
      stop();
      return Status(StatusCode::kResourceExhausted,
                    fmt::format("cpu: worker {} of {} could not be started", started + 1, count),
                    strerrorname_np(code));
    }
    pthread_setname_np(threads_[count_], "hy-worker");
  }
  return {};
}

void Workers::stop() noexcept {
  group_.stop();
  for (; count_ != 0; --count_) pthread_join(threads_[count_ - 1], nullptr);
}

}  // namespace halyard::inline v0::cpu
