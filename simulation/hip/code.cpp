// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/hip/code.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "simulation/gpu/options.h"
#include "simulation/hip/gfx/gfx.h"

namespace halyard::inline v0::sim::hip {
namespace {

Result result_of(gfx::OutcomeKind kind) {
  switch (kind) {
    case gfx::OutcomeKind::kOk:
    case gfx::OutcomeKind::kStopped:
      return kSuccess;
    case gfx::OutcomeKind::kIllegalAddress:
      return gpu::kIllegalAddress;
    case gfx::OutcomeKind::kIllegalInstruction:
    case gfx::OutcomeKind::kTrap:
    case gfx::OutcomeKind::kDeadlock:
    case gfx::OutcomeKind::kTimeout:
    case gfx::OutcomeKind::kInvalidLaunch:
      return gpu::kLaunchFailed;
  }
  return gpu::kUnknown;
}

class GfxMemory : public gfx::Memory {
 public:
  explicit GfxMemory(gpu::ContextMemory& memory) : memory_(memory) {}
  std::optional<gfx::Mapping> find(std::uint64_t address) override {
    const std::optional<gpu::Mapping> found = memory_.find(address);
    if (!found) return {};
    return gfx::Mapping{found->begin, found->end, found->host, found->writable};
  }

 private:
  gpu::ContextMemory& memory_;
};

// Code with a single segment: the whole image, as in ROCr's loader.
class GfxCode : public gpu::Code {
 public:
  explicit GfxCode(std::shared_ptr<const gfx::CodeObject> object) : object_(std::move(object)) {
    for (const gfx::Kernel& kernel : object_->kernels()) {
      gpu::KernelInfo& info = kernels_.emplace_back();
      info.name = kernel.name;
      for (const gfx::Argument& argument : kernel.arguments) {
        if (!argument.is_hidden()) info.parameters.push_back({argument.offset, argument.size});
      }
      info.parameter_bytes = kernel.explicit_bytes;
      info.static_shared_bytes = kernel.static_lds_bytes;
      info.local_bytes = kernel.scratch_bytes;
      info.registers = kernel.vector_registers;
      info.max_threads = kernel.max_block;
      info.required_block = kernel.required_block;
    }
    for (const gfx::Variable& variable : object_->variables()) {
      variables_.push_back({variable.name, 0, variable.offset, variable.size, false});
    }
    segments_.push_back({object_->image().size(), static_cast<std::uint32_t>(gfx::kPage), false});
    // hip_module.cpp: both attributes of a function are the major and minor of the architecture.
    language_version_ = machine_version_ = 110;
  }

  std::optional<std::size_t> find_kernel(std::string_view name) const override {
    return object_->find_kernel(name);
  }
  std::optional<std::size_t> find_variable(std::string_view name) const override {
    const auto at = std::ranges::find(variables_, name, &gpu::Variable::name);
    if (at == variables_.end()) return {};
    return static_cast<std::size_t>(at - variables_.begin());
  }
  std::vector<std::byte> initial_bytes(std::size_t,
                                       std::span<const std::uint64_t> addresses) const override {
    std::vector<std::byte> bytes(object_->image().begin(), object_->image().end());
    object_->relocate(bytes, addresses[0]);
    return bytes;
  }

  gpu::Outcome run(const gpu::KernelRun& run, gpu::ContextMemory& memory,
                   const gpu::RunOptions& options) const override {
    gfx::Launch launch;
    launch.kernel = run.kernel;
    launch.grid = run.grid;
    launch.block = run.block;
    launch.dynamic_lds_bytes = run.dynamic_shared_bytes;
    launch.arguments = run.parameters;
    launch.image_address = run.addresses[0];
    gfx::Options how;
    how.strict = options.strict;
    how.seed = options.seed;
    how.threads = options.threads;
    how.max_instructions = options.max_instructions;
    GfxMemory view(memory);
    gfx::Outcome ran = gfx::run(*object_, launch, view, how);
    gpu::Outcome outcome;
    outcome.result = result_of(ran.kind);
    if (outcome.result != kSuccess) {
      // The real library prints the faulting kernel since 7.14.
      std::fprintf(stderr, "simulated HIP: %s\n", ran.message.c_str());
      outcome.fault = std::move(ran.message);
    }
    for (gfx::Finding& finding : ran.findings) {
      outcome.findings.push_back(
          {std::string(gfx::to_string(finding.kind)), std::move(finding.message)});
    }
    return outcome;
  }

