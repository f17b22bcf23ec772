// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The cache of compiled sources, with a clang that counts its runs.
#include "compiler/compile_cached.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "compiler/process.h"
#include "kernel/hyx.h"
#include "tools/temporary_directory.h"

namespace halyard::testing {
namespace {

namespace fs = std::filesystem;
using base::DiskCache;
using compiler::CachedResult;
using ::testing::HasSubstr;

constexpr std::string_view kKernel = "HY_KERNEL(k, SIZE, 1, 1) { HY_ITEMS {} }\n";

class CompileCached : public ::testing::Test {
 protected:
  CompileCached() {
    write("a/size.h", "#define SIZE 4\n");
    write("k.hyk", "#include \"size.h\"\n" + std::string(kKernel));
    const std::string clang = write("clang", "#!/bin/sh\necho >> '" + path("runs") + "'\nexec " +
                                                 compiler::find_program("clang-19") + " \"$@\"\n");
    fs::permissions(clang, fs::perms::owner_all);
    options_.source = path("k.hyk");
    options_.targets = {"x86-64"};
    options_.include_dirs = {path("b"), path("a")};
    options_.clang = clang;
  }

  std::string path(std::string_view name) const { return directory_.path(name); }
  // Dated in the past, as a file that is no longer written.
  std::string write(const std::string& name, std::string_view text) const {
    fs::create_directories(fs::path(path(name)).parent_path());
    directory_.write(name, text);
    fs::last_write_time(path(name), fs::file_time_type::clock::now() - std::chrono::hours(1));
    return path(name);
  }
  CachedResult compile() const {
    return compiler::compile_cached(options_, DiskCache::open(path("cache"), 1 << 20).value())
        .value();
  }
  // The number of clang runs of a single compile().
  std::ptrdiff_t runs_of_compile() const {
    fs::remove(path("runs"));
    (void)compile();
    return std::ranges::count(read_text(path("runs")), '\n');
  }
  std::uint32_t size_of(const CachedResult& result) const {
    return kernel::Hyx::parse(result.bytes, "k").value().kernels()[0].workgroup_size[0];
  }
  fs::path entry() const { return fs::directory_iterator(path("cache"))->path(); }

