// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/format.h"
#include "commands.h"
#include "halyard/hal/device.h"
#include "json.h"

namespace halyard::inline v0::tools {
namespace {

Result<std::vector<hal::DeviceInfo>> find(const std::string& uri) {
  if (uri.empty()) return hal::enumerate();
  HALYARD_ASSIGN_OR_RETURN(const auto opened, hal::open_all(uri));
  std::vector<hal::DeviceInfo> infos;
  for (const hal::Device& device : opened) infos.push_back(device.info());
  return infos;
}

Json to_json(const hal::DeviceInfo& info) {
  return {{"uri", info.uri},
          {"driver", info.driver},
          {"name", info.name},
          {"workers", info.workers},
          {"memory_bytes", info.memory_size},
          {"targets", info.targets},
          {"limits",
           {{"max_buffer_size", info.limits.max_buffer_size},
            {"max_groups", info.limits.max_groups},
            {"max_workgroup_items", info.limits.max_workgroup_items},
            {"max_shared_bytes", info.limits.max_shared_bytes},
            {"max_bindings", info.limits.max_bindings},
            {"max_constants_bytes", info.limits.max_constants_bytes},
            {"max_in_flight", info.limits.max_in_flight},
            {"max_backlog", info.limits.max_backlog},
            {"indirect_dispatch", info.limits.indirect_dispatch}}}};
}

constexpr double kGibibyte = 1024.0 * 1024.0 * 1024.0;

}  // namespace

Result<int> devices(const DevicesOptions& options) {
  HALYARD_ASSIGN_OR_RETURN(const auto infos, find(options.uri));
  if (options.json) {
    Json list = Json::array();
    for (const hal::DeviceInfo& info : infos) list.push_back(to_json(info));
    print_json({{"devices", std::move(list)}});
    return kDone;
  }
  std::size_t uri = 3;
  std::size_t name = 4;
  for (const hal::DeviceInfo& info : infos) {
    uri = std::max(uri, info.uri.size());
    name = std::max(name, info.name.size());
  }
  fmt::print("{:{}}  {:{}}  {:>7}  {:>11}  {}\n", "URI", uri, "NAME", name, "WORKERS", "MEMORY",
             "TARGETS");
  for (const hal::DeviceInfo& info : infos) {
    fmt::print("{:{}}  {:{}}  {:>7}  {:>7.1f} GiB  {}\n", info.uri, uri, info.name, name,
               info.workers, static_cast<double>(info.memory_size) / kGibibyte,
               fmt::join(info.targets, " "));
  }
  return kDone;
}

}  // namespace halyard::inline v0::tools
