// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The halyard command as its users meet it: a program with arguments, outputs and an exit code.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include "npy.h"
#include "tools/temporary_directory.h"

#if defined(__aarch64__)
#define HALYARD_CPU "aarch64"
#else
#define HALYARD_CPU "x86-64"
#endif

namespace halyard {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using testing::read_text;
using ::testing::StartsWith;
using testing::TemporaryDirectory;
using tools::ElementType;
using tools::NpyArray;

using Words = std::vector<std::string>;

struct Outcome {
  int code = -1;  // minus the signal, if one ended the program
  std::string out;
  std::string err;
};

Words operator+(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// One text in an error; checks that it came as one line, with code 1 and nothing on stdout.
void expect_error(const Outcome& outcome, const std::string& text) {
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, AllOf(StartsWith("halyard: "), HasSubstr(text), EndsWith("\n")));
  EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 1) << outcome.err;
}

class Command : public ::testing::Test {
 protected:
  static constexpr std::size_t kCount = 4096;

  // The user's folder is not the tests' business.
  Command() { ::setenv("HALYARD_CACHE_DIR", path("cache").c_str(), 1); }

  Outcome halyard(Words words) const {
    words.insert(words.begin(), HALYARD_TOOL);
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    const std::string out = directory_.path("stdout");
    const std::string err = directory_.path("stderr");
    constexpr int kFlags = O_WRONLY | O_CREAT | O_TRUNC;
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, 1, stdout_.empty() ? out.c_str() : stdout_.c_str(),
                                     kFlags, 0600);
    posix_spawn_file_actions_addopen(&files, 2, err.c_str(), kFlags, 0600);
    pid_t pid = 0;
    const int failure = ::posix_spawn(&pid, argv[0], &files, nullptr, argv.data(), environ);
    posix_spawn_file_actions_destroy(&files);
    if (failure != 0) return {};
    int status = 0;
    ::waitpid(pid, &status, 0);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status), read_text(out),
            read_text(err)};
  }

  std::string path(std::string_view name) const { return directory_.path(name); }

  // A file of `count` floats: first, first + 1, ...
  std::string floats(std::string_view name, float first, std::size_t count = kCount) const {
    NpyArray array{ElementType::kFloat32, {count}, std::vector<std::byte>(count * 4)};
    for (float& value : array.as<float>()) value = first++;
    check(tools::write_npy(path(name), array));
    return path(name);
  }

  // halyard run saxpy, right in all that `more` leaves as it is.
  Words saxpy() const {
    return {"run",      HALYARD_SAXPY_HYX, "saxpy",
            "--device", "cpu://",          "--items",
            "4096",     "--arg",           "a=2.0",
            "--arg",    "n=4096",          "--in",
            "x=" + x_,  "--inout",         "y=" + y_ + ":" + path("z.npy")};
  }
  // The same with one word in place of another.
  Words saxpy_with(const std::string& old_word, const std::string& new_word) const {
    Words words = saxpy();
    const auto at = std::ranges::find_if(
        words, [&](const std::string& word) { return word.starts_with(old_word); });
    EXPECT_NE(at, words.end());
    *at = new_word;
    return words;
  }
  // The same without an option and its value.
  Words saxpy_without(const std::string& value) const {
    Words words = saxpy();
    const auto at = std::ranges::find_if(
        words, [&](const std::string& word) { return word.starts_with(value); });
    EXPECT_NE(at, words.end());
    words.erase(at - 1, at + 1);
    return words;
  }
  void expect_no_output() const { EXPECT_FALSE(std::filesystem::exists(path("z.npy"))); }

  TemporaryDirectory directory_;
  std::string x_ = floats("x.npy", 1.0f);
  std::string y_ = floats("y.npy", 10.0f);
  std::string stdout_;  // another file for the program's output
};

// ---- What works ------------------------------------------------------------------------------

TEST_F(Command, HelpAndVersionAreNoErrors) {
  EXPECT_EQ(halyard({"--version"}).out, "halyard " HALYARD_VERSION "\n");
  EXPECT_THAT(halyard({"--help"}).out, HasSubstr("inspect"));
  for (const std::string name : {"devices", "compile", "inspect", "pack", "run"}) {
    const Outcome help = halyard({name, "--help"});
    EXPECT_EQ(help.code, 0);
    EXPECT_THAT(help.out, HasSubstr("--json"));
    EXPECT_EQ(help.err, "");
  }
}

