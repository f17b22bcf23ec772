// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/cuda/code.h"

#include <cstdio>
#include <utility>

#include "simulation/cuda/abi.h"
#include "simulation/gpu/options.h"

namespace halyard::inline v0::sim::cuda {
namespace {

Result result_of(ptx::OutcomeKind kind) {
  switch (kind) {
    case ptx::OutcomeKind::kOk:
    case ptx::OutcomeKind::kStopped:
      return kSuccess;
    case ptx::OutcomeKind::kIllegalAddress:
      return kIllegalAddress;
    case ptx::OutcomeKind::kMisalignedAddress:
      return kMisalignedAddress;
    case ptx::OutcomeKind::kInvalidAddressSpace:
      return kInvalidAddressSpace;
    case ptx::OutcomeKind::kIllegalInstruction:
      return kIllegalInstruction;
    case ptx::OutcomeKind::kInvalidPc:
      return kInvalidPc;
    case ptx::OutcomeKind::kAssert:
      return kAssert;
    case ptx::OutcomeKind::kDeadlock:
    case ptx::OutcomeKind::kTimeout:
      return kLaunchTimeout;
    case ptx::OutcomeKind::kInvalidLaunch:
    case ptx::OutcomeKind::kTrap:
    case ptx::OutcomeKind::kStackOverflow:
      return kLaunchFailed;
  }
  return kUnknown;
}

class PtxMemory : public ptx::Memory {
 public:
  explicit PtxMemory(ContextMemory& memory) : memory_(memory) {}
  std::optional<ptx::Mapping> find(std::uint64_t address) override {
    const std::optional<Mapping> found = memory_.find(address);
    if (!found) return {};
    return ptx::Mapping{found->begin, found->end, found->host, found->writable};
  }
  std::uint64_t allocate(std::uint64_t bytes) override { return memory_.allocate(bytes); }
  bool release(std::uint64_t address) override { return memory_.release(address); }

 private:
  ContextMemory& memory_;
};

class PtxCode : public Code {
 public:
  explicit PtxCode(std::shared_ptr<const ptx::Module> module) : module_(std::move(module)) {
    for (const ptx::Entry& entry : module_->entries()) {
      KernelInfo& kernel = kernels_.emplace_back();
      kernel.name = entry.name;
      for (const ptx::Parameter& parameter : entry.parameters) {
        kernel.parameters.push_back({parameter.offset, parameter.size});
      }
      kernel.parameter_bytes = entry.parameter_bytes;
      kernel.static_shared_bytes = entry.static_shared_bytes;
      kernel.local_bytes = entry.local_bytes;
      kernel.registers = entry.registers;
      kernel.max_threads = entry.max_threads;
      kernel.required_block = entry.required_block;
    }
    for (const ptx::Variable& variable : module_->variables()) {
      variables_.push_back({variable.name, segments_.size(), 0, variable.size,
                            variable.space == ptx::Space::kConstant});
      segments_.push_back({variable.size, variable.alignment, variable.is_managed});
    }
    language_version_ = static_cast<int>(module_->target());
    machine_version_ = options().capability_major * 10 + options().capability_minor;
  }

  std::optional<std::size_t> find_kernel(std::string_view name) const override {
    return module_->find_entry(name);
  }
  std::optional<std::size_t> find_variable(std::string_view name) const override {
    return module_->find_variable(name);
  }
  std::vector<std::byte> initial_bytes(std::size_t segment,
                                       std::span<const std::uint64_t> addresses) const override {
    return module_->initial_bytes(segment, addresses);
  }

  Outcome run(const KernelRun& run, ContextMemory& memory,
              const RunOptions& options) const override {
    ptx::Launch launch;
    launch.entry = run.kernel;
    launch.grid = run.grid;
    launch.block = run.block;
    launch.dynamic_shared_bytes = run.dynamic_shared_bytes;
    launch.parameters = run.parameters;
    launch.addresses = run.addresses;
    ptx::Options how;
    how.strict = options.strict;
    how.threads = options.threads;
    how.max_instructions = options.max_instructions;
    how.seed = options.seed;
    how.print = [](std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); };
    PtxMemory view(memory);
    ptx::Outcome ran = ptx::run(*module_, launch, view, how);
    Outcome outcome;
    outcome.result = result_of(ran.kind);
    if (ran.kind != ptx::OutcomeKind::kOk) outcome.fault = std::move(ran.message);
    for (ptx::Finding& finding : ran.findings) {
      outcome.findings.push_back(
          {std::string(ptx::to_string(finding.kind)), std::move(finding.message)});
    }
    return outcome;
  }

 private:
  const std::shared_ptr<const ptx::Module> module_;
};

}  // namespace

std::shared_ptr<const Code> make_code(std::shared_ptr<const ptx::Module> module) {
  return std::make_shared<PtxCode>(std::move(module));
}

}  // namespace halyard::inline v0::sim::cuda
