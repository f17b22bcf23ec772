// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/thread.h"

#include <sched.h>

#include <cerrno>

#include "base/native_call.h"

namespace halyard::inline v0::base {

namespace {

HALYARD_CALL_SITE(kSet, "thread.processors", ENOMEM);
HALYARD_CALL_SITE(kAttributes, "thread.attributes", ENOMEM, Failing::kCode);
HALYARD_CALL_SITE(kStart, "thread.start", EAGAIN, Failing::kCode);
HALYARD_CALL_SITE(kTryJoin, "thread.try_join", EBUSY, Failing::kCode);
HALYARD_CALL_SITE(kJoin, "thread.join", 0, Failing::kCode,
                  "pthread_join(3) fails only for an invalid thread, or one that is joined twice");

}  // namespace

std::uint64_t this_thread() noexcept {
  static constinit thread_local char anchor = 0;
  return reinterpret_cast<std::uintptr_t>(&anchor);
}

int Thread::start(const char* name, void (*body)(void*), void* argument,
                  std::span<const unsigned> processors) noexcept {
  name_ = name;
  body_ = body;
  argument_ = argument;
  const auto create = [&](const pthread_attr_t* attributes) {
    return native_call(kStart, [&] { return pthread_create(&handle_, attributes, &run, this); });
  };
  int code = 0;
  if (processors.empty()) {
    code = create(nullptr);
  } else {
    const unsigned count = processors.back() + 1;
    const std::size_t size = CPU_ALLOC_SIZE(count);
    cpu_set_t* const set = native_call(kSet, [&] { return CPU_ALLOC(count); });
    if (set == nullptr) return ENOMEM;
    CPU_ZERO_S(size, set);
    for (const unsigned processor : processors) CPU_SET_S(processor, size, set);
    pthread_attr_t attributes;
    code = pthread_attr_init(&attributes);  // allocates nothing in the C library here
    if (code == 0) {
      code = native_call(kAttributes,
                         [&] { return pthread_attr_setaffinity_np(&attributes, size, set); });
      if (code == 0) code = create(&attributes);
      pthread_attr_destroy(&attributes);
    }
    CPU_FREE(set);
  }
  started_ = code == 0;
  return code;
}

// The thread sets its own name, so that the name is known as soon as it runs.
void* Thread::run(void* self) {
  const Thread& thread = *static_cast<Thread*>(self);
  pthread_setname_np(pthread_self(), thread.name_);
  thread.body_(thread.argument_);
  return nullptr;
}

void Thread::join() noexcept {
  native_call(kJoin, [&] { return pthread_join(handle_, nullptr); });
  started_ = false;
}

bool Thread::try_join() noexcept {
  if (native_call(kTryJoin, [&] { return pthread_tryjoin_np(handle_, nullptr); }) != 0) {
    return false;
  }
  started_ = false;
  return true;
}

void Thread::detach() noexcept {
  pthread_detach(handle_);  // fails only as pthread_join(3) does
  started_ = false;
}

}  // namespace halyard::inline v0::base