  TemporaryDirectory directory_;
  compiler::CompileOptions options_;
};

TEST_F(CompileCached, TheSecondTimeClangDoesNotRun) {
  const CachedResult first = compile();
  EXPECT_FALSE(first.hit);
  EXPECT_TRUE(first.not_stored.ok()) << first.not_stored.to_string();
  EXPECT_EQ(runs_of_compile(), 0);
  const CachedResult second = compile();
  EXPECT_TRUE(second.hit);
  EXPECT_EQ(second.bytes, first.bytes);
  EXPECT_EQ(second.bytes, compiler::compile(options_).value());
}

TEST_F(CompileCached, AChangedSourceHeaderOrOptionIsCompiled) {
  EXPECT_EQ(runs_of_compile(), 3);  // check, and one target in two steps
  write("k.hyk", "// more\n#include \"size.h\"\n" + std::string(kKernel));
  EXPECT_EQ(runs_of_compile(), 3);
  write("a/size.h", "#define SIZE 8\n");
  EXPECT_EQ(size_of(compile()), 8u);
  EXPECT_EQ(runs_of_compile(), 0);
  options_.targets = {"x86-64-v2"};
  EXPECT_EQ(runs_of_compile(), 3);
  options_.optimization = 1;
  EXPECT_EQ(runs_of_compile(), 3);
  options_.debug = true;
  EXPECT_EQ(runs_of_compile(), 3);
  options_.checked = true;
  EXPECT_EQ(runs_of_compile(), 3);
  EXPECT_EQ(runs_of_compile(), 0);
}

TEST_F(CompileCached, AnotherCompilerCompilesAgain) {
  (void)compile();
  std::ofstream(options_.clang, std::ios::app) << "# a newer one\n";
  EXPECT_EQ(runs_of_compile(), 3);
}

TEST_F(CompileCached, AHeaderOfAHeaderCounts) {
  write("a/size.h", "#include \"deep/value.h\"\n#define SIZE VALUE\n");
  write("a/deep/value.h", "#define VALUE 16\n");
  EXPECT_EQ(size_of(compile()), 16u);
  write("a/deep/value.h", "#define VALUE 32\n");
  EXPECT_EQ(size_of(compile()), 32u);
}

TEST_F(CompileCached, AHeaderThatOnlyOneTargetIncludesCounts) {
  write("a/size.h",
        "#define SIZE 4\n#if defined(__NVPTX__) || defined(__aarch64__)\n#include \"value.h\"\n"
        "#else\n#define VALUE 0\n#endif\n");
  write("k.hyk",
        "#include \"size.h\"\n"
        "HY_KERNEL(k, SIZE, 1, 1, HY_OUT(int, y)) { HY_ITEMS { y[HY_X] = VALUE; } }\n");
  std::vector<std::string> inputs;
  options_.inputs = &inputs;
  for (const char* const target : {"ptx-sm_80", "aarch64"}) {
    options_.targets = {target};
    write("a/value.h", "#define VALUE 1\n");
    const CachedResult first = compile();
    EXPECT_THAT(inputs, ::testing::Contains(path("a/value.h"))) << target;
    write("a/value.h", "#define VALUE 77\n");
    const CachedResult second = compile();
    EXPECT_FALSE(second.hit) << target;
    EXPECT_NE(second.bytes, first.bytes) << target;
  }
}

TEST_F(CompileCached, ANewHeaderThatIsFoundFirstCounts) {
  EXPECT_EQ(size_of(compile()), 4u);
  write("b/size.h", "#define SIZE 2\n");
  EXPECT_EQ(size_of(compile()), 2u);
  write("size.h", "#define SIZE 1\n");  // next to the source
  EXPECT_EQ(size_of(compile()), 1u);
}

TEST_F(CompileCached, ARemovedHeaderIsTheCompilersError) {
  (void)compile();
  fs::remove(path("a/size.h"));
  const auto result =
      compiler::compile_cached(options_, DiskCache::open(path("cache"), 1 << 20).value());
  EXPECT_EQ(result.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(result.status().message()), HasSubstr("size.h"));
}

TEST_F(CompileCached, PathsWithSpacesAndSignsAreUnderstood) {
  write("a/a #$1.h", "#define SIZE 64\n");
  write("k.hyk", "#include \"a #$1.h\"\n" + std::string(kKernel));
  EXPECT_EQ(size_of(compile()), 64u);
  EXPECT_EQ(runs_of_compile(), 0);
  write("a/a #$1.h", "#define SIZE 128\n");
  EXPECT_EQ(size_of(compile()), 128u);
}

TEST_F(CompileCached, WarningsComeAgain) {
  write("k.hyk",
        "#include \"size.h\"\nstatic int unused(void) { return 1; }\n" + std::string(kKernel));
  std::string first, second;
  options_.warnings = &first;
  EXPECT_FALSE(compile().hit);
  options_.warnings = &second;
  EXPECT_TRUE(compile().hit);
  EXPECT_THAT(first, HasSubstr("unused"));
  EXPECT_EQ(second, first);
}

TEST_F(CompileCached, ADamagedEntryIsCompiledAgainAndReplaced) {
  const CachedResult first = compile();
  std::string bytes = read_text(entry());
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  std::ofstream(entry(), std::ios::binary) << bytes;
  EXPECT_EQ(runs_of_compile(), 3);
  EXPECT_EQ(runs_of_compile(), 0);
  fs::resize_file(entry(), 100);
  EXPECT_EQ(compile().bytes, first.bytes);
  EXPECT_EQ(runs_of_compile(), 0);
}

TEST_F(CompileCached, AResultThatDependsOnMoreThanFilesIsNotKept) {
  for (const std::string_view line :
       {"#if __has_include(\"no.h\")\n#endif\n", "static const char now[] = __TIME__;\n"}) {
    write("k.hyk", std::string(line) + "#include \"size.h\"\n" + std::string(kKernel));
    EXPECT_EQ(compile().not_stored.code(), StatusCode::kFailedPrecondition);
    EXPECT_FALSE(compile().hit);
  }
}

TEST_F(CompileCached, AFileThatChangesMeanwhileIsNotKept) {
  fs::last_write_time(path("a/size.h"), fs::file_time_type::clock::now() + std::chrono::hours(1));
  EXPECT_THAT(std::string(compile().not_stored.message()), HasSubstr("size.h: changed"));
  EXPECT_FALSE(compile().hit);
}

TEST_F(CompileCached, AFullFolderStoresNothingAndTheResultIsThere) {
  const DiskCache cache = DiskCache::open(path("cache"), 100).value();
  const CachedResult result = compiler::compile_cached(options_, cache).value();
  EXPECT_EQ(size_of(result), 4u);
  EXPECT_EQ(result.not_stored.code(), StatusCode::kResourceExhausted);
}

TEST_F(CompileCached, ErrorsAreNotKept) {
  write("a/size.h", "#define SIZE nonsense\n");
  for (int i = 0; i < 2; ++i) {
    const auto result =
        compiler::compile_cached(options_, DiskCache::open(path("cache"), 1 << 20).value());
    EXPECT_EQ(result.status().code(), StatusCode::kInvalidArgument);
  }
  EXPECT_TRUE(fs::is_empty(path("cache")));
}

}  // namespace
}  // namespace halyard::testing
