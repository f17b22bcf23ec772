// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The contents of a Library and of a Function.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "simulation/metal/msl/compiler.h"
#include "simulation/metal/msl/library.h"
#include "simulation/metal/msl/rewrite.h"

namespace halyard::inline v0::sim::msl {

class LibraryImage : public std::enable_shared_from_this<LibraryImage> {
 public:
  CompileOptions options;
  Rewritten text;
  std::vector<FunctionInfo> functions;
  std::vector<FunctionConstant> constants;
  // Code of all functions without values for constants. If there are many functions, only the
  // types.
  std::shared_ptr<const Code> code;
  bool all_functions = true;
};

// The destination of a function's argument.
struct PassedArgument {
  std::uint32_t parameter = 0;  // index in Call::arguments
  ArgumentKind kind = ArgumentKind::kBuffer;
  std::uint32_t index = 0;
  bool active = true;
  std::string name;
};

struct FunctionImage {
  std::shared_ptr<const LibraryImage> library;
  FunctionInfo info;
  std::size_t index = 0;  // in Rewritten::functions
  std::vector<std::string> values;
  std::vector<PassedArgument> arguments;
  std::shared_ptr<const Code> checked;
  Code::Entry checked_entry = nullptr;

  // Code without calls at accesses to memory; compiled on first use.
  mutable std::mutex mutex;
  mutable std::shared_ptr<const Code> plain;
};

// The entry point for a launch, and the code that contains it. Null if it cannot be compiled.
Code::Entry entry_point(const FunctionImage& image, bool check_memory,
                        std::shared_ptr<const Code>& code);

}  // namespace halyard::inline v0::sim::msl
