// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hyx_json.h"

#include <fmt/format.h>

namespace halyard::inline v0::tools {

std::span<const std::uint32_t> static_tile(const kernel::BindingInfo& binding) {
  return {binding.tile.data(), binding.tile[0] != 0 ? binding.rank : 0U};
}

std::array<std::string, 2> names_of(const kernel::KernelInfo& info,
                                    const kernel::EqualSizes& sizes) {
  return {fmt::format("{}.size{}", info.bindings[sizes.binding].name, sizes.dimension),
          fmt::format("{}.size{}", info.bindings[sizes.other_binding].name, sizes.other_dimension)};
}

namespace {

Json to_json(const kernel::KernelInfo& info) {
  Json bindings = Json::array();
  for (const kernel::BindingInfo& binding : info.bindings) {
    Json& shown = bindings.emplace_back(Json{{"name", binding.name},
                                             {"access", to_string(binding.access)},
                                             {"type", to_string(binding.type)}});
    if (binding.rank != 0) shown["rank"] = binding.rank;
    if (const auto tile = static_tile(binding); !tile.empty()) shown["tile"] = tile;
  }
  Json constants = Json::array();
  for (const kernel::ConstantInfo& constant : info.constants) {
    constants.push_back({{"name", constant.name},
                         {"type", to_string(constant.type)},
                         {"offset", constant.offset},
                         {"size", constant.size}});
  }
  Json equal_sizes = Json::array();
  for (const kernel::EqualSizes& each : info.equal_sizes) {
    equal_sizes.push_back(names_of(info, each));
  }
  return {{"name", info.name},
          {"workgroup_size", info.workgroup_size},
          {"bindings", std::move(bindings)},
          {"constants", std::move(constants)},
          {"equal_sizes", std::move(equal_sizes)},
          {"constants_bytes", info.constants_bytes},
          {"static_shared_bytes", info.static_shared_bytes},
          {"dynamic_shared_bytes", info.dynamic_shared_bytes},
          {"may_overlap", info.may_overlap},
          {"source", info.source},
          {"line", info.line}};
}

}  // namespace

Json to_json(const kernel::Hyx& hyx) {
  Json kernels = Json::array();
  for (const kernel::KernelInfo& info : hyx.kernels()) kernels.push_back(to_json(info));
  Json images = Json::array();
  for (const kernel::ImageInfo& image : hyx.images()) {
    images.push_back({{"target", image.target},
                      {"convention", image.convention},
                      {"bytes", image.bytes.size()}});
  }
  Json sources = Json::array();
  for (const kernel::SourceInfo& source : hyx.sources()) sources.push_back(source.name);
  return {{"file", hyx.name()},
          {"bytes", hyx.bytes().size()},
          {"kernels", std::move(kernels)},
          {"images", std::move(images)},
          {"sources", std::move(sources)}};
}

}  // namespace halyard::inline v0::tools
