// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The devices of the simulated driver, and the files of sysfs that describe them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace halyard::inline v0::sim::kfd {

// What amdkfd and the queues need to know about a device. Names as in sysfs.
struct Node {
  const char* name;
  std::uint32_t gpu_id, gfx_target_version, drm_render_minor;
  std::uint32_t simd_count, simd_per_cu, array_count, simd_arrays_per_engine, cu_per_simd_array;
  std::uint32_t max_waves_per_simd, wave_front_size, num_xcc, num_sdma_engines,
      num_sdma_xgmi_engines;
  std::uint32_t device_id, location_id;
  std::uint64_t local_memory;

  bool is_gfx9() const { return gfx_target_version / 10000 == 9; }
  std::uint32_t compute_units() const { return simd_count / simd_per_cu; }
  // Sizes that CREATE_QUEUE demands: kfd_queue_ctx_save_restore_size() of amdkfd/kfd_queue.c.
  std::uint32_t control_stack_bytes() const;
  std::uint32_t save_bytes() const;   // the control stack and the data of workgroups, of one XCC
  std::uint32_t debug_bytes() const;  // of one XCC
  std::uint32_t save_area_bytes() const;  // of all XCCs, with the debugger's part
  std::uint32_t end_of_pipe_bytes() const { return 4096; }

 private:
  std::uint32_t waves() const;
};

const std::vector<Node>& nodes();

// The text of each file, by its path.
std::map<std::string, std::string> sysfs_files();

}  // namespace halyard::inline v0::sim::kfd
