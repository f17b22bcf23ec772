// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How the system names threads, for debuggers and traces. Each function is about the calling
// thread.
#pragma once

#include <cstdint>

namespace halyard::inline v0::base {

// Sets the name: at most 15 characters.
void set_thread_name(const char* name) noexcept;

// A number that is unique among the running threads of the process: the number that debuggers show,
// if the system has one.
std::uint64_t thread_number() noexcept;

}  // namespace halyard::inline v0::base
