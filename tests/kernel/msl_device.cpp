// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kernel/msl_device.h"

#include <algorithm>
#include <cstring>

#include "base/content_hash.h"
#include "base/format.h"
#include "kernel/device_abi.h"
#include "simulation/metal/msl/launch.h"
#include "simulation/metal/msl/library.h"

namespace halyard::testing {
namespace {

namespace msl = sim::msl;

// Memory of the bindings, with the usage that a driver declares. Each report ends the launch.
class Bindings final : public msl::Observer {
 public:
  msl::MemoryRange memory_at(std::uint64_t address) noexcept override {
    msl::MemoryRange found;
    for (const msl::MemoryRange& range : ranges) {
      if (address < range.begin || address >= range.end) continue;
      if (found.end == 0 || range.residency == msl::Residency::kReadWrite) found = range;
    }
    return found;
  }
  bool report(const msl::Report&) noexcept override { return false; }
  std::vector<msl::MemoryRange> ranges;
};

}  // namespace

bool has_msl_image(const kernel::Hyx& hyx) {
  return std::ranges::find(hyx.images(), kernel::kMetalTarget, &kernel::ImageInfo::target) !=
         hyx.images().end();
}

Status run_msl(const kernel::Hyx& hyx, std::string_view kernel,
               std::span<const std::size_t, 3> groups,
               std::span<const std::span<std::byte>> bindings,
               std::span<const std::byte> constants) {
  HALYARD_ASSIGN_OR_RETURN(const kernel::KernelInfo* const info, hyx.find(kernel));
  const auto image =
      std::ranges::find(hyx.images(), kernel::kMetalTarget, &kernel::ImageInfo::target);
  const msl::Library::Result compiled = msl::Library::compile(
      base::text_of(image->bytes),
      {.language_version = 0x30000, .math_mode = msl::MathMode::kSafe, .strict = true});
  if (compiled.library == nullptr) {
    return error(StatusCode::kInvalidArgument, "{}: {}", kernel, compiled.log);
  }
  const msl::FunctionResult function = compiled.library->function(kernel);
  if (function.function == nullptr) {
    return error(StatusCode::kNotFound, "{}: {}", kernel, function.log);
  }
  Bindings memory;
  std::vector<std::byte> pointers(8 * std::max<std::size_t>(bindings.size(), 1));
  for (std::size_t i = 0; i < bindings.size(); ++i) {
    const auto address = reinterpret_cast<std::uint64_t>(bindings[i].data());
    memory.ranges.push_back({address, address + bindings[i].size(),
                             info->bindings[i].access == kernel::Access::kRead
                                 ? msl::Residency::kRead
                                 : msl::Residency::kReadWrite});
    const msl::Argument& argument = function.function->info().arguments[0];
    for (const msl::Member& member : argument.members) {
      if (member.id == static_cast<std::int32_t>(i))
        std::memcpy(pointers.data() + member.offset, &address, sizeof address);
    }
  }
  std::vector<std::byte> padded(constants.begin(), constants.end());
  padded.resize(kernel::metal_constants_length(static_cast<std::uint32_t>(constants.size())));
  const msl::BufferBinding buffers[] = {
      {kernel::kMetalBindingsBuffer, reinterpret_cast<std::uint64_t>(pointers.data()),
       pointers.size(), false},
      {kernel::kMetalConstantsBuffer, reinterpret_cast<std::uint64_t>(padded.data()), padded.size(),
       false}};
  const auto& size = info->workgroup_size;
  msl::Launch launch;
  launch.grid = {static_cast<std::uint32_t>(groups[0] * size[0]),
                 static_cast<std::uint32_t>(groups[1] * size[1]),
                 static_cast<std::uint32_t>(groups[2] * size[2])};
  launch.group = {size[0], size[1], size[2]};
  launch.buffers = buffers;
  launch.check_races = true;
  launch.seed = 1;
  const msl::Outcome outcome = msl::run(*function.function, launch, &memory);
  if (outcome.fault == msl::Fault::kNone) return {};
  return error(StatusCode::kInternal, "{}: {}", msl::name(outcome.fault), outcome.report.text);
}

}  // namespace halyard::testing
