// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every case of the conformance suite as a GoogleTest test, on each driver that needs no hardware.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "conformance/conformance.h"
#include "halyard/hal/device.h"

namespace {

using halyard::conformance::Case;
using halyard::conformance::Outcome;
using halyard::conformance::Verdict;

struct Target {
  const char* prefix;  // of the suites' names
  const char* uri;
  bool may_be_absent = false;  // from this machine
};
constexpr Target kTargets[] = {
    {"two_devices", "cpu://?devices=2&workers=2"},
    {"one_worker", "cpu://?workers=1"},
    {"strict", "cpu://?strict=1&workers=2"},
#if HALYARD_DRIVER_SERIAL
    {"serial", "serial://?devices=2"},
    {"serial_apart", "serial://?devices=2&peers=0"},
    {"cpu_and_serial", "cpu://?workers=2,serial://"},
#endif
#if HALYARD_DRIVER_STREAM
    {"stream", "stream://?devices=2"},
    {"stream_and_cpu", "stream://,cpu://?workers=1"},
#endif
#ifdef HALYARD_SIM_CUDA_LIBRARY
    // tests/cuda runs the other targets, each as a program of its own. With ThreadSanitizer they
    // run here.
    {"cuda", "cuda://0"},
#if HALYARD_MORE_OF_CUDA
    {"cuda_two", "cuda://?devices=2&completion_mode=flag"},
    {"cuda_apart", "cuda://?devices=2&peers=0"},
    {"cpu_and_cuda", "cpu://?workers=1,cuda://0"},
#endif
#endif
#ifdef HALYARD_SIM_HIP_LIBRARY
    // As for CUDA: tests/hip runs the other targets.
    {"hip", "hip://?devices=2"},
    {"hip_event_graph", "hip://0?completion_mode=event&command_buffer_mode=graph"},
#endif
#if HALYARD_DRIVER_METAL
    {"metal", "metal://0"},
    {"metal_two", "metal://?devices=2"},
    {"cpu_and_metal", "cpu://?workers=1,metal://0"},
#endif
#if HALYARD_DRIVER_VULKAN
    {"vulkan", "vulkan://0", true},
    {"vulkan_two", "vulkan://?devices=2", true},
    {"cpu_and_vulkan", "cpu://?workers=1,vulkan://0", true},
#endif
};

class ConformanceTest : public testing::Test {
 public:
  ConformanceTest(const Case& it, const Target& target) : it_(it), target_(target) {}
  void TestBody() override {
    // If HALYARD_REQUIRE_VULKAN is set, a missing device is a failure.
    if (target_.may_be_absent && std::getenv("HALYARD_REQUIRE_VULKAN") == nullptr) {
      static const halyard::Status there = halyard::hal::open(target_.uri).status();
      if (!there.ok()) GTEST_SKIP() << there.to_string();
    }
    const Outcome outcome = halyard::conformance::run(it_, {.uri = target_.uri});
    if (outcome.verdict == Verdict::kSkipped) GTEST_SKIP() << outcome.message;
    EXPECT_EQ(outcome.verdict, Verdict::kPassed) << outcome.message;
  }

 private:
  const Case& it_;
  const Target& target_;
};

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
#ifdef HALYARD_SIM_CUDA_LIBRARY
  // The simulated libraries of this build, unless others are chosen.
  setenv("HALYARD_CUDA_LIBRARY", HALYARD_SIM_CUDA_LIBRARY, 0);
#endif
#ifdef HALYARD_SIM_HIP_LIBRARY
  setenv("HALYARD_HIP_LIBRARY", HALYARD_SIM_HIP_LIBRARY, 0);
#endif
#if HALYARD_DRIVER_METAL
  setenv("HALYARD_SIM_METAL_DEVICES", "unified", 0);
#endif
  for (const Target& target : kTargets) {
    for (const Case& it : halyard::conformance::cases()) {
      const std::string suite = std::string(target.prefix) + "_" + std::string(it.suite);
      testing::RegisterTest(suite.c_str(), std::string(it.name).c_str(), nullptr, nullptr, __FILE__,
                            __LINE__,
                            [&]() -> ConformanceTest* { return new ConformanceTest(it, target); });
    }
  }
  const int result = RUN_ALL_TESTS();
  // Fails if a case leaked an object: its device would not close.
  const halyard::Status status = halyard::hal::shutdown(std::chrono::seconds(60));
  if (!status.ok()) std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return status.ok() ? result : 1;
}
