// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/driver/executable.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/format.h"
#include "simulation/driver/command_buffer.h"
#include "simulation/scheduler.h"

namespace halyard::inline v0::sim {
namespace {

// Linking an image takes as long as running a whole seed, so each image is linked once per process.
// Callers cannot observe the sharing, because images are immutable.
Result<Ref<kernel::CpuImage>> link(const kernel::Hyx& file) {
  struct Linked {
    std::vector<std::byte> bytes;
    Ref<kernel::CpuImage> image;
  };
  static std::vector<Linked> all;
  for (const Linked& linked : all) {
    if (std::ranges::equal(linked.bytes, file.bytes())) return linked.image;
  }
  HALYARD_ASSIGN_OR_RETURN(Ref<kernel::CpuImage> image, kernel::CpuImage::load(file));
  all.push_back({{file.bytes().begin(), file.bytes().end()}, image});
  return image;
}

}  // namespace

Result<Ref<hal::ExecutableImpl>> Executable::load(kernel::Hyx file) {
  HALYARD_ASSIGN_OR_RETURN(Ref<kernel::CpuImage> image, link(file));
  HALYARD_ASSIGN_OR_RETURN(auto entries, image->entries(file));
  return Ref<hal::ExecutableImpl>(Ref<Executable>::adopt(
      new Executable(std::move(file), std::move(image), std::move(entries))));
}

void Executable::run(const hal::DispatchCommand& command, const hal::BoundRange* table) const {
  std::vector<void*> buffers;
  for (std::uint32_t i = 0; i < command.binding_count; ++i) {
    buffers.push_back(address_of(hal::bind(command.bindings[i], table)));
  }
  std::uint32_t groups[3];
  if (command.counts != nullptr) {
    std::memcpy(groups, address_of(hal::bind(*command.counts, table)), sizeof groups);
  } else {
    std::ranges::copy(command.groups, groups);
  }
  std::vector<Workgroup> left;
  for (std::size_t z = 0; z < groups[2]; ++z) {
    for (std::size_t y = 0; y < groups[1]; ++y) {
      for (std::size_t x = 0; x < groups[0]; ++x) {
        left.push_back({{x, y, z}, {groups[0], groups[1], groups[2]}});
      }
    }
  }
  Random& random = Scheduler::current()->random();
  for (; !left.empty(); left.pop_back()) {
    std::swap(left[random.below(left.size())], left.back());
    entries_[command.function](&left.back(), buffers.data(), command.constants);
  }
}

}  // namespace halyard::inline v0::sim
