// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "trainer.h"

#include <algorithm>
#include <chrono>

namespace digits {
namespace {

using namespace std::chrono_literals;

// Longer than any step; the error of a wait that times out names the missing signal.
constexpr auto kStuck = 60s;

hal::Buffer allocate_floats(const hal::Device& device, std::size_t count,
                            hal::MemoryType memory = hal::MemoryType::kDeviceLocal) {
  return device.allocate({.size = count * sizeof(float), .memory = memory}).value();
}

template <class T>
hal::Buffer upload(const hal::Device& device, std::span<const T> values) {
  hal::Buffer buffer =
      device.allocate({.size = values.size_bytes(), .memory = hal::MemoryType::kHostVisible})
          .value();
  std::ranges::copy(values, buffer.map().value().as<T>().begin());
  return buffer;
}

std::vector<float> floats_of(const hal::Buffer& buffer) {
  const hal::Mapping mapping = buffer.map().value();
  const auto values = mapping.as<float>();
  return {values.begin(), values.end()};
}

hal::BufferRange part_of(const hal::Buffer& parameters, Part part) {
  return {parameters, part.first * sizeof(float), part.count * sizeof(float)};
}

// Intermediate results of the network, for `rows` rows.
struct Activations {
  Activations(const hal::Device& device, std::size_t rows)
      : sums(allocate_floats(device, rows * kHidden)),
        hidden(allocate_floats(device, rows * kHidden)),
        logits(allocate_floats(device, rows * kClasses, hal::MemoryType::kHostVisible)) {}
  hal::Buffer sums, hidden, logits;
};

hal::Tensor matrix(const hal::BindingRef& memory, std::uint64_t rows, std::uint64_t columns) {
  return {.memory = memory, .sizes = {rows, columns}};
}
// In tiles of 32 whole rows.
hal::Tensor in_rows(hal::Tensor matrix) {
  matrix.tile = {32, matrix.sizes[1]};
  return matrix;
}
hal::Tensor weights1(const hal::Buffer& parameters) {
  return matrix(part_of(parameters, kLayer1), kPixels + 1, kHidden);
}
hal::Tensor weights2(const hal::Buffer& parameters) {
  return matrix(part_of(parameters, kLayer2), kHidden + 1, kClasses);
}

void call(hal::Recorder& recorder, const hal::Function& kernel,
          std::initializer_list<hal::Argument> arguments,
          std::initializer_list<hal::Constant> scalars = {}) {
  recorder.dispatch(hal::Launch::create(kernel, arguments, scalars).value());
}

void record_forward(hal::Recorder& recorder, const Kernels& kernels, std::uint32_t rows,
                    const hal::BindingRef& pixels, const hal::Buffer& parameters,
                    const Activations& out) {
  const hal::Tensor sums = matrix(out.sums, rows, kHidden);
  const hal::Tensor hidden = matrix(out.hidden, rows, kHidden);
  call(recorder, kernels.dense, {matrix(pixels, rows, kPixels), weights1(parameters), sums});
  recorder.barrier();
  call(recorder, kernels.relu, {sums, hidden});
  recorder.barrier();
  call(recorder, kernels.dense, {hidden, weights2(parameters), matrix(out.logits, rows, kClasses)});
  recorder.barrier();
}

// Forward and backward pass for the replica's rows of a batch. Three slots change from step to
// step: 0 the pixels, 1 the labels, 2 the destination of the losses.
hal::CommandBuffer record_backward(const Replica& replica, std::size_t batch) {
  const Kernels& kernels = replica.kernels;
  const std::uint32_t rows = replica.rows;
  const Activations at(replica.device, rows);
  const hal::Buffer of_logits = allocate_floats(replica.device, rows * kClasses);
  const hal::Buffer of_hidden = allocate_floats(replica.device, rows * kHidden);
  const hal::Buffer of_sums = allocate_floats(replica.device, rows * kHidden);
  const hal::Tensor hidden = matrix(at.hidden, rows, kHidden);
  const hal::Tensor d_logits = matrix(of_logits, rows, kClasses);
  const hal::Tensor d_hidden = matrix(of_hidden, rows, kHidden);
  const hal::Tensor d_sums = matrix(of_sums, rows, kHidden);
  // Each row counts 1 / batch in every replica: the replicas' gradients add up to the mean.
  const float scale = 1.0f / static_cast<float>(batch);

  hal::Recorder recorder(replica.device);
  record_forward(recorder, kernels, rows, hal::slot(0), replica.parameters, at);
  const hal::Tensor labels{.memory = hal::slot(1), .sizes = {rows}};
  call(recorder, kernels.softmax_cross_entropy,
       {matrix(at.logits, rows, kClasses), labels, in_rows(d_logits),
        in_rows(matrix(hal::slot(2), rows, 1))},
       {scale});
  recorder.barrier();
  call(recorder, kernels.weight_gradient, {hidden, d_logits, weights2(replica.gradient)});
  call(recorder, kernels.input_gradient, {d_logits, weights2(replica.parameters), d_hidden});
  recorder.barrier();
  call(recorder, kernels.relu_gradient, {hidden, d_hidden, d_sums});
  recorder.barrier();
  call(recorder, kernels.weight_gradient,
       {matrix(hal::slot(0), rows, kPixels), d_sums, weights1(replica.gradient)});
  return recorder.finish().value();
}

hal::CommandBuffer record_update(const Replica& replica, float rate) {
  hal::Recorder recorder(replica.device);
  recorder.dispatch(replica.kernels.sgd_update, {.items = kParameters},
                    {replica.total, replica.parameters}, {rate, kParameters});
  return recorder.finish().value();
}

}  // namespace

Kernels::Kernels(const hal::Executable& file)
    : dense(file.function("dense").value()),
      weight_gradient(file.function("weight_gradient").value()),
      input_gradient(file.function("input_gradient").value()),
      relu(file.function("relu").value()),
      relu_gradient(file.function("relu_gradient").value()),
      softmax_cross_entropy(file.function("softmax_cross_entropy").value()),
      sgd_update(file.function("sgd_update").value()),
      add(file.function("add").value()) {}

Trainer::Trainer(const Job& job) : schedule_(job.schedule) {
  for (std::size_t i = 0; i < job.devices.size(); ++i) {
    const hal::Device& device = job.devices[i];
    const std::uint32_t rows = schedule_.rows_of(1, i, job.devices.size()).count;
    Replica& replica = replicas_.emplace_back(Replica{
        .device = device,
        .compute = device.queue(hal::QueueKind::kCompute),
        .copies = device.queue(hal::QueueKind::kCopy),
        .kernels = Kernels(device.load(job.kernels + "/digits.hyx").value()),
        .rows = rows,
        .pixels = upload(device, std::span(job.pixels)),
        .labels = upload(device, std::span(job.labels)),
        .parameters = upload(device, std::span(job.parameters)),
        .gradient = allocate_floats(device, kParameters),
        .inbox = allocate_floats(job.devices.front(), kParameters),
        .total = allocate_floats(device, kParameters),
        .losses = allocate_floats(device, schedule_.steps() * rows, hal::MemoryType::kHostVisible),
        .has_gradient = device.create_semaphore(0, "has_gradient").value(),
        .has_sent = device.create_semaphore(0, "has_sent").value(),
        .has_total = device.create_semaphore(0, "has_total").value(),
        .has_updated = device.create_semaphore(0, "has_updated").value(),
    });
    replica.losses_view = replica.losses.map().value();
    replica.backward = record_backward(replica, schedule_.batch);
    replica.update = record_update(replica, schedule_.rate);
  }
  reduce_ = record_reduce();
}

// Adds in the order of the devices, so that the result does not depend on their speed.
hal::CommandBuffer Trainer::record_reduce() const {
  const Replica& first = replicas_.front();
  hal::Recorder recorder(first.device);
  recorder.copy(first.gradient, first.total);
  for (std::size_t i = 1; i < replicas_.size(); ++i) {
    recorder.barrier().dispatch(first.kernels.add, {.items = kParameters},
                                {replicas_[i].inbox, first.total}, {kParameters});
  }
  return recorder.finish().value();
}

void Trainer::submit(std::uint64_t step, bool corrupt) const {
  for (std::size_t i = 0; i < replicas_.size(); ++i) {
    const Replica& r = replicas_[i];
    const auto [row, rows] = schedule_.rows_of(step, i, replicas_.size());
    const std::size_t seen = (step - 1) * rows;
    check(r.compute.execute(
        r.backward,
        {.bindings = {{r.pixels, row * kPixels * sizeof(float), rows * kPixels * sizeof(float)},
                      {r.labels, row * sizeof(std::int32_t), rows * sizeof(std::int32_t)},
                      {r.losses, seen * sizeof(float), rows * sizeof(float)}},
         .wait = {{r.has_updated, step - 1}},
         .signal = {{r.has_gradient, step}}}));
  }
  reduce_and_broadcast(step, corrupt);
  for (const Replica& r : replicas_) {
    check(r.compute.execute(r.update,
                            {.wait = {{r.has_total, step}}, .signal = {{r.has_updated, step}}}));
  }
}

void Trainer::reduce_and_broadcast(std::uint64_t step, bool corrupt) const {
  const Replica& first = replicas_.front();
  std::vector<hal::Point> gradients = {{first.has_gradient, step}};
  for (const Replica& r : std::span(replicas_).subspan(1)) {
    const bool wrong = corrupt && gradients.size() == 1;
    check(r.copies.copy(wrong ? r.parameters : r.gradient, r.inbox,
                        {.wait = {{r.has_gradient, step}}, .signal = {{r.has_sent, step}}}));
    gradients.emplace_back(r.has_sent, step);
  }
  check(first.compute.execute(reduce_, {.wait = gradients, .signal = {{first.has_total, step}}}));
  for (const Replica& r : std::span(replicas_).subspan(1)) {
    check(first.copies.copy(first.total, r.total,
                            {.wait = {{first.has_total, step}}, .signal = {{r.has_total, step}}}));
  }
}

void Trainer::wait(std::uint64_t step) const {
  std::vector<hal::Point> points;
  for (const Replica& r : replicas_) points.emplace_back(r.has_updated, step);
  check(hal::wait_all(points, kStuck));
}

double Trainer::loss(std::uint64_t step) const {
  double sum = 0;
  for (const Replica& r : replicas_) {
    for (const float loss : r.losses_view.as<float>().subspan((step - 1) * r.rows, r.rows)) {
      sum += loss;
    }
  }
  return sum / static_cast<double>(schedule_.batch);
}

std::vector<float> Trainer::parameters() const { return floats_of(replicas_.front().parameters); }

std::vector<float> Trainer::logits(std::span<const float> pixels) const {
  const Replica& first = replicas_.front();
  const std::size_t rows = pixels.size() / kPixels;
  const Activations at(first.device, rows);
  hal::Recorder recorder(first.device);
  record_forward(recorder, first.kernels, static_cast<std::uint32_t>(rows),
                 upload(first.device, pixels), first.parameters, at);
  const hal::CommandBuffer forward = recorder.finish().value();

  const hal::Semaphore done = first.device.create_semaphore().value();
  check(first.compute.execute_and_wait(forward, {.signal = {{done, 1}}}, kStuck));
  return floats_of(at.logits);
}

}  // namespace digits
