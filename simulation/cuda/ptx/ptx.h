// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX modules: parsed from text and executed on the host's processors.
//
// The specification is NVIDIA's "Parallel Thread Execution ISA", version 8.x, .address_size 64. A
// module is decoded once and is immutable; any number of threads may run its entries concurrently.
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

namespace halyard::inline v0::sim::ptx {

using Extent = std::array<std::uint32_t, 3>;

// Windows of generic addresses. Addresses of Memory must lie outside of them.
inline constexpr std::uint64_t kWindowBytes = std::uint64_t{1} << 56;
inline constexpr std::uint64_t kSharedWindow = 1 * kWindowBytes;
inline constexpr std::uint64_t kLocalWindow = 2 * kWindowBytes;
inline constexpr std::uint64_t kParameterWindow = 3 * kWindowBytes;
inline constexpr std::uint64_t kFunctionWindow = 4 * kWindowBytes;

struct Parameter {
  std::string name;
  std::uint32_t offset = 0;  // in the packed parameter buffer
  std::uint32_t size = 0;
  std::uint32_t alignment = 1;
};

// An .entry.
struct Entry {
  std::string name;
  std::uint32_t line = 0;
  std::vector<Parameter> parameters;
  std::uint32_t parameter_bytes = 0;
  std::uint32_t static_shared_bytes = 0;
  std::uint32_t local_bytes = 0;  // per thread, with those of the functions it calls
  std::uint32_t registers = 0;    // an estimate: 32-bit registers per thread, at most 255
  std::uint32_t max_threads = 0;  // product of .maxntid or .reqntid; 0: no limit of its own
  Extent max_block{};             // .maxntid, zeros where absent
  Extent required_block{};        // .reqntid, zeros where absent
  std::uint32_t min_blocks = 0;   // .minnctapersm
};

enum class Space : std::uint8_t { kGlobal, kConstant };

// A variable of the module. The caller allocates it, and fills it from Module::initial_bytes.
struct Variable {
  std::string name;
  Space space = Space::kGlobal;
  std::uint64_t size = 0;
  std::uint32_t alignment = 1;
  bool visible = false;     // .visible, .weak or .common
  bool is_managed = false;  // .attribute(.managed)
  bool is_zero = true;      // it has no initialiser
};

// Limits that compiler options set for all kernels of a text; 0 is no limit. A kernel's own
// directive takes precedence, unless `overrides`.
struct Limits {
  std::uint32_t registers = 0;    // of a thread, at most
  std::uint32_t threads = 0;      // registers suffice for a block of so many
  std::uint32_t max_threads = 0;  // of a block
  std::uint32_t min_blocks = 0;   // of `max_threads`, per multiprocessor
  bool overrides = false;

  bool operator==(const Limits&) const = default;
};

struct ParseOptions {
  std::uint32_t compute_capability = 80;  // major * 10 + minor; a higher .target is an error
  std::span<const Limits> limits;         // of each text; texts beyond its end have none
  std::size_t max_text_bytes = std::size_t{64} << 20;
};

enum class ParseStatus : std::uint8_t {
  kOk,
  kInvalid,             // CUDA_ERROR_INVALID_PTX
  kUnsupportedVersion,  // CUDA_ERROR_UNSUPPORTED_PTX_VERSION
  kNotForThisDevice,    // CUDA_ERROR_NO_BINARY_FOR_GPU: .target above the compute capability
  kUndefinedSymbol,     // an .extern that none of the texts defines
};

struct Parsed;

class Module {
 public:
  // Parses `texts` and links them: a text may define .extern symbols of another. Texts may end with
  // zero bytes. Any text is safe to parse: errors are only reported in the result.
  static Parsed parse(std::span<const std::string_view> texts, const ParseOptions& options = {});
  static Parsed parse(std::string_view text, const ParseOptions& options = {});

  std::span<const Entry> entries() const;
  std::optional<std::size_t> find_entry(std::string_view name) const;

  std::span<const Variable> variables() const;
  // Finds a visible variable, or otherwise a variable that only a single text has, because nvcc
  // declares variables of whole programs without linkage.
  std::optional<std::size_t> find_variable(std::string_view name) const;

  // The initial bytes of a variable, `size` of them. `addresses` has the address of each variable
  // of the module, in the order of variables(): initialisers may hold addresses.
  std::vector<std::byte> initial_bytes(std::size_t variable,
                                       std::span<const std::uint64_t> addresses) const;

