// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels in other languages, for tests: sources, and the files and programs around them.
#pragma once

#include <gmock/gmock.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/foreign.h"
#include "compiler/process.h"
#include "kernel/hyx.h"

namespace halyard::compiler {

inline constexpr std::string_view kManifest =
    R"({"kernels": [{"name": "saxpy", "workgroup_size": [64],
  "bindings": [{"name": "x", "access": "read", "type": "float32"},
               {"name": "y", "access": "read-write", "type": "float32"}],
  "constants": [{"name": "a", "type": "float32"}, {"name": "n", "type": "uint32"}]}]})";

inline constexpr std::string_view kGlsl = R"(#version 450
layout(local_size_x = 16, local_size_y = 4) in;
layout(set = 0, binding = 0) readonly buffer X { float x[]; };
layout(set = 0, binding = 1) buffer Y { vec4 data[]; } y;
layout(set = 0, binding = 2) writeonly buffer Z { uint count; int z[]; };
layout(push_constant) uniform P { float a; uint n; layout(offset = 16) vec2 v; } p;
shared float own[64];
void main() {
  const uint i = gl_GlobalInvocationID.x;
  own[gl_LocalInvocationIndex] = p.v.y;
  barrier();
  if (i < p.n) y.data[i].x = p.a * x[i] + own[0];
  z[i] = 1;
}
)";

// Sets a variable of the environment; the destructor restores it.
class Environment {
 public:
  Environment(const char* name, const std::string& value) : name_(name), old_(::getenv(name)) {
    ::setenv(name, value.c_str(), 1);
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
  ~Environment() { ::setenv(name_, old_.c_str(), 1); }

 private:
  const char* const name_;
  const std::string old_;
};

class ForeignFixture : public ::testing::Test {
 protected:
  std::string write(const std::string& name, std::string_view text) const {
    const std::string path = (directory_.path() / name).string();
    std::ofstream(path) << text;
    return path;
  }
  Result<kernel::Hyx> build(const std::string& source, std::vector<std::string> targets = {},
                            std::string_view manifest = {}) const {
    CompileOptions options;
    options.source = source;
    options.targets = targets.empty() ? default_targets(source) : std::move(targets);
    if (!manifest.empty()) options.manifest = write("k.json", manifest);
    const auto bytes = compile(options);
    if (!bytes.ok()) return bytes.status();
    return kernel::Hyx::parse(*bytes, source);
  }
  void expect_refused(const std::string& source, std::string_view manifest, StatusCode code,
                      const std::string& text, std::vector<std::string> targets = {}) const {
    const Status status = build(source, std::move(targets), manifest).status();
    EXPECT_EQ(status.code(), code) << status.message();
    EXPECT_THAT(std::string(status.message()),
                ::testing::AllOf(::testing::HasSubstr(source), ::testing::HasSubstr(text)));
  }
  // A folder with links to these programs only, so that no others are found in PATH.
  std::string folder_with(const std::vector<std::string>& programs) const {
    const std::filesystem::path folder = directory_.path() / "bin";
    std::filesystem::create_directory(folder);
    for (const std::string& program : programs) {
      std::filesystem::create_symlink(std::filesystem::canonical(find_program(program)),
                                      folder / program);
    }
    return folder.string();
  }
  // The manifest with `from` replaced by `to`.
  static std::string manifest_with(const std::string& from, const std::string& to) {
    std::string text(kManifest);
    return text.replace(text.find(from), from.size(), to);
  }
  static std::string_view text_of(const kernel::ImageInfo& image) {
    return {reinterpret_cast<const char*>(image.bytes.data()), image.bytes.size()};
  }

  const TemporaryDirectory directory_ = TemporaryDirectory::create().value();
};

#define SKIP_WITHOUT(program) \
  if (::halyard::compiler::find_program(program).empty()) GTEST_SKIP() << program << " is not in PATH"

}  // namespace halyard::compiler
