// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fmt/format.h>

#include <vector>

#include "base/format.h"
#include "commands.h"
#include "halyard/hal/device.h"
#include "halyard/hal/executable.h"
#include "hyx_json.h"

namespace halyard::inline v0::tools {
namespace {

void print(const kernel::KernelInfo& info) {
  const auto [x, y, z] = info.workgroup_size;
  fmt::print("kernel {}: workgroup {} x {} x {}", info.name, x, y, z);
  if (info.static_shared_bytes != 0) fmt::print(", {} shared bytes", info.static_shared_bytes);
  if (info.dynamic_shared_bytes != 0) fmt::print(", {} more at launch", info.dynamic_shared_bytes);
  if (!info.source.empty() && info.line != 0) fmt::print(" ({}:{})", info.source, info.line);
  if (!info.source.empty() && info.line == 0) fmt::print(" ({})", info.source);
  fmt::print("\n");
  for (std::size_t i = 0; i < info.bindings.size(); ++i) {
    const kernel::BindingInfo& binding = info.bindings[i];
    fmt::print("  binding  {:<3} {} {} {}", i, binding.name, to_string(binding.type),
               to_string(binding.access));
    if (binding.rank != 0) fmt::print(", tensor of rank {}", binding.rank);
    if (const auto tile = static_tile(binding); !tile.empty()) {
      fmt::print(", tile {}", fmt::join(tile, " x "));
    }
    fmt::print("\n");
  }
  for (std::size_t i = 0; i < info.constants.size(); ++i) {
    const kernel::ConstantInfo& constant = info.constants[i];
    fmt::print("  constant {:<3} {} {}\n", i, constant.name, to_string(constant.type));
  }
  if (info.may_overlap) fmt::print("  bindings may overlap\n");
  for (const kernel::EqualSizes& each : info.equal_sizes) {
    const auto [size, other] = names_of(info, each);
    fmt::print("  equal        {} = {}\n", size, other);
  }
}

// In the file's order; empty without a device.
Result<std::vector<hal::FunctionResources>> resources_on(const InspectOptions& options) {
  std::vector<hal::FunctionResources> all;
  if (options.device.empty()) return all;
  HALYARD_ASSIGN_OR_RETURN(const hal::Device device, hal::open(options.device));
  HALYARD_ASSIGN_OR_RETURN(const hal::Executable executable, device.load(options.file));
  for (std::size_t i = 0; i < executable.function_count(); ++i) {
    HALYARD_ASSIGN_OR_RETURN(const hal::Function function, executable.function(i));
    HALYARD_ASSIGN_OR_RETURN(all.emplace_back(), function.resources());
  }
  return all;
}

}  // namespace

Result<int> inspect(const InspectOptions& options) {
  HALYARD_ASSIGN_OR_RETURN(const kernel::Hyx hyx, kernel::Hyx::read(options.file));
  HALYARD_ASSIGN_OR_RETURN(const auto resources, resources_on(options));
  if (options.json) {
    Json shown = to_json(hyx);
    if (!options.device.empty()) shown["device"] = options.device;
    for (std::size_t i = 0; i < resources.size(); ++i) {
      shown["kernels"][i]["resources"] = {{"registers", resources[i].registers},
                                          {"shared_bytes", resources[i].shared_bytes},
                                          {"local_bytes", resources[i].local_bytes},
                                          {"groups_per_worker", resources[i].groups_per_worker}};
    }
    print_json(shown);
    return kDone;
  }
  fmt::print("{}: {} bytes, verified\n", hyx.name(), hyx.bytes().size());
  for (const kernel::KernelInfo& info : hyx.kernels()) print(info);
  for (const kernel::ImageInfo& image : hyx.images()) {
    fmt::print("image {} ({}): {} bytes\n", image.target, image.convention, image.bytes.size());
  }
  for (std::size_t i = 0; i < resources.size(); ++i) {
    fmt::print(
        "on {}: {}: {} registers, {} shared bytes, {} local bytes, {} workgroups at a time on each "
        "multiprocessor\n",
        options.device, hyx.kernels()[i].name, resources[i].registers, resources[i].shared_bytes,
        resources[i].local_bytes, resources[i].groups_per_worker);
  }
  return kDone;
}

}  // namespace halyard::inline v0::tools
