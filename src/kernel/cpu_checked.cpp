// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kernel/cpu_checked.h"

#include <algorithm>
#include <cassert>
#include <csetjmp>
#include <cstdint>

#include "base/format.h"

namespace halyard::inline v0::kernel {
namespace {

// The workgroup that this thread runs.
struct Frame {
  const CheckedCall* call;
  const CheckedWorkgroup* workgroup;
  std::jmp_buf back;
};
thread_local Frame* running = nullptr;

// An index may be negative.
std::int64_t signed_index(std::size_t index) noexcept { return static_cast<std::int64_t>(index); }

std::string list(const std::size_t (&numbers)[kMaxRank], std::size_t rank) {
  std::string text;
  for (std::size_t d = 0; d < rank; ++d) {
    base::append(text, "{}{}", d != 0 ? ", " : "", signed_index(numbers[d]));
  }
  return text;
}

// The rest of `type` after `prefix`, the kernel's name and a separator: the parameter that a type
// of kernel/checked.h belongs to.
std::string_view parameter_of(std::string_view type, std::string_view prefix,
                              std::string_view kernel) noexcept {
  if (!type.starts_with(prefix)) return {};
  type.remove_prefix(prefix.size());
  if (!type.starts_with(kernel) || type.size() <= kernel.size() + 1) return {};
  return type.substr(kernel.size() + 1);
}

std::string of_binding(const BindingInfo& binding, std::size_t bytes, std::int64_t index) {
  const std::size_t elements = bytes / size_of(binding.type);
  if (binding.rank == 0) {
    return base::format("{}[{}] is beyond its {}", binding.name, index,
                        base::counted(elements, "element"));
  }
  return base::format(
      "element {} of {} is beyond its buffer of {}, which its sizes or strides exceed", index,
      binding.name, base::counted(elements, "element"));
}

// `type` is 'NAME' or 'NAME' (aka 'TYPE'), as clang writes it.
std::string of_array(const CheckedCall& call, const CheckedWorkgroup& workgroup,
                     std::string_view type, std::int64_t index) {
  const std::string_view quoted = type.substr(std::min<std::size_t>(type.size(), 1));
  const std::string_view name = quoted.substr(0, quoted.find('\''));
  const KernelInfo& kernel = *call.kernel;
  if (const auto x = parameter_of(name, "hy$array$", kernel.name); !x.empty()) {
    const auto binding = std::ranges::find(kernel.bindings, x, &BindingInfo::name);
    if (binding != kernel.bindings.end()) {
      return of_binding(*binding, call.bytes[binding - kernel.bindings.begin()], index);
    }
    for (const CheckedArray* array = workgroup.arrays; array->name != nullptr; ++array) {
      if (array->name != x) continue;
      return array->is_private != 0
                 ? base::format("HY_MY({}, {}) is beyond its {}", x, index,
                                base::counted(array->count, "element"))
                 : base::format("{}[{}] is beyond its {}", x, index,
                                base::counted(array->count, "element"));
    }
  }
  if (const auto x = parameter_of(name, "hy$row$", kernel.name); !x.empty()) {
    const std::size_t bracket = std::min(type.find('['), type.size() - 1) + 1;
    return base::format("a row of {} has no column {}, of {}", x, index,
                        type.substr(bracket, type.find(']', bracket) - bracket));
  }
  return base::format("an array of type '{}' has no element {}", name, index);
}

}  // namespace

std::string describe(const CheckedCall& call, const CheckedWorkgroup& workgroup,
                     const CheckedFault& fault) {
  const std::size_t(&group)[3] = workgroup.at.group;
  std::string text = base::format("kernel '{}', workgroup ({}, {}, {}): ", call.kernel->name,
                                  group[0], group[1], group[2]);
  if (fault.rank != 0) {
    base::append(text, "{}[{}] is outside {}({})", fault.array, list(fault.index, fault.rank),
                 fault.is_tile != 0 ? "the tile of this group, " : "",
                 list(fault.size, fault.rank));
  } else if (fault.array != nullptr) {
    text += of_array(call, workgroup, fault.array, signed_index(fault.index[0]));
  } else {
    text += "an atomic uses the element behind the last of its array";
  }
  base::append(text, " ({}:{})", fault.file, fault.line);
  return text;
}

void FaultRecord::report(std::string_view message) noexcept {
  base::LockGuard lock(mutex_);
  if (found_.load(std::memory_order_relaxed)) return;
  cause_ = Status(StatusCode::kDeviceLost, message, to_string(StatusCode::kOutOfRange));
  found_.store(true, std::memory_order_release);
}

void handle_fault(const CheckedFault* fault) {
  // Read before report(), in which a simulation may run other work on this thread.
  Frame* const frame = running;
  assert(frame != nullptr && "a fault outside of run_checked()");
  frame->call->faults->report(describe(*frame->call, *frame->workgroup, *fault));
  // Skips only C frames of the kernel; no destructor is pending, as the text's has run.
  std::longjmp(frame->back, 1);
}

void run_checked(const Workgroup* workgroup, void* const* call_words, const void* constants) {
  const CheckedCall& call = *reinterpret_cast<const CheckedCall*>(call_words);
  if (call.faults->found()) return;
  CheckedWorkgroup checked{*workgroup, call.bytes, nullptr};
  Frame frame;
  frame.call = &call;
  frame.workgroup = &checked;
  running = &frame;
  if (setjmp(frame.back) == 0) call.entry(&checked.at, call.buffers, constants);
  running = nullptr;
}

}  // namespace halyard::inline v0::kernel
