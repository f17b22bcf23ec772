// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Data-parallel training on several devices, ordered by timeline semaphores alone.
//
// Every device holds the training rows and a copy of the parameters. Each step, all of them take
// their share of the batch and compute its gradient; the gradients are copied to the first device
// and added there; the sum is copied back, and every device applies it to its own parameters:
//
//   device 0   backward ----> reduce ---------> update
//                            ^    |
//                       copy |    | copy
//                            |    v
//   device 1   backward -----+    +-----------> update
//
// Each arrow is a wait for `step` on some semaphore, so a value is the number of a step, and one
// step's waits order all that the next step overwrites. Recorded once per device, submitted in
// every step: backward (the forward pass included) and update.
#pragma once

#include <halyard/halyard.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data.h"
#include "network.h"

namespace digits {

using namespace halyard;

struct Kernels {
  explicit Kernels(const hal::Executable& file);
  hal::Function matmul, matmul_tn, matmul_nt, bias_add, relu, relu_gradient, softmax_cross_entropy,
      column_sum, sgd_update, add;
};

// One device with its share of the work.
struct Replica {
  hal::Device device;
  hal::Queue compute, copies;
  Kernels kernels;
  std::size_t first_row, rows;  // its share of each batch

  hal::Buffer pixels, labels;  // all training rows
  hal::Buffer parameters;
  hal::Buffer gradient;  // of this replica's rows
  hal::Buffer inbox;     // on the first device: where `gradient` is sent to
  hal::Buffer total;     // the whole batch's gradient
  hal::Buffer losses;    // of every row this replica has seen
  hal::Mapping losses_view;

  hal::CommandBuffer backward, update;
  // Reach `step` when that step's work of this kind is done. One per producer: a failure then names
  // the device it came from.
  hal::Semaphore has_gradient, has_sent, has_total, has_updated;
};

// Throws halyard::Error. One thread at a time.
class Trainer {
 public:
  Trainer(const std::vector<hal::Device>& devices, const std::string& kernels, const Dataset& data,
          std::span<const float> parameters, const Schedule& schedule);

  // Queues step 1, 2, ...; never blocks. `corrupt` sends something else than the gradient to the
  // first device, to see that somebody notices.
  void submit(std::uint64_t step, bool corrupt = false) const;
  // Returns when `step` is done on all devices.
  void wait(std::uint64_t step) const;

  // After wait(step): the mean loss of that step's rows, before its update.
  double loss(std::uint64_t step) const;
  // After wait() for the last step.
  std::vector<float> parameters() const;
  // The share of the test rows that the network gets right.
  double accuracy(const Dataset& data) const;

 private:
  void reduce_and_broadcast(std::uint64_t step, bool corrupt) const;
  hal::CommandBuffer record_reduce() const;

  Schedule schedule_;
  std::vector<Replica> replicas_;
  hal::CommandBuffer reduce_;  // on the first device
};

}  // namespace digits
