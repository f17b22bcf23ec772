// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fmt/format.h>

#include <vector>

#include "base/format.h"
#include "commands.h"
#include "compiler/code_object.h"
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

// The kernel metadata of an AMD code object. Empty for other images, including those whose
// convention uses another layout.
compiler::CodeObject code_object_of(const kernel::ImageInfo& image) {
  if (!image.target.starts_with("hsaco-")) return {};
  auto read = compiler::read_code_object(
      {reinterpret_cast<const char*>(image.bytes.data()), image.bytes.size()}, image.target);
  return read.ok() ? *std::move(read) : compiler::CodeObject{};
}

void print(const compiler::CodeObject& object) {
  if (object.kernels.empty()) return;
  fmt::print("  for {}\n", object.target);
  for (const compiler::CodeObjectKernel& kernel : object.kernels) {
    fmt::print("  {}: {} vector and {} scalar registers", kernel.name, kernel.vector_registers,
               kernel.scalar_registers);
    if (kernel.accumulation_registers != 0) {
      fmt::print(", {} for accumulation", kernel.accumulation_registers);
    }
    if (kernel.vector_spills + kernel.scalar_spills != 0) {
      fmt::print(", {} spilled", kernel.vector_spills + kernel.scalar_spills);
    }
    fmt::print(
        ", {} shared and {} private bytes, {} bytes of arguments, waves of {}, up to {} items\n",
        kernel.shared_bytes, kernel.private_bytes, kernel.argument_bytes, kernel.wave_size,
        kernel.max_items);
  }
}

Json to_json(const compiler::CodeObject& object) {
  Json kernels = Json::array();
  for (const compiler::CodeObjectKernel& kernel : object.kernels) {
    kernels.push_back({{"name", kernel.name},
                       {"vector_registers", kernel.vector_registers},
                       {"scalar_registers", kernel.scalar_registers},
                       {"accumulation_registers", kernel.accumulation_registers},
                       {"vector_spills", kernel.vector_spills},
                       {"scalar_spills", kernel.scalar_spills},
                       {"shared_bytes", kernel.shared_bytes},
                       {"private_bytes", kernel.private_bytes},
                       {"argument_bytes", kernel.argument_bytes},
                       {"wave_size", kernel.wave_size},
                       {"max_items", kernel.max_items}});
  }
  return {{"target", object.target}, {"kernels", std::move(kernels)}};
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
  std::vector<compiler::CodeObject> objects;
  for (const kernel::ImageInfo& image : hyx.images()) {
    objects.push_back(code_object_of(image));
  }
  if (options.json) {
    Json shown = to_json(hyx);
    for (std::size_t i = 0; i < objects.size(); ++i) {
      if (!objects[i].kernels.empty()) shown["images"][i]["code_object"] = to_json(objects[i]);
    }
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
  for (std::size_t i = 0; i < objects.size(); ++i) {
    const kernel::ImageInfo& image = hyx.images()[i];
    fmt::print("image {} ({}): {} bytes\n", image.target, image.convention, image.bytes.size());
    print(objects[i]);
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
