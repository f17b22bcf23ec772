// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program that trains a network on handwritten digits, data-parallel on several devices, and
// compares it with a plain program that does the same. There are two, with the same options and
// output: `digits` trains with halyard::async (trainer.cpp), and `digits-hal` over the HAL
// (../digits_hal/trainer.cpp). They share all other sources, in this folder.
//
// Each device holds the training rows and a copy of the parameters. In each step every device
// computes the gradient of its share of the batch. The gradients are copied to the first device and
// added there. The sum is copied back, and each device applies it to its own parameters:
//
//   device 0   gradient ----> sum -------> update
//                            ^    |
//                       copy |    | copy
//                            |    v
//   device 1   gradient -----+    +------> update
#pragma once

#include <halyard/halyard.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "data.h"
#include "network.h"

namespace digits {

using namespace halyard;

// The number of steps that the host submits before it waits for the first one.
inline constexpr std::uint64_t kStepsAhead = 8;

// The training to do. Steps count from 1.
struct Job {
  std::vector<hal::Device> devices;
  std::string kernels;  // the folder of digits.hyx
  // The training rows, and then the first of them again, so that each batch is contiguous.
  std::vector<float> pixels;
  std::vector<std::int32_t> labels;
  std::vector<float> test_pixels;
  std::vector<float> parameters;  // before the first step
  Schedule schedule;
  // For tests: in this step the sum gets a wrong gradient instead of the second device's. 0: never.
  std::uint64_t corrupt_step;
  // Called after each step with the mean loss of its rows before the update.
  std::function<void(double loss)> on_loss;
};

struct Trained {
  std::vector<float> parameters;
  std::vector<float> logits;  // of the test rows
};

// Throws std::runtime_error or halyard::Error.
using Train = Trained(const Job& job);

// Returns the exit code.
int run_program(const char* name, int argc, char** argv, Train& train);

}  // namespace digits
