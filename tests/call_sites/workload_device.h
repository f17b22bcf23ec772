// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sections of the workload that run on the device of any URI.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include "call_sites/workload.h"
#include "halyard/halyard.h"

namespace halyard::testing {

constexpr std::chrono::seconds kPatience{20};  // a longer wait hangs
constexpr std::uint32_t kPattern = 0x5aa5'0ff0;

Status wrong(std::string_view what);
bool all_are(std::span<const std::byte> bytes, std::uint32_t word);
// An error unless all words of `buffer` are `word`.
Status holds(const hal::Buffer& buffer, std::uint32_t word);
hal::BufferInfo host_visible(std::uint64_t size);

// Whole slabs, staging, transfers, pools and further queues.
Status use_memory(std::string_view uri);
// Imported memory of the user.
Status lend_memory(std::string_view uri);
Status run_kernel(const Workplace& workplace, std::string_view uri);
// Replays with other slots each time, one of them empty.
Status replay_graphs(const Workplace& workplace, std::string_view uri);

}  // namespace halyard::testing
