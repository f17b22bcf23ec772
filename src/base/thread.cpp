// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/thread.h"

#include <sched.h>

#include <cerrno>

namespace halyard::inline v0::base {

std::uint64_t this_thread() noexcept {
  static constinit thread_local char anchor = 0;
  return reinterpret_cast<std::uintptr_t>(&anchor);
}

int Thread::start(const char* name, void (*body)(void*), void* argument,
                  std::span<const unsigned> processors) noexcept {
  name_ = name;
  body_ = body;
  argument_ = argument;
  int code = 0;
  if (processors.empty()) {
    code = pthread_create(&handle_, nullptr, &run, this);
  } else {
    const unsigned count = processors.back() + 1;
    const std::size_t size = CPU_ALLOC_SIZE(count);
    cpu_set_t* const set = CPU_ALLOC(count);
    if (set == nullptr) return ENOMEM;
    CPU_ZERO_S(size, set);
    for (const unsigned processor : processors) CPU_SET_S(processor, size, set);
    pthread_attr_t attributes;
    code = pthread_attr_init(&attributes);
    if (code == 0) {
      code = pthread_attr_setaffinity_np(&attributes, size, set);
      if (code == 0) code = pthread_create(&handle_, &attributes, &run, this);
      pthread_attr_destroy(&attributes);
    }
    CPU_FREE(set);
  }
  started_ = code == 0;
  return code;
}

// The thread names itself, so that whoever asks while it works finds the name.
void* Thread::run(void* self) {
  const Thread& thread = *static_cast<Thread*>(self);
  pthread_setname_np(pthread_self(), thread.name_);
  thread.body_(thread.argument_);
  return nullptr;
}

void Thread::join() noexcept {
  pthread_join(handle_, nullptr);
  started_ = false;
}

bool Thread::try_join() noexcept {
  if (pthread_tryjoin_np(handle_, nullptr) != 0) return false;
  started_ = false;
  return true;
}

}  // namespace halyard::inline v0::base