TEST_F(Command, AWrongCommandLineIsOneLineAndCodeTwo) {
  for (const Words& words : {Words{}, Words{"nonsense"}, Words{"run"}, Words{"inspect"},
                             Words{"devices", "--nonsense"}, Words{"compile", "k.hyk", "-O", "x"},
                             saxpy() + Words{"--groups", "16"}, saxpy() + Words{"word"}}) {
    const Outcome outcome = halyard(words);
    EXPECT_EQ(outcome.code, 2) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_THAT(outcome.err, StartsWith("halyard: "));
    EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 1) << outcome.err;
  }
}

TEST_F(Command, DevicesListsWhatAUriOpens) {
  const json all = json::parse(halyard({"devices", "--json"}).out);
  ASSERT_FALSE(all["devices"].empty());
  EXPECT_EQ(all["devices"][0]["driver"], "cpu");
  EXPECT_FALSE(all["devices"][0]["targets"].empty());
  const Outcome two = halyard({"devices", "--uri", "cpu://?devices=2&workers=1", "--json"});
  const json opened = json::parse(two.out);
  ASSERT_EQ(opened["devices"].size(), 2u);
  EXPECT_EQ(opened["devices"][1]["workers"], 1);
  EXPECT_THAT(halyard({"devices"}).out, AllOf(StartsWith("URI"), HasSubstr("cpu://")));
}

TEST_F(Command, CompilesAndInspects) {
  const std::string file = path("k.hyx");
  const Outcome compiled = halyard({"compile", HALYARD_SAXPY_HYK, "-o", file, "--target",
                                    "x86-64-v2", "--target", "x86-64", "-O2", "--json"});
  EXPECT_EQ(compiled.code, 0) << compiled.err;
  EXPECT_EQ(json::parse(compiled.out)["targets"], (json{"x86-64-v2", "x86-64"}));

  const json shown = json::parse(halyard({"inspect", file, "--json"}).out);
  const json& kernel = shown["kernels"][0];
  EXPECT_EQ(kernel["name"], "saxpy");
  EXPECT_EQ(kernel["workgroup_size"], (json{256, 1, 1}));
  EXPECT_EQ(kernel["bindings"][1],
            (json{{"name", "y"}, {"access", "read-write"}, {"type", "float32"}}));
  EXPECT_EQ(kernel["constants"][1]["name"], "n");
  EXPECT_EQ(kernel["constants"][1]["type"], "uint32");
  EXPECT_EQ(shown["images"].size(), 2u);
  EXPECT_EQ(shown["images"][0]["target"], "x86-64-v2");

  const std::string text = halyard({"inspect", file}).out;
  for (const char* const part : {"kernel saxpy: workgroup 256 x 1 x 1", "x float32 read\n",
                                 "y float32 read-write", "n uint32", "image x86-64 "}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

TEST_F(Command, PacksWhatAnotherCompilerBuiltAndRunsIt) {
  std::ofstream(path("k.c")) << R"(
#include <stddef.h>
struct workgroup { size_t group[3], count[3]; };
struct constants { float a; unsigned n; };
void saxpy(const struct workgroup* g, void* const* buffers, const void* constants) {
  const struct constants* c = constants;
  for (size_t i = g->group[0] * 64; i < g->group[0] * 64 + 64 && i < c->n; ++i) {
    ((float*)buffers[1])[i] += c->a * ((const float*)buffers[0])[i];
  }
}
)";
  std::ofstream(path("k.json")) << R"({"kernels": [{"name": "saxpy", "workgroup_size": [64],
    "bindings": [{"name": "x", "access": "read", "type": "float32"},
                 {"name": "y", "access": "read-write", "type": "float32"}],
    "constants": [{"name": "a", "type": "float32"}, {"name": "n", "type": "uint32"}]}]})";
  ASSERT_EQ(std::system(("cc -shared -fPIC -o " + path("k.so") + " " + path("k.c")).c_str()), 0);
  const std::string file = path("k.hyx");
  const Words pack = {
      "pack", "--manifest", path("k.json"), "--image", HALYARD_CPU "=" + path("k.so"), "-o", file};
  const Outcome packed = halyard(pack);
  ASSERT_EQ(packed.code, 0) << packed.err;
  Words run = saxpy();
  run[1] = file;
  ASSERT_EQ(halyard(run).code, 0);
  EXPECT_EQ(tools::read_npy(path("z.npy")).value().as<float>()[100], 2.0f * 101 + 110);

  // What inspect prints of a file is a manifest of the same file.
  const Outcome shown = halyard({"inspect", file, "--json"});
  std::ofstream(path("k.json")) << shown.out;
  ASSERT_EQ(halyard(pack).code, 0);
  EXPECT_EQ(halyard({"inspect", file, "--json"}).out, shown.out);
}

