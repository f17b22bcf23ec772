// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kernel/metal_device.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "base/format.h"
#include "kernel/device_abi.h"
#include "simulation/metal/msl/launch.h"
#include "simulation/metal/msl/library.h"

namespace halyard::testing {
namespace {

namespace msl = sim::msl;

class Watcher final : public msl::Observer {
 public:
  msl::MemoryRange memory_at(std::uint64_t address) noexcept override {
    for (const msl::MemoryRange& range : ranges) {
      if (address >= range.begin && address < range.end) return range;
    }
    return {};
  }
  bool report(const msl::Report&) noexcept override { return false; }  // ends the launch

  std::vector<msl::MemoryRange> ranges;
};

std::uint64_t address_of(const void* memory) { return reinterpret_cast<std::uint64_t>(memory); }

Result<std::shared_ptr<const msl::Function>> function_of(const kernel::Hyx& hyx,
                                                         std::string_view kernel) {
  const std::string_view targets[] = {kMetalTarget};
  HALYARD_ASSIGN_OR_RETURN(const kernel::ImageInfo* const image,
                           hyx.image_for(targets, kernel::kMetalConvention));
  const std::string_view text(reinterpret_cast<const char*>(image->bytes.data()),
                              image->bytes.size());
  // The options that a driver sets (kernel/device_abi.h). The same text comes from the library's
  // cache.
  const msl::Library::Result result =
      msl::Library::compile(text, {.language_version = 3 << 16, .math_mode = msl::MathMode::kSafe});
  if (result.library == nullptr) {
    return error(StatusCode::kInvalidArgument, "{}: {}", hyx.name(), result.log);
  }
  const msl::FunctionResult found = result.library->function(kernel);
  if (found.function == nullptr) {
    return error(StatusCode::kInvalidArgument, "{}: no function {}: {}", hyx.name(), kernel,
                 found.log);
  }
  return found.function;
}

// The argument at this index; null: there is none.
const msl::Argument* argument(const msl::FunctionInfo& info, std::uint32_t index) {
  const auto found = std::ranges::find_if(info.arguments, [&](const msl::Argument& each) {
    return each.kind == msl::ArgumentKind::kBuffer && each.index == index;
  });
  return found == info.arguments.end() ? nullptr : &*found;
}

}  // namespace

bool has_metal_image(const kernel::Hyx& hyx) {
  return std::ranges::find(hyx.images(), kMetalTarget, &kernel::ImageInfo::target) !=
         hyx.images().end();
}

Status run_on_metal(const kernel::Hyx& hyx, std::string_view kernel,
                    const std::array<std::size_t, 3>& groups,
                    std::span<const std::span<std::byte>> bindings,
                    std::span<const std::byte> constants) {
  HALYARD_ASSIGN_OR_RETURN(const kernel::KernelInfo* const info, hyx.find(kernel));
  HALYARD_ASSIGN_OR_RETURN(const auto function, function_of(hyx, kernel));
  if (bindings.size() != info->bindings.size() || constants.size() != info->constants_bytes) {
    return error(StatusCode::kInvalidArgument,
                 "{}: {} bindings and {} bytes of constants are given", kernel, bindings.size(),
                 constants.size());
  }
  std::vector<msl::BufferBinding> buffers;
  Watcher watcher;
  alignas(16) std::byte addresses[kernel::kMaxBindings * 16] = {};
  if (!bindings.empty()) {
    const msl::Argument* const at = argument(function->info(), kernel::kMetalBindingsBuffer);
    if (at == nullptr || !at->argument_buffer || !at->constant_space ||
        at->size > sizeof addresses) {
      return error(StatusCode::kInvalidArgument, "{}: buffer 0 is no argument buffer", kernel);
    }
    for (std::size_t i = 0; i < bindings.size(); ++i) {
      const auto member =
          std::ranges::find(at->members, static_cast<std::int32_t>(i), &msl::Member::id);
      if (member == at->members.end() || member->type != msl::DataType::kPointer) {
        return error(StatusCode::kInvalidArgument, "{}: no pointer has id {}", kernel, i);
      }
      const std::uint64_t address = address_of(bindings[i].data());
      std::memcpy(addresses + member->offset, &address, sizeof address);
      const bool is_read = info->bindings[i].access == kernel::Access::kRead;
      watcher.ranges.push_back({address, address + bindings[i].size(),
                                is_read ? msl::Residency::kRead : msl::Residency::kReadWrite});
    }
    // If bindings overlap, an access counts as an access to the written binding.
    std::ranges::stable_sort(
        watcher.ranges, [](const auto& a, const auto& b) { return a.residency > b.residency; });
    buffers.push_back({kernel::kMetalBindingsBuffer, address_of(addresses), at->size, false});
  }
  alignas(16) std::byte values[kernel::kMaxConstantsBytes] = {};
  std::ranges::copy(constants, values);
  if (!info->constants.empty()) {
    buffers.push_back({kernel::kMetalConstantsBuffer, address_of(values),
                       kernel::metal_constants_length(info->constants_bytes), false});
  }
  msl::Launch launch;
  const auto& size = info->workgroup_size;
  const auto items = [&](std::size_t d) { return static_cast<std::uint32_t>(groups[d] * size[d]); };
  launch.grid = {items(0), items(1), items(2)};
  launch.group = {size[0], size[1], size[2]};
  launch.buffers = buffers;
  launch.seed = 1;
  launch.check_races = std::ranges::all_of(groups, [](std::size_t count) { return count <= 4; });
  launch.fail_weak_exchange = true;
  const msl::Outcome outcome = msl::run(*function, launch, &watcher);
  if (outcome.fault == msl::Fault::kNone) return {};
  return error(StatusCode::kInternal, "{}: {}: {}", kernel, msl::name(outcome.fault),
               outcome.report.text);
}

}  // namespace halyard::testing
