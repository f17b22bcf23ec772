// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace halyard::inline v0::sim::ptx {

// The output of vprintf. `arguments` has the layout of a C struct of integers of 4 or 8 bytes and
// doubles. `read_string` returns the string at an address, for %s.
std::string format_print(
    std::string_view format, std::span<const std::byte> arguments,
    const std::function<std::optional<std::string>(std::uint64_t)>& read_string);

}  // namespace halyard::inline v0::sim::ptx