TEST_F(Command, PackRefusesWhatNoLoaderWouldTakeInOneLine) {
  std::ofstream(path("image")) << "bytes";
  const std::string image = "x86-64=" + path("image");
  const auto message = [&](const std::string& manifest, const Words& images) {
    std::ofstream(path("k.json")) << manifest;
    Words words = {"pack", "--manifest", path("k.json"), "-o", path("k.hyx")};
    for (const std::string& each : images) words = words + Words{"--image", each};
    const Outcome outcome = halyard(words);
    EXPECT_EQ(outcome.code, 1);
    EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 1) << outcome.err;
    EXPECT_FALSE(std::filesystem::exists(path("k.hyx")));
    return outcome.err;
  };
  const auto kernel = [](const std::string& fields) {
    return R"({"kernels": [{"name": "k", "workgroup_size": [64])" + fields + "}]}";
  };
  const std::string good = kernel("");
  EXPECT_THAT(message("{", {image}), HasSubstr("no JSON"));
  EXPECT_THAT(message("[]", {image}), HasSubstr("no object"));
  EXPECT_THAT(message(R"({"kernels": 1e999})", {image}), HasSubstr("a number beyond"));
  EXPECT_THAT(message("{}", {image}), HasSubstr("no kernels"));
  EXPECT_THAT(message(R"({"kernels": [{"workgroup_size": [64]}]})", {image}),
              HasSubstr("no text 'name'"));
  EXPECT_THAT(message(R"({"kernels": [{"name": "k"}]})", {image}),
              HasSubstr("kernel k: workgroup_size has 0 numbers"));
  EXPECT_THAT(message(kernel(R"(, "acces": 1)"), {image}), HasSubstr("unknown field 'acces'"));
  EXPECT_THAT(message(kernel(R"(, "constants_bytes": -1)"), {image}),
              HasSubstr("'constants_bytes', where a number"));
  EXPECT_THAT(message(kernel(R"(, "constants": [{"name": "c", "type": "float"}])"), {image}),
              HasSubstr("'float' as its type, which is unknown"));
  EXPECT_THAT(message(kernel(R"(, "bindings": [{"name": "b", "type": "int32"}])"), {image}),
              HasSubstr("no text 'access'"));
  EXPECT_THAT(message(R"({"kernels": [{"name": "k", "workgroup_size": [2048]}]})", {image}),
              HasSubstr("workgroup_size is 2048"));
  EXPECT_THAT(message(good, {image, image}), HasSubstr("x86-64"));
  EXPECT_THAT(message(good, {"x86-64"}), HasSubstr("is expected"));
  EXPECT_THAT(message(good, {"ptx-sm_80=" + path("image")}), HasSubstr("TARGET:CONVENTION=FILE"));
  EXPECT_THAT(message(good, {"x86-64=" + path("none")}), HasSubstr("none"));
}