  std::uint32_t version() const;  // of the first text: major * 10 + minor
  std::uint32_t target() const;   // of the first text: NN of sm_NN

  struct Program;
  const Program& program() const { return *program_; }
  explicit Module(std::unique_ptr<const Program> program);
  ~Module();

 private:
  std::unique_ptr<const Program> program_;
};

struct Parsed {
  ParseStatus status = ParseStatus::kOk;
  std::shared_ptr<const Module> module;  // null unless kOk
  // Error log as ptxas writes it: "ptxas error : ...", "ptxas application ptx input, line 7; error
  // : ...". Empty if kOk.
  std::string log;
  std::uint32_t line = 0;  // of the error, from 1; 0 without one
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
  // malloc and free of kernels. allocate() returns 0 if there is no memory.
  virtual std::uint64_t allocate(std::uint64_t /*bytes*/) { return 0; }
  virtual bool release(std::uint64_t /*address*/) { return false; }
};

struct Launch {
  std::size_t entry = 0;  // index in Module::entries()
  Extent grid{1, 1, 1};
  Extent block{1, 1, 1};
  std::uint32_t dynamic_shared_bytes = 0;
  std::span<const std::byte> parameters;     // at least Entry::parameter_bytes
  std::span<const std::uint64_t> addresses;  // of each variable, as for initial_bytes
};

// Undefined behaviour of a program. Detected in strict mode only; does not end the run.
enum class FindingKind : std::uint8_t {
  kSharedRace,        // two warps access a byte of shared memory, one writes, no barrier between
  kDivergentBarrier,  // an aligned barrier that not all lanes of the warp reach together
  kBarrierAfterExit,  // a barrier of the block while some of its threads have exited
  kMissingLane,       // shfl.sync, vote.sync, ... whose mask names a lane that does not arrive
};

struct Place {
  std::string kernel;
  std::uint32_t line = 0;  // of the PTX text
  Extent block{};
  Extent thread{};
};

struct Finding {
  FindingKind kind{};
  Place place;
  std::string message;  // one sentence, with the place
};

struct Options {
  bool strict = false;     // look for findings; slower
  std::uint64_t seed = 0;  // 0: blocks and warps in the order of their index; else permuted by it
  unsigned threads = 1;    // host threads that share the blocks; the order is fixed with 1 only
  std::uint64_t max_instructions = 0;       // of a warp, 0: no limit; beyond: kTimeout
  std::uint64_t stack_bytes = 64 << 10;     // local memory per thread for recursive functions
  std::uint32_t multiprocessors = 8;        // %nsmid
  std::size_t max_findings = 16;            // more are only counted
  const std::atomic<bool>* stop = nullptr;  // ends the run with kStopped soon after it turns true
  std::function<void(std::string_view)> print;  // output of vprintf; called by one thread at a time
};

enum class OutcomeKind : std::uint8_t {
  kOk,
  kInvalidLaunch,        // block, shared memory or parameters do not fit; nothing ran
  kIllegalAddress,       // CUDA_ERROR_ILLEGAL_ADDRESS
  kMisalignedAddress,    // CUDA_ERROR_MISALIGNED_ADDRESS
  kInvalidAddressSpace,  // CUDA_ERROR_INVALID_ADDRESS_SPACE
  kIllegalInstruction,   // CUDA_ERROR_ILLEGAL_INSTRUCTION
  kInvalidPc,            // CUDA_ERROR_INVALID_PC: a call through a bad address
  kTrap,                 // CUDA_ERROR_LAUNCH_FAILED: trap, brkpt
  kAssert,               // CUDA_ERROR_ASSERT: __assertfail
  kStackOverflow,        // CUDA_ERROR_LAUNCH_FAILED
  kDeadlock,             // all warps that are left wait at barriers
  kTimeout,              // CUDA_ERROR_LAUNCH_TIMEOUT
  kStopped,
};

struct Outcome {
  OutcomeKind kind = OutcomeKind::kOk;
  std::string message;  // one sentence, with the place; empty if kOk
  Place place;
  std::uint64_t address = 0;            // of a bad access
  std::uint64_t warp_instructions = 0;  // executed
  std::uint64_t thread_instructions = 0;
  std::vector<Finding> findings;
  std::uint64_t findings_count = 0;
};

// Runs all blocks and returns at their end, or soon after the first error.
Outcome run(const Module& module, const Launch& launch, Memory& memory,
            const Options& options = {});

std::string_view to_string(OutcomeKind kind);
std::string_view to_string(FindingKind kind);

}  // namespace halyard::inline v0::sim::ptx
