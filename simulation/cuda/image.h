// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a program loads or links: PTX text, a fatbin that holds PTX, or a cubin, which cannot be
// executed; and the options of the compiler.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "simulation/cuda/abi.h"
#include "simulation/cuda/ptx/ptx.h"
#include "simulation/gpu/call.h"
#include "simulation/gpu/code.h"

namespace halyard::inline v0::sim::cuda {

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
                   std::shared_ptr<const Code>& code);
// The whole file, with a zero behind it.
Result read_file(const char* path, std::string& bytes);

}  // namespace halyard::inline v0::sim::cuda
