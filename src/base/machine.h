// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Properties of the machine that this process runs on.
#pragma once

#include <cstdint>
#include <string>

namespace halyard::inline v0::base {

std::string processor_name();          // "AMD EPYC 7B13"; "CPU" if unknown
std::uint64_t memory_size() noexcept;  // bytes; 0 if unknown
unsigned processor_count() noexcept;   // that this process may use; at least 1

}  // namespace halyard::inline v0::base
