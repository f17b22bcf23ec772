// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The suites, one source file each.
#pragma once

#include <span>

#include "conformance/conformance.h"

namespace halyard::inline v0::conformance {

std::span<const Case> semaphore_cases() noexcept;
std::span<const Case> callback_cases() noexcept;
std::span<const Case> submission_cases() noexcept;
std::span<const Case> order_cases() noexcept;
std::span<const Case> queue_cases() noexcept;
std::span<const Case> failure_cases() noexcept;
std::span<const Case> command_buffer_cases() noexcept;
std::span<const Case> constant_slot_cases() noexcept;
std::span<const Case> after_cases() noexcept;
std::span<const Case> debug_group_cases() noexcept;
std::span<const Case> event_cases() noexcept;
std::span<const Case> pool_cases() noexcept;
std::span<const Case> descriptor_set_cases() noexcept;
std::span<const Case> pipeline_layout_cases() noexcept;
std::span<const Case> transfer_cases() noexcept;
std::span<const Case> dispatch_cases() noexcept;
std::span<const Case> tensor_cases() noexcept;
std::span<const Case> indirect_cases() noexcept;
std::span<const Case> buffer_cases() noexcept;
std::span<const Case> memory_cases() noexcept;
std::span<const Case> view_cases() noexcept;
std::span<const Case> fence_cases() noexcept;
std::span<const Case> file_cases() noexcept;
std::span<const Case> executable_cases() noexcept;
std::span<const Case> executable_cache_cases() noexcept;
std::span<const Case> device_cases() noexcept;
std::span<const Case> host_call_cases() noexcept;
std::span<const Case> hcq_queue_cases() noexcept;
std::span<const Case> hcq_order_cases() noexcept;
std::span<const Case> hcq_change_cases() noexcept;
std::span<const Case> hcq_timeline_cases() noexcept;
std::span<const Case> hcq_graph_cases() noexcept;
std::span<const Case> hcq_memory_cases() noexcept;
std::span<const Case> misuse_cases() noexcept;
std::span<const Case> stress_cases() noexcept;

// The .hyx with the suite's kernels; generated from conformance.hyk.
std::span<const std::byte> built_in_kernels() noexcept;

}  // namespace halyard::inline v0::conformance
