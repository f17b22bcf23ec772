// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Images that a program loads or links: PTX text, a fatbin that holds PTX, or a cubin, which cannot
// be executed; and the options of the compiler.
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

// The supported jit options.
struct JitOptions {
  char* info_log = nullptr;
  std::size_t info_bytes = 0;
  char* error_log = nullptr;
  std::size_t error_bytes = 0;
  void** info_used = nullptr;  // receives the written size
  void** error_used = nullptr;
  void** wall_time = nullptr;
  ptx::Limits limits;
};
// Returns kNotSupported, with the reason in the log, for options that would change the compiled
// code and are not implemented. Options that only affect how the compiler works are ignored.
Result read_jit_options(unsigned count, const int* list, void** values, JitOptions& options);
void write_error_log(const JitOptions& options, std::string_view text);

// PTX, and the limits that it was or is to be compiled with.
struct ImageText {
  std::string text;
  ptx::Limits limits;
};
// The linker's output: the text if there is a single text without limits, otherwise a container
// that find_texts reads.
std::string pack_texts(const std::vector<ImageText>& texts);
// Only images from files have a known size; other images end according to their headers.
inline constexpr std::size_t kUnknownSize = ~std::size_t{0};
// Finds the PTX texts of an image: the image itself, if it is zero-terminated PTX, or the texts in
// a fatbin. Returns kNoBinaryForGpu for a cubin, and kInvalidImage for an image that is longer than
// `size`. `limits` apply to texts that are not compiled yet.
Result find_texts(const void* image, std::size_t size, const ptx::Limits& limits,
                  std::vector<ImageText>& texts);
// Parses an image.
Result parse_image(const void* image, std::size_t size, const JitOptions& options,
                   std::shared_ptr<const Code>& code);
// Reads the whole file and appends a zero byte.
Result read_file(const char* path, std::string& bytes);

}  // namespace halyard::inline v0::sim::cuda