TEST_F(Command, InspectsAndRunsAKernelOfTensors) {
  std::ofstream(path("k.hyk")) << R"(
HY_KERNEL(transpose, 1, 1, 1, HY_IN_TENSOR2(float, x), HY_SCALAR(float, a),
          HY_OUT_TILE2(float, y, 2, 3), HY_OUT_TENSOR2(float, z)) {
  HY_TILE_ITEMS2(y, i, j) {
    HY_Y2(y, i, j) = HY_AT2(x, HY_ORIGIN(y, 1) + j, HY_ORIGIN(y, 0) + i);
  }
  HY_TILE_ITEMS2(z, i, j) { HY_Y2(z, i, j) = a; }
}
)";
  const std::string file = path("k.hyx");
  ASSERT_EQ(halyard({"compile", path("k.hyk"), "-o", file, "--checked"}).code, 0);
  const json bindings =
      json::parse(halyard({"inspect", file, "--json"}).out)["kernels"][0]["bindings"];
  EXPECT_EQ(bindings[0]["rank"], 2);
  EXPECT_FALSE(bindings[0].contains("tile"));
  EXPECT_EQ(bindings[1]["tile"], (json{2, 3}));
  EXPECT_EQ(bindings[2]["rank"], 2);
  EXPECT_THAT(halyard({"inspect", file}).out,
              AllOf(HasSubstr("x float32 read, tensor of rank 2\n"),
                    HasSubstr("y float32 write, tensor of rank 2, tile 2 x 3\n"),
                    HasSubstr("y.stride0 uint32\n"), HasSubstr("z.tile0 uint32\n")));

  // x is 5 x 7, y its transpose: sizes, strides and grid are the arrays'.
  NpyArray x{ElementType::kFloat32, {5, 7}, std::vector<std::byte>(4 * 35)};
  std::iota(x.as<float>().begin(), x.as<float>().end(), 0.0f);
  check(tools::write_npy(path("m.npy"), x));
  const Words run = {"run",
                     file,
                     "transpose",
                     "--in",
                     "x=" + path("m.npy"),
                     "--out",
                     "y=" + path("t.npy") + ":7,5"};
  const std::string z = "z=" + path("z.npy");
  const Words tile = {"--tile", "z=1,1"};
  const Words a = {"--arg", "a=7"};
  const Outcome outcome = halyard(run + Words{"--out", z + ":4,2"} + tile + a);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, StartsWith("transpose: 2 x 4 items in 2 x 4 groups on "));
  const NpyArray y = tools::read_npy(path("t.npy")).value();
  EXPECT_EQ(y.shape, (std::vector<std::uint64_t>{7, 5}));
  for (std::size_t i = 0; i < 7; ++i) {
    for (std::size_t j = 0; j < 5; ++j) {
      ASSERT_EQ(y.as<float>()[i * 5 + j], static_cast<float>(j * 7 + i));
    }
  }
  EXPECT_EQ(tools::read_npy(path("z.npy")).value().as<float>()[7], 7.0f);
  // The same over a grid that the caller chooses: a group too many in each dimension.
  EXPECT_EQ(halyard(run + Words{"--out", z + ":4,2", "--groups", "3,5"} + tile + a).code, 0);

  const Words out = {"--out", z + ":4,2"};
  expect_error(halyard(run + out + a), "not given: --tile z");
  expect_error(halyard(run + out + a + tile + tile), "--tile z is given twice");
  expect_error(halyard(run + out + a + Words{"--tile", "z=1,x"}), "not of the form NAME=8,128");
  expect_error(halyard(run + out + a + Words{"--tile", "y=2,3"}), "y is no tensor whose tile");
  expect_error(halyard(run + out + a + Words{"--tile", "z=1,0"}),
               "kernel transpose: z: tile1 is 0");
  expect_error(halyard(run + out + a + Words{"--tile", "z=4"}), "z: a tile of 1 extents is given");
  expect_error(halyard(run + Words{"--out", z + ":4,3"} + a + tile),
               "y needs 2 x 4 x 1 workgroups, z needs 3 x 4 x 1");
  expect_error(halyard(run + Words{"--out", z + ":8"} + a + tile),
               "z: a tensor of rank 1 is given; it has rank 2");
  expect_error(halyard(run + Words{"--out", z} + a + tile), "give the tensor's shape");
  expect_error(halyard(run + out + tile), "not given: --arg a (float32)");
  expect_error(halyard(run + out + a + tile + Words{"--arg", "x.size0=5"}),
               "--arg x.size0: no such parameter");
}

