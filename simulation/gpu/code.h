// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Code for devices, independent of the instruction set: PTX in the simulated libcuda, code objects
// of AMD in the simulated libamdhip64. It is immutable, and any number of threads may run its
// kernels.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "simulation/gpu/memory.h"
#include "simulation/gpu/types.h"

namespace halyard::inline v0::sim::gpu {

// Where a parameter is in the packed buffer.
struct Parameter {
  std::uint32_t offset = 0;
  std::uint32_t size = 0;
};

struct KernelInfo {
  std::string name;
  std::vector<Parameter> parameters;  // those that a launch passes
  std::uint32_t parameter_bytes = 0;  // of the packed buffer
  std::uint32_t static_shared_bytes = 0;
  std::uint32_t local_bytes = 0;                  // per thread
  std::uint32_t registers = 0;                    // per thread
  std::uint32_t max_threads = 0;                  // of a block; 0: no limit of its own
  std::array<std::uint32_t, 3> required_block{};  // zero: any extent
};

// Memory that the code needs. Loading the code allocates it and fills it from initial_bytes.
struct Segment {
  std::uint64_t size = 0;
  std::uint32_t alignment = 1;
  bool is_managed = false;  // the host may touch it
};

struct Variable {
  std::string name;
  std::size_t segment = 0;
  std::uint64_t offset = 0;  // in the segment
  std::uint64_t size = 0;
  bool is_constant = false;  // of the memory that kernels only read
};

struct KernelRun {
  std::size_t kernel = 0;                       // index in Code::kernels()
  std::array<std::uint32_t, 3> grid{1, 1, 1};   // blocks
  std::array<std::uint32_t, 3> block{1, 1, 1};  // threads of each
  std::uint32_t dynamic_shared_bytes = 0;
  std::span<const std::byte> parameters;     // packed
  std::span<const std::uint64_t> addresses;  // of the segments
};

struct RunOptions {
  bool strict = false;                 // look for findings
  std::uint64_t seed = 0;              // 0: blocks in the order of their index; else permuted by it
  unsigned threads = 1;                // of the host, that share the blocks
  std::uint64_t max_instructions = 0;  // of a warp, 0: no limit
};

struct Finding {
  std::string rule;     // of the report, with "kernel-" before it
  std::string message;  // one sentence
};

struct Outcome {
  Result result = kSuccess;
  std::string fault;  // one sentence; empty unless the result is an error
  std::vector<Finding> findings;
};

class Code {
 public:
  Code() = default;
  virtual ~Code() = default;
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;

  const std::vector<KernelInfo>& kernels() const { return kernels_; }
  const std::vector<Variable>& variables() const { return variables_; }
  const std::vector<Segment>& segments() const { return segments_; }
  // Versions of the source language and of the target machine: major * 10 + minor.
  int language_version() const { return language_version_; }
  int machine_version() const { return machine_version_; }

  virtual std::optional<std::size_t> find_kernel(std::string_view name) const = 0;
  virtual std::optional<std::size_t> find_variable(std::string_view name) const = 0;

  // Initial contents of a segment when the segments are loaded at `addresses`; zeros follow beyond
  // its end.
  virtual std::vector<std::byte> initial_bytes(std::size_t segment,
                                               std::span<const std::uint64_t> addresses) const = 0;

  // Runs all blocks and returns at their end, or soon after the first error.
  virtual Outcome run(const KernelRun& run, ContextMemory& memory,
                      const RunOptions& options) const = 0;

 protected:
  std::vector<KernelInfo> kernels_;
  std::vector<Variable> variables_;
  std::vector<Segment> segments_;
  int language_version_ = 0, machine_version_ = 0;
};

}  // namespace halyard::inline v0::sim::gpu
