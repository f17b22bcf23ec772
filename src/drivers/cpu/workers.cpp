// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/cpu/workers.h"

#include <sched.h>

#include <cassert>
#include <cstring>
#include <new>

#include "base/format.h"

namespace halyard::inline v0::cpu {
namespace {

// With the affinity from its first instruction on, so that what it touches first lies near.
int create_thread(pthread_t& thread, void* (*body)(void*), void* argument, const Processors* on) {
  if (on == nullptr) return pthread_create(&thread, nullptr, body, argument);
  const std::size_t size = CPU_ALLOC_SIZE(on->back() + 1);
  cpu_set_t* const set = CPU_ALLOC(on->back() + 1);
  if (set == nullptr) return ENOMEM;
  CPU_ZERO_S(size, set);
  for (const unsigned processor : *on) CPU_SET_S(processor, size, set);
  pthread_attr_t attributes;
  int code = pthread_attr_init(&attributes);
  if (code == 0) {
    code = pthread_attr_setaffinity_np(&attributes, size, set);
    if (code == 0) code = pthread_create(&thread, &attributes, body, argument);
    pthread_attr_destroy(&attributes);
  }
  CPU_FREE(set);
  return code;
}

}  // namespace

Workers::~Workers() { assert(count_ == 0); }

Status Workers::start(unsigned count, std::span<const Processors> on) noexcept {
  threads_.reset(new (std::nothrow) pthread_t[count]);
  if (threads_ == nullptr) {
    return error(StatusCode::kResourceExhausted, "cpu: no memory for {} workers", count);
  }
  const auto body = [](void* group) -> void* {
    static_cast<hcq::RingGroup*>(group)->serve();
    return nullptr;
  };
  for (; count_ < count; ++count_) {
    const Processors* const processors = on.empty() ? nullptr : &on[count_];
    if (const int code = create_thread(threads_[count_], body, &group_, processors); code != 0) {
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