 private:
  const std::shared_ptr<const gfx::CodeObject> object_;
};

// hip_fatbin.cpp and hip_code_object.cpp of ROCm/clr f9f995c, and of ROCm/rocm-systems.
Result error_of(gfx::LoadStatus status) {
  switch (status) {
    case gfx::LoadStatus::kOk:
      return kSuccess;
    case gfx::LoadStatus::kNotAnImage:
    case gfx::LoadStatus::kNotExecutable:
      return gpu::kInvalidImage;
    case gfx::LoadStatus::kNoImageInBundle:
      return is_since(kVersion70) ? gpu::kInvalidImage : gpu::kNoBinaryForGpu;
    case gfx::LoadStatus::kOtherTarget:
      return gpu::kNoBinaryForGpu;
    case gfx::LoadStatus::kDamaged:
      return kInvalidKernelFile;
  }
  return gpu::kUnknown;
}

// The wrapper around a fat binary of a compiled program (hip_platform.cpp).
struct Wrapper {
  std::uint32_t magic, version;
  const void* binary;
};
constexpr std::uint32_t kWrapperMagic = 0x48495046;  // "HIPF"

constexpr std::string_view kExecuted = "gfx1100";

}  // namespace

const void* without_wrapper(const void* image) {
  std::uint32_t magic = 0;
  std::memcpy(&magic, image, sizeof magic);
  if (magic != kWrapperMagic) return image;
  Wrapper wrapper;
  std::memcpy(&wrapper, image, sizeof wrapper);
  return wrapper.version == 1 ? wrapper.binary : nullptr;
}

Result load_code(std::span<const std::byte> bytes, std::shared_ptr<const gpu::Code>& code) {
  const std::string& arch = settings().arch;
  if (arch.substr(0, arch.find(':')) != kExecuted) {
    std::fprintf(stderr,
                 "simulated HIP: code for %s is not executed here, only for gfx1100 and "
                 "gfx11-generic\n",
                 arch.c_str());
    return gpu::kNotSupported;
  }
  gfx::Loaded loaded = gfx::CodeObject::load(bytes, arch);
  if (loaded.status != gfx::LoadStatus::kOk) {
    std::fprintf(stderr, "simulated HIP: %s\n", loaded.log.c_str());
    return error_of(loaded.status);
  }
  code = std::make_shared<GfxCode>(std::move(loaded.code));
  return kSuccess;
}

Result load_code(const void* image, std::shared_ptr<const gpu::Code>& code) {
  HALYARD_GPU_REQUIRE(image != nullptr, gpu::kInvalidValue);
  const void* const inner = without_wrapper(image);
  HALYARD_GPU_REQUIRE(inner != nullptr, gpu::kInvalidImage);
  const auto* const first = static_cast<const std::byte*>(inner);
  const std::size_t size = gfx::CodeObject::size_of(first);
  HALYARD_GPU_REQUIRE(size != 0, gpu::kInvalidImage);
  return load_code({first, size}, code);
}

Result load_code_file(const char* path, std::shared_ptr<const gpu::Code>& code) {
  HALYARD_GPU_REQUIRE(path != nullptr, gpu::kInvalidValue);
  std::FILE* const file = std::fopen(path, "rb");
  HALYARD_GPU_REQUIRE(file != nullptr, gpu::kFileNotFound);
  std::vector<std::byte> bytes;
  std::byte block[4096];
  for (std::size_t size = 0; (size = std::fread(block, 1, sizeof block, file)) != 0;) {
    bytes.insert(bytes.end(), block, block + size);
  }
  std::fclose(file);
  return load_code(bytes, code);
}

}  // namespace halyard::inline v0::sim::hip
