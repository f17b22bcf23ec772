// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How the system names threads, for debuggers and traces. Each function is about the calling
// thread.
#pragma once

#include <cstdint>

namespace halyard::inline v0::base {

// At most 15 characters.
void set_thread_name(const char* name) noexcept;

// A number that no other running thread of the process has: the one that debuggers show, if the
// system has such a number.
std::uint64_t thread_number() noexcept;

}  // namespace halyard::inline v0::base
