// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/cpu/topology.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "base/file.h"
#include "base/format.h"

namespace halyard::inline v0::cpu {
namespace {

bool read_number(std::string_view& text, unsigned& number) noexcept {
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return code == std::errc();
}

// The allowed processors of a list such as "0-3,8"; empty if there is no such file.
Processors read_list(const std::string& path, const Processors& allowed) {
  const std::string list = base::read_text(path);
  Processors found;
  std::string_view text = list;
  for (unsigned first = 0; read_number(text, first);) {
    unsigned last = first;
    if (text.starts_with('-')) {
      text.remove_prefix(1);
      if (!read_number(text, last)) break;
    }
    const auto begin = std::ranges::lower_bound(allowed, first);
    found.insert(found.end(), begin, std::ranges::upper_bound(begin, allowed.end(), last));
    if (!text.starts_with(',')) break;
    text.remove_prefix(1);
  }
  return found;
}

}  // namespace

Topology Topology::read(const std::string& folder, const Processors& allowed) {
  Topology topology;
  for (const unsigned processor : allowed) {
    Processors core = read_list(
        base::format("{}/cpu/cpu{}/topology/thread_siblings_list", folder, processor), allowed);
    if (std::ranges::find(core, processor) == core.end()) core = {processor};
    if (core.front() == processor) topology.cores.push_back(std::move(core));
  }
  const std::string nodes = folder + "/node";
  const auto names = base::list_folder(nodes);
  for (const std::string& name : names.ok() ? *names : std::vector<std::string>()) {
    std::string_view text = name;
    unsigned number = 0;
    if (!text.starts_with("node")) continue;
    text.remove_prefix(4);
    if (!read_number(text, number) || !text.empty()) continue;
    Processors processors = read_list(base::format("{}/{}/cpulist", nodes, name), allowed);
    if (!processors.empty()) topology.nodes.push_back({number, std::move(processors)});
  }
  std::ranges::sort(topology.nodes, {}, &Node::number);
  return topology;
}

Result<Placement> place(const Topology& topology, Affinity affinity, unsigned ordinal,
                        unsigned devices, unsigned workers) {
  Placement placement;
  if (affinity == Affinity::kCore) {
    const auto cores = static_cast<unsigned>(topology.cores.size());
    if (workers == 0) workers = std::max(cores / devices, 1u);
    if (workers * devices > cores) {
      return error(StatusCode::kInvalidArgument,
                   "cpu: affinity=core: {} of {}; this process may use {}",
                   base::counted(devices, "device"), base::counted(workers, "worker"),
                   base::counted(cores, "core"));
    }
    const auto first = topology.cores.begin() + ordinal * workers;
    placement.processors.assign(first, first + workers);
  } else if (affinity == Affinity::kNode) {
    const auto nodes = static_cast<unsigned>(topology.nodes.size());
    if (nodes == 0) {
      return error(StatusCode::kUnimplemented,
                   "cpu: affinity=node: the system reports no NUMA nodes");
    }
    const unsigned index = ordinal % nodes;
    const Topology::Node& node = topology.nodes[index];
    const unsigned sharing = (devices - index + nodes - 1) / nodes;
    const auto processors = static_cast<unsigned>(node.processors.size());
    if (workers == 0) workers = std::max(processors / sharing, 1u);
    placement.processors.assign(workers, node.processors);
    placement.node = node.number;
  }
  placement.workers = workers;
  return placement;
}

}  // namespace halyard::inline v0::cpu
