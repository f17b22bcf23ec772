// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Data-parallel training on several devices, ordered only by timeline semaphores.
//
// Each arrow of a step (program.h) is a wait for `step` on a semaphore. The values are the numbers
// of the steps, and the waits of a step also order the overwrites of the next step. Backward
// (including the forward pass) and update are recorded once per device and submitted in every step.
#pragma once

#include <halyard/halyard.h>

#include <cstdint>
#include <span>
#include <vector>

#include "program.h"

namespace digits {

struct Kernels {
  explicit Kernels(const hal::Executable& file);
  hal::Function dense, weight_gradient, input_gradient, relu, relu_gradient, softmax_cross_entropy,
      sgd_update, add;
};

// A device and its share of the work.
struct Replica {
  hal::Device device;
  hal::Queue compute, copies;
  Kernels kernels;
  std::uint32_t rows;  // of each batch

  hal::Buffer pixels, labels;  // all training rows
  hal::Buffer parameters;
  hal::Buffer gradient;  // of this replica's rows
  hal::Buffer inbox;     // on the first device; receives `gradient`
  hal::Buffer total;     // the whole batch's gradient
  hal::Buffer losses;    // of every row this replica has seen
  hal::Mapping losses_view;

  hal::CommandBuffer backward, update;
  // Reach `step` when that step's work of this kind is complete. One semaphore per producer, so
  // that a failure names its device.
  hal::Semaphore has_gradient, has_sent, has_total, has_updated;
};

// Throws halyard::Error. One thread at a time.
class Trainer {
 public:
  explicit Trainer(const Job& job);

  // Queues step 1, 2, ...; never blocks. With `corrupt` it sends wrong data to the first device
  // instead of the gradient, to check that the program detects it.
  void submit(std::uint64_t step, bool corrupt = false) const;
  // Returns when `step` is complete on all devices.
  void wait(std::uint64_t step) const;

  // The mean loss of that step's rows, before its update. Precondition: wait(step) has returned.
  double loss(std::uint64_t step) const;
  // Precondition: wait() for the last step has returned.
  std::vector<float> parameters() const;
  std::vector<float> logits(std::span<const float> pixels) const;

 private:
  void reduce_and_broadcast(std::uint64_t step, bool corrupt) const;
  hal::CommandBuffer record_reduce() const;

  Schedule schedule_;
  std::vector<Replica> replicas_;
  hal::CommandBuffer reduce_;  // on the first device
};

}  // namespace digits
