// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Modules, functions, libraries and kernels.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "simulation/cuda/call.h"
#include "simulation/cuda/ptx/ptx.h"

namespace halyard::inline v0::sim::cuda {

struct ModuleState : std::enable_shared_from_this<ModuleState> {
  static constexpr Kind kKind = Kind::kModule;
  static constexpr const char* kName = "module";

  ~ModuleState();

  ContextState* context = nullptr;
  std::shared_ptr<const ptx::Module> code;
  std::vector<std::uint64_t> addresses;  // of its variables
  std::vector<Function> functions;       // by entry; null until asked for
  Module handle = nullptr;
  LibraryState* library = nullptr;  // whose module this is in its context
  bool is_unloaded = false;
};

struct FunctionState : std::enable_shared_from_this<FunctionState> {
  static constexpr Kind kKind = Kind::kFunction;
  static constexpr const char* kName = "function";

  std::shared_ptr<ModuleState> module;
  std::size_t entry = 0;
  Kernel kernel = nullptr;        // that it belongs to, if any
  std::map<int, int> attributes;  // that were set

  const ptx::Entry& info() const { return module->code->entries()[entry]; }
};

struct LibraryState {
  static constexpr Kind kKind = Kind::kLibrary;
  static constexpr const char* kName = "library";

  std::shared_ptr<const ptx::Module> code;
  std::vector<Kernel> kernels;  // by entry; null until asked for
  std::map<ContextState*, Module> modules;
  Library handle = nullptr;
};

struct KernelState {
  static constexpr Kind kKind = Kind::kKernel;
  static constexpr const char* kName = "kernel";

  LibraryState* library = nullptr;
  std::size_t entry = 0;
  std::map<int, int> attributes;
};

// CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
inline constexpr int kMaxDynamicShared = 8;

// The jit options that matter here.
struct JitOptions {
  char* info_log = nullptr;
  std::size_t info_bytes = 0;
  char* error_log = nullptr;
  std::size_t error_bytes = 0;
  void** info_used = nullptr;  // where the written size goes
  void** error_used = nullptr;
  void** wall_time = nullptr;
  ptx::Limits limits;
};
// kNotSupported, with the reason in the log, for what would change the result and is not built.
// Options of how the compiler works, rather than what it makes, change nothing here.
Result read_jit_options(unsigned count, const int* list, void** values, JitOptions& options);
void write_error_log(const JitOptions& options, std::string_view text);

// PTX, and the limits that it was or is to be compiled with.
struct ImageText {
  std::string text;
  ptx::Limits limits;
};
// What the linker makes of texts: the text if there is one without limits, else a container that
// find_texts reads.
std::string pack_texts(const std::vector<ImageText>& texts);
// An image ends where its own sizes say, unless it came from a file.
inline constexpr std::size_t kUnknownSize = ~std::size_t{0};
// The PTX texts of an image: PTX with a zero behind it, or those in a fatbin. kNoBinaryForGpu for a
// cubin, kInvalidImage for one that is longer than `size`. `limits` are of those that are not
// compiled yet.
Result find_texts(const void* image, std::size_t size, const ptx::Limits& limits,
                  std::vector<ImageText>& texts);
// Parses an image.
Result parse_image(const void* image, std::size_t size, const JitOptions& options,
                   std::shared_ptr<const ptx::Module>& code);
// The whole file, with a zero behind it.
Result read_file(const char* path, std::string& bytes);

// Allocates the variables of `code` in the context.
Result make_module(ContextState& context, std::shared_ptr<const ptx::Module> code, Module& module);
void unload_module(Module module);
// The function of an entry; the same handle each time.
Function function_of(ModuleState& module, std::size_t entry);

// A CUfunction, or a CUkernel in its place: its function in `context`. kInvalidContext for a kernel
// without a context.
Result find_function(ContextState* context, Function handle, FunctionState*& function);
Result function_of_kernel(ContextState& context, Kernel handle, Function& function);

// An attribute as cuFuncGetAttribute answers it.
Result function_attribute(const FunctionState& function, int attribute, int& value);

}  // namespace halyard::inline v0::sim::cuda