TEST_F(Command, RunsAKernelOnNumPyFiles) {
  const Outcome outcome = halyard(saxpy());
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out,
              AllOf(StartsWith("saxpy: 4096 items in 16 groups on cpu://"), EndsWith(" ms\n")));
  const NpyArray z = tools::read_npy(path("z.npy")).value();
  ASSERT_EQ(z.element, ElementType::kFloat32);
  ASSERT_EQ(z.shape, std::vector<std::uint64_t>{kCount});
  for (std::size_t i = 0; i < kCount; ++i) {
    const auto value = static_cast<float>(i);
    ASSERT_EQ(z.as<float>()[i], 2.0f * (1.0f + value) + (10.0f + value));
  }
  const NpyArray y = tools::read_npy(y_).value();
  EXPECT_EQ(y.as<float>()[1], 11.0f) << "the input was written to";
}

TEST_F(Command, WithoutASecondFileAnInoutIsReplaced) {
  ASSERT_EQ(halyard(saxpy_with("y=", "y=" + y_)).code, 0);
  EXPECT_EQ(tools::read_npy(y_).value().as<float>()[1], 15.0f);
}

TEST_F(Command, GroupsLaunchExactlySoManyAndLeaveSizesAlone) {
  Words words = saxpy_with("--items", "--groups");
  std::ranges::replace(words, std::string("4096"), std::string("1"));
  std::ranges::replace(words, std::string("n=4096"), std::string("n=100"));
  std::ranges::replace(words, "x=" + x_, "x=" + floats("short.npy", 1.0f, 100));
  const Outcome outcome = halyard(words + Words{"--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json shown = json::parse(outcome.out);
  EXPECT_EQ(shown["groups"], (json{1, 1, 1}));
  EXPECT_EQ(shown["outputs"][0]["file"], path("z.npy"));
  const NpyArray z = tools::read_npy(path("z.npy")).value();
  EXPECT_EQ(z.as<float>()[99], 2.0f * 100.0f + 109.0f);
  EXPECT_EQ(z.as<float>()[100], 110.0f);
}

TEST_F(Command, AnOutputStartsAsZerosInTheShapeOfTheItems) {
  const std::string source =
      directory_.write("out.hyk",
                       "#include <halyard/kernel.h>\n"
                       "HY_KERNEL(rows, 4, 2, 1, HY_OUT(int, z)) {\n"
                       "  HY_ITEMS { if (HY_GLOBAL_Y == 1 && HY_GLOBAL_X < 3)"
                       " z[3 + HY_GLOBAL_X] = 7; }\n"
                       "}\n");
  ASSERT_EQ(halyard({"compile", source, "-o", path("out.hyx")}).code, 0);
  const Words base = {"run", path("out.hyx"), "rows", "--items", "3,2", "--out"};
  ASSERT_EQ(halyard(base + Words{"z=" + path("z.npy")}).code, 0);
  NpyArray z = tools::read_npy(path("z.npy")).value();
  EXPECT_EQ(z.shape, (std::vector<std::uint64_t>{2, 3}));
  EXPECT_THAT(z.as<std::int32_t>(), ::testing::ElementsAre(0, 0, 0, 7, 7, 7));
  ASSERT_EQ(halyard(base + Words{"z=" + path("z.npy") + ":1,8"}).code, 0);
  z = tools::read_npy(path("z.npy")).value();
  EXPECT_EQ(z.shape, (std::vector<std::uint64_t>{1, 8}));
  expect_error(halyard(base + Words{"z=" + path("z.npy") + ":5"}), "5 elements for 3,2 items");
  expect_error(halyard(base + Words{"z=" + path("z.npy") + ":5x"}), "'5x' is no shape");
  expect_error(halyard(base + Words{"z=" + path("z.npy") + ":4294967296,4294967296"}), "2^63");
  expect_error(halyard(base + Words{"z=" + path("z.npy") + ":1000000000000000"}),
               "ResourceExhausted");
}

TEST_F(Command, ADepfileNamesEveryFileThatWasReadAlsoWhenTheCacheHadTheResult) {
  std::ofstream(path("my #1.h")) << "#define FACTOR 3\n";
  std::ofstream(path("k.hyk")) << "#include \"my #1.h\"\n"
                               << std::ifstream(HALYARD_SAXPY_HYK).rdbuf();
  const std::string file = path("k.hyx");
  const Words words = {"compile", path("k.hyk"), "-o", file, "--depfile", file + ".d", "--json"};
  for (const char* const state : {"stored", "hit"}) {
    std::filesystem::remove(file + ".d");
    const Outcome outcome = halyard(words);
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(json::parse(outcome.out)["cache"], state);
    std::ostringstream rule;
    rule << std::ifstream(file + ".d").rdbuf();
    EXPECT_THAT(rule.str(), StartsWith(file + ": " + path("k.hyk")));
    EXPECT_THAT(rule.str(), HasSubstr(path("my\\ \\#1.h")));
    EXPECT_THAT(rule.str(), HasSubstr("halyard/kernel.h"));
  }
}

// ---- Sources and the cache -------------------------------------------------------------------

TEST_F(Command, RunTakesASourceAndCompilesItOnce) {
  const Words words = saxpy_with(HALYARD_SAXPY_HYX, HALYARD_SAXPY_HYK) + Words{"--json"};
  for (const std::string state : {"stored", "hit"}) {
    const Outcome outcome = halyard(words);
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(json::parse(outcome.out)["cache"], state);
    EXPECT_EQ(tools::read_npy(path("z.npy")).value().as<float>()[0], 12.0f);
    std::filesystem::remove(path("z.npy"));
  }
  EXPECT_FALSE(json::parse(halyard(saxpy() + Words{"--json"}).out).contains("cache"));
}

TEST_F(Command, CompileKeepsWhereItIsToldOrNowhere) {
  const Words words = {"compile", HALYARD_SAXPY_HYK, "-o", path("k.hyx"), "--json"};
  const auto state = [&](const Words& more) {
    return json::parse(halyard(words + more).out)["cache"].get<std::string>();
  };
  EXPECT_EQ(state({"--no-cache"}), "off");
  EXPECT_FALSE(std::filesystem::exists(path("cache")));
  EXPECT_EQ(state({}), "stored");
  EXPECT_EQ(state({}), "hit");
  EXPECT_EQ(state({"--cache-dir", path("other")}), "stored");
  EXPECT_EQ(state({"--no-cache"}), "off");
  EXPECT_EQ(halyard(words + Words{"--no-cache", "--cache-dir", "x"}).code, 2);
}

TEST_F(Command, AFolderThatOthersMayWriteIsRefusedOrDoneWithout) {
  std::filesystem::create_directory(path("cache"));
  std::filesystem::permissions(path("cache"), std::filesystem::perms::all);
  const Words words = {"compile", HALYARD_SAXPY_HYK, "-o", path("k.hyx"), "--json"};
  expect_error(halyard(words + Words{"--cache-dir", path("cache")}), "others may write");
  EXPECT_FALSE(std::filesystem::exists(path("k.hyx")));
  const Outcome without = halyard(words);
  EXPECT_EQ(without.code, 0);
  EXPECT_THAT(json::parse(without.out)["cache"].get<std::string>(), HasSubstr("others may write"));
  EXPECT_TRUE(std::filesystem::is_empty(path("cache")));
}

#if HALYARD_HAS_VERIFY
TEST_F(Command, VerifyEndsWithTheCounts) {
  const json cases = json::parse(halyard({"verify", "--list", "--json"}).out)["cases"];
  EXPECT_GE(cases.size(), 80u);
  const std::string first = cases[0];
  const Outcome outcome = halyard({"verify", "--device", "cpu://", "--filter", first});
  EXPECT_EQ(outcome.code, 0) << outcome.out;
  EXPECT_THAT(outcome.out, EndsWith("\nhalyard verify: 1 passed, 0 failed, 0 skipped\n"));
  const json shown = json::parse(halyard({"verify", "--filter", first, "--json"}).out);
  EXPECT_EQ(shown["passed"], 1);
  EXPECT_EQ(shown["cases"][0]["case"], first);
  expect_error(halyard({"verify", "--filter", "nonsense.*"}), "nonsense.*");
  expect_error(halyard({"verify", "--device", "warp://"}), "warp");
}
#endif

// ---- Bad input -------------------------------------------------------------------------------

TEST_F(Command, RefusesAMissingOrDamagedHyx) {
  expect_error(halyard({"inspect", path("no.hyx")}), "no.hyx");
  expect_error(halyard(saxpy_with(HALYARD_SAXPY_HYX, path("no.hyx"))), "no.hyx");
  const std::string whole = read_text(HALYARD_SAXPY_HYX);
  std::string damaged = whole;
  damaged[damaged.size() / 2] ^= 0x10;
  for (const std::string& bytes :
       {std::string(), std::string("hyx"), whole.substr(0, 100), whole.substr(0, whole.size() / 2),
        std::string(whole.size(), '\xff'), damaged}) {
    const std::string file = directory_.write("bad.hyx", bytes);
    expect_error(halyard({"inspect", file}), "bad.hyx");
    expect_error(halyard(saxpy_with(HALYARD_SAXPY_HYX, file)), "bad.hyx");
  }
  expect_no_output();
}

TEST_F(Command, RefusesAMissingOrDamagedNpy) {
  expect_error(halyard(saxpy_with("x=", "x=" + path("no.npy"))), "no.npy");
  const std::string whole = read_text(x_);
  for (const std::string& bytes :
       {std::string(), std::string("1,2,3\n"), whole.substr(0, 50), whole.substr(0, 1000)}) {
    const std::string file = directory_.write("bad.npy", bytes);
    expect_error(halyard(saxpy_with("x=", "x=" + file)), "bad.npy");
    expect_error(halyard(saxpy_with("y=", "y=" + file)), "bad.npy");
  }
  expect_no_output();
}

TEST_F(Command, RefusesAnUnknownKernelNamingTheOnesThereAre) {
  Words words = saxpy();
  words[2] = "daxpy";
  const Outcome outcome = halyard(words);
  expect_error(outcome, "daxpy");
  EXPECT_THAT(outcome.err, HasSubstr("saxpy"));
}

TEST_F(Command, RefusesAnUnknownDeviceOrUri) {
  for (const std::string uri : {"warp://", "cpu://7000", "cpu", "cpu://?lanes=3", "", "://",
                                "cpu://?devices=0", "cpu://?workers=x"}) {
    Words words = saxpy();
    words[4] = uri;
    expect_error(halyard(words), "");
  }
  expect_error(halyard({"devices", "--uri", "warp://"}), "warp");
  expect_no_output();
}

TEST_F(Command, RefusesAnArgumentThatIsMissingDoubledOrUnknown) {
  expect_error(halyard(saxpy_without("n=")), "not given: --arg n (uint32)");
  expect_error(halyard(saxpy_without("x=")), "not given: --in x (float32)");
  expect_error(halyard(saxpy_without("y=")), "not given: --inout y (float32)");
  expect_error(halyard(saxpy() + Words{"--arg", "a=2.0"}), "twice");
  expect_error(halyard(saxpy() + Words{"--in", "x=" + x_}), "twice");
  const Outcome unknown = halyard(saxpy() + Words{"--arg", "b=1"});
  expect_error(unknown, "--arg b");
  EXPECT_THAT(unknown.err, AllOf(HasSubstr("--arg a (float32)"), HasSubstr("--inout y (float32)")));
  expect_error(halyard(saxpy() + Words{"--out", "w=" + path("w.npy")}), "--out w");
  expect_error(halyard(saxpy() + Words{"--arg", "x=1"}), "x is given with --in");
  for (const std::string form : {"a", "=2.0", "a="}) {
    expect_error(halyard(saxpy_with("a=", form)), "NAME=VALUE");
  }
  expect_no_output();
}

TEST_F(Command, RefusesAConstantThatIsNotOfItsType) {
  for (const std::string value : {"-1", "4096.0", "abc", " 1", "1 ", "0x10", "+1", "1e3"}) {
    expect_error(halyard(saxpy_with("n=", "n=" + value)), "no uint32");
  }
  expect_error(halyard(saxpy_with("n=", "n=4294967296")), "beyond the range of uint32");
  for (const std::string value : {"two", "2.0f", "2,0", "--"}) {
    expect_error(halyard(saxpy_with("a=", "a=" + value)), "no float32");
  }
  expect_error(halyard(saxpy_with("a=", "a=1e39")), "beyond the range of float32");
  expect_no_output();
}

TEST_F(Command, RefusesAnArrayOfTheWrongTypeOrSize) {
  check(tools::write_npy(path("int.npy"),
                         {ElementType::kInt32, {kCount}, std::vector<std::byte>(kCount * 4)}));
  expect_error(halyard(saxpy_with("x=", "x=" + path("int.npy"))), "its elements are int32");
  const std::string shorter = floats("short.npy", 0.0f, kCount - 1);
  expect_error(halyard(saxpy_with("x=", "x=" + shorter)), "4095 elements for 4096 items");
  expect_error(halyard(saxpy_with("y=", "y=" + shorter)), "4095 elements for 4096 items");
  expect_no_output();
}

TEST_F(Command, RefusesALaunchOfNothingOrOfNoExtent) {
  expect_error(halyard(saxpy_with("4096", "0")), "nothing to run");
  expect_error(halyard(saxpy_with("4096", "4096,1,0")), "nothing to run");
  for (const std::string extent : {"", "x", "1,2,3,4", "-4096", "4096,", "18446744073709551616"}) {
    expect_error(halyard(saxpy_with("4096", extent)), "");
  }
  for (const std::string extent : {"18446744073709551615", "4294967296,4294967296,4294967296"}) {
    expect_error(halyard(saxpy_with("4096", extent)), "4096 elements for");
  }
  Words groups = saxpy_with("--items", "--groups");
  std::ranges::replace(groups, std::string("4096"), std::string("4294967296"));
  expect_error(halyard(groups), "OutOfRange");
  expect_no_output();
}

TEST_F(Command, RefusesAnOutputThatCannotBeWritten) {
  expect_error(halyard(saxpy_with("y=", "y=" + y_ + ":" + path("no/z.npy"))), "no/z.npy");
  expect_error(halyard(saxpy_with("y=", "y=" + y_ + ":/dev/full")), "ENOSPC");
  expect_error(halyard({"compile", HALYARD_SAXPY_HYK, "-o", path("no/k.hyx")}), "no/k.hyx");
  stdout_ = "/dev/full";
  expect_error(halyard({"inspect", HALYARD_SAXPY_HYX}), "stdout");
}

TEST_F(Command, AKernelThatFaultsIsAnErrorNotACrash) {
  const std::string source = directory_.write("fault.hyk",
                                              "#include <halyard/kernel.h>\n"
                                              "HY_KERNEL(far, 1, 1, 1, HY_INOUT(float, y)) {\n"
                                              "  HY_ITEMS { y[(hy_index)1 << 44] = 1.0f; }\n"
                                              "}\n");
  ASSERT_EQ(halyard({"compile", source, "-o", path("fault.hyx")}).code, 0);
  expect_error(halyard({"run", path("fault.hyx"), "far", "--items", "1", "--inout",
                        "y=" + y_ + ":" + path("z.npy")}),
               "kernel far faulted");
  expect_no_output();
}

TEST_F(Command, CompileRefusesWhatItCannotCompile) {
  expect_error(halyard({"compile", path("no.hyk"), "-o", path("k.hyx")}), "no.hyk");
  expect_error(halyard({"compile", HALYARD_SAXPY_HYK, "-o", path("k.hyx"), "--target", "z80"}),
               "z80");
  expect_error(halyard({"compile", HALYARD_SAXPY_HYK, "-o", path("k.hyx"), "-O", "9"}), "9");
  const std::string source = directory_.write("bad.hyk", "#include <halyard/kernel.h>\nint x =;\n");
  expect_error(halyard({"compile", source, "-o", source}), "one file");
  // A compiler's diagnostics keep their lines.
  const Outcome outcome = halyard({"compile", source, "-o", path("k.hyx")});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, AllOf(StartsWith("halyard: "), HasSubstr("bad.hyk:2")));
  EXPECT_FALSE(std::filesystem::exists(path("k.hyx")));
}

}  // namespace
}  // namespace halyard
