// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// AMD code objects: read from their bytes and executed on the host's processors.
//
// The instruction set is gfx1100's (AMD, "RDNA3 Instruction Set Architecture", wave32); code
// objects follow LLVM's "User Guide for AMDGPU Backend", versions 4 to 6. A code object is decoded
// once and is immutable; any number of threads may run its kernels concurrently.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace halyard::inline v0::sim::gfx {

using Extent = std::array<std::uint32_t, 3>;

// An argument as the metadata describes it (".args").
struct Argument {
  std::string name;
  std::string kind;  // ".value_kind": "by_value", "global_buffer", "hidden_block_count_x", ...
  std::uint32_t offset = 0;
  std::uint32_t size = 0;
  bool is_hidden() const { return kind.starts_with("hidden_"); }
};

struct Kernel {
  std::string name;
  std::vector<Argument> arguments;   // explicit and hidden, by offset
  std::uint32_t explicit_bytes = 0;  // end of the last argument that is not hidden
  std::uint32_t argument_bytes = 0;  // of the whole kernarg segment
  std::uint32_t static_lds_bytes = 0;
  std::uint32_t scratch_bytes = 0;  // per lane
  std::uint32_t vector_registers = 0, scalar_registers = 0;
  std::uint32_t max_block = 1024;  // ".max_flat_workgroup_size"
  Extent required_block{};         // ".reqd_workgroup_size", zeros where absent
  std::uint32_t wave_size = 32;
};

// A variable of the code object: a defined object symbol in a segment that is loaded.
struct Variable {
  std::string name;
  std::uint64_t offset = 0;  // in the loaded image
  std::uint64_t size = 0;
};

enum class LoadStatus : std::uint8_t {
  kOk,
  kNotAnImage,       // neither a bundle nor an ELF
  kNoImageInBundle,  // a bundle without an entry that fits the target
  kOtherTarget,      // an ELF of another processor, or with other features
  kDamaged,          // ELF, notes, metadata or descriptors contradict themselves
  kNotExecutable,    // it fits the target, but has an unimplemented instruction
};

struct Loaded;

class CodeObject {
 public:
  // Reads an ELF, or the fitting entry of a bundle ("__CLANG_OFFLOAD_BUNDLE__", "CCOB"), for
  // `target`, such as "gfx1100" or "gfx942:sramecc+:xnack-". Decodes all instructions of all
  // kernels: an instruction that is unknown, or has an unknown modifier, fails the load and is
  // named in the log. Any bytes are safe to load: errors are only reported in the result.
  static Loaded load(std::span<const std::byte> bytes, std::string_view target);
  // The size of the image at `bytes` according to its headers; 0 if it is not an image. For callers
  // that get no size: reads only the headers.
  static std::size_t size_of(const std::byte* bytes);

  std::span<const Kernel> kernels() const;
  std::optional<std::size_t> find_kernel(std::string_view name) const;
  std::span<const Variable> variables() const;

  // The contents of device memory: `image()`, loaded at an address that is a multiple of kPage,
  // after `relocate` has inserted that address wherever the image refers to itself.
  std::span<const std::byte> image() const;
  void relocate(std::span<std::byte> image, std::uint64_t address) const;

  struct Program;
  const Program& program() const { return *program_; }
  explicit CodeObject(std::unique_ptr<const Program> program);
  ~CodeObject();

 private:
  std::unique_ptr<const Program> program_;
};

inline constexpr std::size_t kPage = 4096;

struct Loaded {
  LoadStatus status = LoadStatus::kOk;
  std::shared_ptr<const CodeObject> code;  // null unless kOk
  std::string log;                         // one sentence; empty if kOk
};

// An allocation: the bytes of addresses [begin, end) start at `host`. `begin` and `host` are equal
// modulo 16.
struct Mapping {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::byte* host = nullptr;
  bool writable = true;
};

// The device's memory, as a launch sees it. All threads of a run call it concurrently.
class Memory {
 public:
  virtual ~Memory() = default;
  // The allocation that holds `address`, if any. A result is used until the run returns, so its
  // bytes must stay mapped until then.
  virtual std::optional<Mapping> find(std::uint64_t address) = 0;
};

struct Launch {
  std::size_t kernel = 0;  // index in CodeObject::kernels()
  Extent grid{1, 1, 1};    // workgroups
  Extent block{1, 1, 1};   // work-items of each
  std::uint32_t dynamic_lds_bytes = 0;
  std::span<const std::byte> arguments;  // the explicit ones, as the metadata lays them out
  std::uint64_t image_address = 0;       // where image() was loaded
  // The first user registers of each wave. Those that the kernel's descriptor asks for follow.
  std::span<const std::uint32_t> user_data;
};

// Behaviour of a program that the instruction set leaves undefined. Detected in strict mode only;
// does not end the run.
enum class FindingKind : std::uint8_t {
  kLdsRace,            // two waves access a byte of LDS, one writes, no barrier between
  kDivergentBarrier,   // s_barrier with waves of the workgroup ended, or never reached by one
  kMissingWait,        // a register that a load still writes is used before its s_waitcnt
  kUndefinedRegister,  // a register is read that nothing has written
};

struct Place {
  std::string kernel;
  std::uint64_t offset = 0;  // of the instruction, from the kernel's entry
  std::string instruction;   // its text
  Extent block{};
  std::uint32_t wave = 0, lane = 0;
};

struct Finding {
  FindingKind kind{};
  Place place;
  std::string message;  // one sentence, with the place
};

struct Options {
  bool strict = false;
  std::uint64_t seed = 0;  // 0: workgroups and waves in the order of their index; else permuted
  unsigned threads = 1;    // host threads that share the workgroups; order is fixed with 1 only
  std::uint64_t max_instructions = 0;       // of a wave, 0: no limit; beyond: kTimeout
  std::size_t max_findings = 16;            // more are only counted
  const std::atomic<bool>* stop = nullptr;  // ends the run with kStopped soon after it turns true
};

enum class OutcomeKind : std::uint8_t {
  kOk,
  kInvalidLaunch,       // block, LDS or arguments do not fit; nothing ran
  kIllegalAddress,      // outside of every allocation, of LDS or of scratch
  kIllegalInstruction,  // execution left the kernel's code
  kTrap,                // s_trap
  kDeadlock,            // all waves that are left wait at barriers
  kTimeout,
  kStopped,
};

struct Outcome {
  OutcomeKind kind = OutcomeKind::kOk;
  std::string message;  // one sentence, with the place; empty if kOk
  Place place;
  std::uint64_t address = 0;  // of a bad access
  std::uint64_t wave_instructions = 0;
  std::uint64_t lane_instructions = 0;  // sum of the active lanes of vector instructions
  std::vector<Finding> findings;
  std::uint64_t findings_count = 0;
};

// Runs all workgroups and returns at their end, or soon after the first error.
Outcome run(const CodeObject& code, const Launch& launch, Memory& memory,
            const Options& options = {});

std::string_view to_string(OutcomeKind kind);
std::string_view to_string(FindingKind kind);

}  // namespace halyard::inline v0::sim::gfx
