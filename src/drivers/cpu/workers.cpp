// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/cpu/workers.h"

#include <cassert>
#include <cstring>
#include <new>

#include "base/error_name.h"
#include "base/format.h"

namespace halyard::inline v0::cpu {

Workers::~Workers() { assert(count_ == 0); }

Status Workers::start(unsigned count, std::span<const Processors> on) noexcept {
  threads_.reset(new (std::nothrow) base::Thread[count]);
  if (threads_ == nullptr) {
    return error(StatusCode::kResourceExhausted, "cpu: no memory for {} workers", count);
  }
  const auto body = [](void* group) { static_cast<RingGroup*>(group)->serve(); };
  for (; count_ < count; ++count_) {
    // The affinity applies from the thread's first instruction, so that the memory it touches first
    // is on its node.
    std::span<const unsigned> processors;
    if (!on.empty()) processors = on[count_];
    if (const int code = threads_[count_].start("hy-worker", body, &group_, processors);
        code != 0) {
      const unsigned started = count_;
      stop();
      return Status(StatusCode::kResourceExhausted,
                    base::format("cpu: worker {} of {} could not be started", started + 1, count),
                    base::error_name(code));
    }
  }
  return {};
}

void Workers::stop() noexcept {
  group_.stop();
  for (; count_ != 0; --count_) threads_[count_ - 1].join();
}

}  // namespace halyard::inline v0::cpu
