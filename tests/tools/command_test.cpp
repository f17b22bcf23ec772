// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The halyard command: its results and its errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "npy.h"
#include "tools/command.h"

namespace halyard {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using testing::Command;
using ::testing::EndsWith;
using testing::expect_error;
using ::testing::HasSubstr;
using testing::operator+;
using testing::Outcome;
using testing::read_text;
using ::testing::StartsWith;
using testing::Words;
using tools::ElementType;
using tools::NpyArray;

// ---- Successful commands ---------------------------------------------------------------------

TEST_F(Command, HelpAndVersionAreNoErrors) {
  EXPECT_EQ(halyard({"--version"}).out, "halyard " HALYARD_VERSION "\n");
  EXPECT_THAT(halyard({"--help"}).out, HasSubstr("inspect"));
  for (const std::string name : {"devices", "compile", "inspect", "pack", "run", "trace"}) {
    const Outcome help = halyard({name, "--help"});
    EXPECT_EQ(help.code, 0);
    EXPECT_THAT(help.out, HasSubstr("--json"));
    EXPECT_EQ(help.err, "");
  }
}

TEST_F(Command, AWrongCommandLineIsAnErrorAsAnyOther) {
  for (const Words& words : {Words{}, Words{"nonsense"}, Words{"run"}, Words{"inspect"},
                             Words{"devices", "--nonsense"}, Words{"compile", "k.hyk", "-O", "x"},
                             saxpy() + Words{"--groups", "16"}, saxpy() + Words{"word"}}) {
    expect_error(halyard(words), "; see halyard ");
  }
}

TEST_F(Command, TheExitCodeReportsAnErrorThatStandardErrorCannot) {
  const auto code = [&](const std::string& words) {
    return WEXITSTATUS(std::system((HALYARD_TOOL " " + words).c_str()));
  };
  for (const std::string to : {"2>&-", "2>/dev/full"}) {
    EXPECT_EQ(code("nonsense " + to), 1);
    EXPECT_EQ(code("inspect missing.hyx " + to), 1);
  }
}

TEST_F(Command, AnUnknownCommandIsNamed) {
  EXPECT_EQ(halyard({"nonsense"}).err,
            "halyard: there is no command 'nonsense'; see halyard --help\n");
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

TEST_F(Command, CompilesForTheDefaultTargetsAndOneMore) {
  const auto targets = [&](const Words& options) {
    const Outcome compiled =
        halyard(Words{"compile", HALYARD_SAXPY_HYK, "-o", path("k.hyx"), "--json"} + options);
    EXPECT_EQ(compiled.code, 0) << compiled.err;
    return json::parse(compiled.out)["targets"];
  };
  json want = targets({});
  EXPECT_EQ(targets({"--target", "default"}), want);
  want.push_back("msl-3.0");
  EXPECT_EQ(targets({"--target", "default", "--target", "msl-3.0"}), want);
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

TEST_F(Command, InspectsTheMetadataOfAmdCodeObjects) {
  const std::string file = path("k.hyx");
  const Outcome compiled = halyard({"compile", HALYARD_SAXPY_HYK, "-o", file, "--target",
                                    "gfx1100,gfx942", "--target", "x86-64", "--json"});
  ASSERT_EQ(compiled.code, 0) << compiled.err;
  EXPECT_EQ(json::parse(compiled.out)["targets"],
            (json{"hsaco-gfx1100", "hsaco-gfx942", "x86-64"}));

  const json images = json::parse(halyard({"inspect", file, "--json"}).out)["images"];
  ASSERT_EQ(images.size(), 3u);
  EXPECT_EQ(images[0]["code_object"]["target"], "amdgcn-amd-amdhsa--gfx1100");
  const json& kernel = images[0]["code_object"]["kernels"][0];
  EXPECT_EQ(kernel["name"], "saxpy");
  EXPECT_EQ(kernel["wave_size"], 32);
  EXPECT_EQ(images[1]["code_object"]["kernels"][0]["wave_size"], 64);
  EXPECT_EQ(kernel["max_items"], 256);
  EXPECT_GT(kernel["vector_registers"], 0);
  EXPECT_EQ(images[2].count("code_object"), 0u);

  const std::string text = halyard({"inspect", file}).out;
  for (const char* const part : {"image hsaco-gfx942 ", "for amdgcn-amd-amdhsa--gfx942",
                                 "saxpy: ", "scalar registers", "waves of 64, up to 256 items"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
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

TEST_F(Command, GroupsLaunchesExactlyThatManyAndChecksNoSizes) {
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
  expect_error(halyard(base + Words{"z=" + path("z.npy") + ":5x"}), "'5x' is not a shape");
  expect_error(halyard(base + Words{"z=" + path("z.npy") + ":4294967296,4294967296"}), "2^63");
  expect_error(halyard(base + Words{"z=" + path("z.npy") + ":1000000000000000"}),
               "ResourceExhausted");
}

TEST_F(Command, ADepfileNamesEveryFileThatWasReadAlsoBehindACacheHit) {
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

TEST_F(Command, CompileStoresItsResultInTheGivenFolderOrNowhere) {
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
  EXPECT_EQ(halyard(words + Words{"--no-cache", "--cache-dir", "x"}).code, 1);
}

// A single line from Halyard, instead of a compiler's many lines about such a file.
TEST_F(Command, ASourceThatIsNotTextIsRefused) {
  for (const std::string name : {"k.hyk", "k.npy", "k.cl"}) {
    std::ofstream(path(name), std::ios::binary) << "float" << '\0' << "x;\n";
    expect_error(halyard({"compile", path(name), "-o", path("k.hyx")}),
                 "InvalidArgument: " + path(name) + ": no text: byte 5 is 0");
  }
  expect_error(halyard({"run", path("k.hyk"), "k", "--items", "1"}), "no text: byte 5 is 0");
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

TEST_F(Command, AFileBeyondTheLimitOfItsSizeIsAnErrorNotASignal) {
  struct rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const auto limited = [&](rlim_t bytes, const Words& words) {
    const struct rlimit limit{bytes, before.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const Outcome outcome = halyard(words);
    ::setrlimit(RLIMIT_FSIZE, &before);
    return outcome;
  };
  // The array has 16 KiB; the kernels, loaded through a file in memory, have less.
  expect_error(limited(16'000, saxpy()), "EFBIG");
  expect_error(limited(1000, saxpy()), "EFBIG");
  expect_no_output();
  const Outcome help = limited(300, {"run", "--help"});
  EXPECT_EQ(help.code, 1);
  EXPECT_THAT(help.err, HasSubstr("stdout: cannot write"));
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
