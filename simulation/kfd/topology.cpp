// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/kfd/topology.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "simulation/kfd/text.h"

namespace halyard::inline v0::sim::kfd {
namespace {

constexpr std::uint32_t align(std::uint32_t value, std::uint32_t to) {
  return (value + to - 1) / to * to;
}

using Pairs = std::initializer_list<std::pair<const char*, std::uint64_t>>;

std::string lines(Pairs pairs) {
  std::string text;
  for (const auto& [name, value] : pairs) text += join(name, " ", value, "\n");
  return text;
}

std::string properties(const Node& node) {
  return lines({{"cpu_cores_count", 0},
                {"simd_count", node.simd_count},
                {"mem_banks_count", 1},
                {"caches_count", 1},
                {"io_links_count", 1},
                {"p2p_links_count", 0},
                {"cpu_core_id_base", 0},
                {"simd_id_base", 0x80001000},
                {"max_waves_per_simd", node.max_waves_per_simd},
                {"lds_size_in_kb", 64},
                {"gds_size_in_kb", 0},
                {"num_gws", 64},
                {"wave_front_size", node.wave_front_size},
                {"array_count", node.array_count},
                {"simd_arrays_per_engine", node.simd_arrays_per_engine},
                {"cu_per_simd_array", node.cu_per_simd_array},
                {"simd_per_cu", node.simd_per_cu},
                {"max_slots_scratch_cu", 32},
                {"gfx_target_version", node.gfx_target_version},
                {"vendor_id", 0x1002},
                {"device_id", node.device_id},
                {"location_id", node.location_id},
                {"domain", 0},
                {"drm_render_minor", node.drm_render_minor},
                {"hive_id", 0},
                {"num_sdma_engines", node.num_sdma_engines},
                {"num_sdma_xgmi_engines", node.num_sdma_xgmi_engines},
                {"num_sdma_queues_per_engine", 8},
                {"num_cp_queues", 24},
                {"max_engine_clk_fcompute", 2100},
                {"local_mem_size", 0},
                {"fw_version", 1000},
                {"capability", 0x28060280},
                {"debug_prop", 1495},
                {"sdma_fw_version", 20},
                {"unique_id", 0x1000 + node.gpu_id},
                {"num_xcc", node.num_xcc},
                {"max_engine_clk_ccompute", 4000}});
}

// A block of a device, as the firmware's discovery table lists it: amdgpu/amdgpu_discovery.c.
struct Block {
  const char* hardware_id;
  int major, minor, revision;
};

std::initializer_list<Block> blocks(const Node& node) {
  // GC 11, HDP 41, SDMA0 42, NBIF 108: soc15_hw_ip.h.
  static constexpr std::initializer_list<Block> kGfx11 = {
      {"11", 11, 0, 0}, {"41", 6, 0, 0}, {"42", 6, 0, 0}, {"108", 4, 3, 0}};
  static constexpr std::initializer_list<Block> kGfx942 = {
      {"11", 9, 4, 3}, {"41", 4, 4, 2}, {"42", 4, 4, 2}, {"108", 7, 9, 0}};
  return node.is_gfx9() ? kGfx942 : kGfx11;
}

}  // namespace

const std::vector<Node>& nodes() {
  static const std::vector<Node> kNodes = {
      {"gfx1100", 0xc959, 110000, 128, 192, 2, 12, 2, 8, 16, 32, 1, 2, 0, 0x744c, 0x0300,
       std::uint64_t{24} << 30},
      {"gfx942", 0x70b3, 90402, 129, 1216, 4, 32, 1, 10, 8, 64, 8, 2, 14, 0x74a1, 0x0500,
       std::uint64_t{192} << 30},
  };
  return kNodes;
}

std::uint32_t Node::waves() const {
  const std::uint32_t units = compute_units() / num_xcc;
  if (!is_gfx9()) return units * 32;
  return std::min(units * 40, array_count / simd_arrays_per_engine * 512);
}

std::uint32_t Node::control_stack_bytes() const {
  return align(40 + waves() * (is_gfx9() ? 8 : 12) + 8, 4096);
}

std::uint32_t Node::save_bytes() const {
  // Vector registers, scalar registers, LDS and hardware registers of a compute unit.
  const std::uint32_t unit = (is_gfx9() ? 0x80000 : 0x60000) + 0x4000 + 0x10000 + 0x1000;
  return control_stack_bytes() + align(compute_units() / num_xcc * unit, 4096);
}

std::uint32_t Node::debug_bytes() const { return align(waves() * 32, 64); }

std::uint32_t Node::save_area_bytes() const {
  return align((save_bytes() + debug_bytes()) * num_xcc, 4096);
}

std::map<std::string, std::string> sysfs_files() {
  std::map<std::string, std::string> files;
  const std::string topology = "/sys/devices/virtual/kfd/kfd/topology/";
  files[topology + "generation_id"] = join(1, "\n");
  files[topology + "system_properties"] =
      lines({{"platform_oem", 0}, {"platform_id", 0}, {"platform_rev", 0}});
  const std::string cpu = topology + "nodes/0/";
  files[cpu + "gpu_id"] = join(0, "\n");
  files[cpu + "name"] = std::string(1, '\n');
  files[cpu + "properties"] = lines({{"cpu_cores_count", 16},
                                     {"simd_count", 0},
                                     {"mem_banks_count", 1},
                                     {"caches_count", 0},
                                     {"io_links_count", nodes().size()},
                                     {"gfx_target_version", 0},
                                     {"drm_render_minor", 0}});
  files[cpu + "mem_banks/0/properties"] =
      lines({{"heap_type", 0}, {"size_in_bytes", std::uint64_t{64} << 30}, {"flags", 0}});
  for (std::size_t i = 0; i != nodes().size(); ++i) {
    const Node& node = nodes()[i];
    const std::string folder = join(topology, "nodes/", i + 1, "/");
    const auto link = [](std::uint64_t from, std::uint64_t to) {
      return lines({{"type", 2},
                    {"version_major", 0},
                    {"version_minor", 0},
                    {"node_from", from},
                    {"node_to", to},
                    {"weight", 20},
                    {"min_latency", 0},
                    {"max_latency", 0},
                    {"min_bandwidth", 0},
                    {"max_bandwidth", 0},
                    {"flags", 1}});
    };
    files[folder + "gpu_id"] = join(node.gpu_id, "\n");
    files[folder + "name"] = join(node.name, "\n");
    files[folder + "properties"] = properties(node);
    files[folder + "mem_banks/0/properties"] = lines({{"heap_type", 1},
                                                      {"size_in_bytes", node.local_memory},
                                                      {"flags", 0},
                                                      {"width", 384},
                                                      {"mem_clk_max", 1249}});
    files[folder + "caches/0/properties"] = lines({{"processor_id_low", 0x80001000},
                                                   {"level", 2},
                                                   {"size", 6144},
                                                   {"cache_line_size", 128},
                                                   {"cache_lines_per_tag", 1},
                                                   {"association", 16},
                                                   {"latency", 0},
                                                   {"type", 5}});
    files[folder + "io_links/0/properties"] = link(i + 1, 0);
    files[join(cpu, "io_links/", i, "/properties")] = link(0, i + 1);
    for (const Block& block : blocks(node)) {
      const std::string die = join("/sys/class/drm/renderD", node.drm_render_minor,
                                   "/device/ip_discovery/die/0/", block.hardware_id, "/0/");
      files[die + "major"] = join(block.major, "\n");
      files[die + "minor"] = join(block.minor, "\n");
      files[die + "revision"] = join(block.revision, "\n");
    }
  }
  return files;
}

}  // namespace halyard::inline v0::sim::kfd
