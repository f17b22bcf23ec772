// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Images for shading languages, and the programs that validate them.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/format.h"
#include "compiler/compile.h"
#include "compiler/process.h"
#include "kernel/hyx.h"
#include "kernel/kernel_test_util.h"

namespace halyard::testing {

// Compiles a file; returns an image for each target.
inline Result<std::vector<std::string>> shaders_of_file(const std::string& path,
                                                        std::vector<std::string> targets) {
  HALYARD_ASSIGN_OR_RETURN(const std::vector<std::byte> bytes,
                           compiler::compile({.source = path, .targets = std::move(targets)}));
  HALYARD_ASSIGN_OR_RETURN(const kernel::Hyx hyx, kernel::Hyx::parse(bytes, path));
  std::vector<std::string> images;
  for (const kernel::ImageInfo& image : hyx.images()) {
    images.emplace_back(reinterpret_cast<const char*>(image.bytes.data()), image.bytes.size());
  }
  return images;
}

inline Result<std::string> shader_of_file(const std::string& path, const std::string& target) {
  HALYARD_ASSIGN_OR_RETURN(std::vector<std::string> images, shaders_of_file(path, {target}));
  return std::move(images[0]);
}

inline Result<std::string> shader_of(std::string_view text, const std::string& target) {
  return shader_of_file(TextFile(text).path(), target);
}

// The output of a program that checks a file; empty if it accepts the file.
inline std::string complaints(std::vector<std::string> arguments,
                              const compiler::TemporaryDirectory& scratch) {
  const std::string program = compiler::find_program(arguments[0]);
  if (program.empty()) return arguments[0] + " is not installed";
  arguments[0] = program;
  const auto output = compiler::run_process(arguments, scratch);
  if (!output.ok()) return output.status().to_string();
  return output->exit_code == 0 ? "" : output->out + output->err;
}

// The errors of spirv-val; empty if the module is valid for Vulkan 1.2 and 1.3.
inline std::string invalid(const std::string& module) {
  const auto scratch = compiler::TemporaryDirectory::create().value();
  const std::string path = scratch.path() / "module.spv";
  std::ofstream(path, std::ios::binary) << module;
  return complaints({"spirv-val", "--target-env", "vulkan1.2", path}, scratch) +
         complaints({"spirv-val", "--target-env", "vulkan1.3", path}, scratch);
}

// A clang command for Metal, as declared in tests/kernel/metal_stub; `arguments` precede the
// source.
inline std::vector<std::string> metal_command(std::vector<std::string> arguments) {
  std::vector<std::string> all = {compiler::find_toolchain({}).value().clang,
                                  "-x",
                                  "c++",
                                  "-std=c++17",
                                  "-Werror",
                                  "-Wno-unknown-attributes",
                                  "-ffp-contract=off",
                                  "-I" HALYARD_SOURCE_DIR "/tests/kernel/metal_stub"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return all;
}

inline std::string malformed(const std::string& metal) {
  const auto scratch = compiler::TemporaryDirectory::create().value();
  const std::string path = scratch.path() / "source.metal";
  std::ofstream(path, std::ios::binary) << metal;
  return complaints(metal_command({"-fsyntax-only", path}), scratch);
}

// The instructions of a module: opcode and operands.
struct SpirvInstruction {
  std::uint32_t opcode;
  std::vector<std::uint32_t> operands;

  std::string text_at(std::size_t operand) const {
    return reinterpret_cast<const char*>(&operands[operand]);
  }
};

inline std::vector<SpirvInstruction> instructions_of(const std::string& module) {
  std::vector<std::uint32_t> words(module.size() / 4);
  std::memcpy(words.data(), module.data(), words.size() * 4);
  std::vector<SpirvInstruction> all;
  for (std::size_t at = 5; at < words.size(); at += words[at] >> 16) {
    const auto first = words.begin() + static_cast<std::ptrdiff_t>(at);
    all.push_back({words[at] & 0xffff, {first + 1, first + (words[at] >> 16)}});
  }
  return all;
}

}  // namespace halyard::testing
