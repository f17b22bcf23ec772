// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program that trains a network on handwritten digits, data-parallel on several devices, and
// compares it with a plain program that does the same. There are two, of the same options and the
// same output: `digits` trains with halyard::async (trainer.cpp), `digits-hal` says everything
// itself (../digits_hal/trainer.cpp). All else is here, once.
//
// Every device holds the training rows and a copy of the parameters. Each step, all of them take
// their share of the batch and compute its gradient; the gradients are copied to the first device
// and added there; the sum is copied back, and every device applies it to its own parameters:
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

// How many steps the host submits before it waits for the first of them.
inline constexpr std::uint64_t kStepsAhead = 8;

// What is to be trained. Steps count from 1.
struct Job {
  std::vector<hal::Device> devices;
  std::string kernels;  // the folder of digits.hyx
  // The training rows, and behind them the first of them again: each batch is one piece.
  std::vector<float> pixels;
  std::vector<std::int32_t> labels;
  std::vector<float> test_pixels;
  std::vector<float> parameters;  // before the first step
  Schedule schedule;
  // For the tests: in this step something else than the second device's gradient goes into the sum.
  std::uint64_t corrupt_step;
  // To be called after each step with the mean loss of its rows, before its update.
  std::function<void(double loss)> on_loss;
};

struct Trained {
  std::vector<float> parameters;
  std::vector<float> logits;  // of the test rows
};

// Throws std::runtime_error or halyard::Error.
using Train = Trained(const Job& job);

// What main() returns.
int run_program(const char* name, int argc, char** argv, Train& train);

}  // namespace digits
