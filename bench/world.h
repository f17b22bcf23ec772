// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shared by all rows: a device, the benchmark kernels, the peers.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "halyard/halyard.h"
#include "harness.h"
#include "peers.h"

namespace halyard::bench {

class World {
 public:
  // Starts the peers and their threads, before any row pins anything. `quick`: shorter repetitions.
  explicit World(bool quick);

  // `full` operations per repetition, or fewer in a quick run.
  int turns(int full) const noexcept { return quick_ ? (full + 3) / 4 : full; }

  // One worker thread, not pinned.
  const hal::Device& device() const noexcept { return device_; }
  // A separate device, whose worker stays on that core.
  static hal::Device open_device(int core);

  // A device whose workers and waiting host thread are as many threads as this process has cores.
  static hal::Device open_all_cores();
  // The path of a kernel file that was built next to the program. load() loads it on the device.
  static std::string kernel_file(std::string_view file);
  static hal::Executable load(const hal::Device& device, std::string_view file);

  // A kernel of bench.hyx, and the machine code that `device()` runs for it.
  hal::Function function(std::string_view name) const;
  static hcq::Kernel entry(const hal::Function& function);

  OpenCl* opencl() noexcept { return opencl_.get(); }
  const std::vector<TaskPeer>& task_peers() const noexcept { return task_peers_; }
  // "TBB, PoCL", or the missing ones.
  const std::string& peers_text() const noexcept { return peers_text_; }

 private:
  bool quick_;
  std::string peers_text_;
  std::unique_ptr<OpenCl> opencl_;
  std::vector<TaskPeer> task_peers_;
  hal::Device device_;
  hal::Executable kernels_;
  std::string kernels_problem_;
};

// Memory of a device that the host can access, as 32-bit words, initially zero.
class Words {
 public:
  Words(const hal::Device& device, std::size_t count);
  const hal::Buffer& buffer() const noexcept { return buffer_; }
  // Read them only while no work on them is in flight.
  std::uint32_t& operator[](std::size_t index) const noexcept { return words_[index]; }

 private:
  hal::Buffer buffer_;
  hal::Mapping mapping_;
  std::uint32_t* words_;
};

}  // namespace halyard::bench
