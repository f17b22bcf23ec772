// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "trainer.h"

#include <algorithm>
#include <chrono>
#include <cstring>

namespace digits {
namespace {

using namespace std::chrono_literals;

// No step takes this long; a wait that does says who was to signal what.
constexpr auto kStuck = 60s;

hal::Buffer allocate_floats(const hal::Device& device, std::size_t count,
                            hal::MemoryType memory = hal::MemoryType::kDeviceLocal) {
  return device.allocate({.size = count * sizeof(float), .memory = memory}).value();
}

// `values`, and then the first `again` of them once more.
template <class T>
hal::Buffer upload(const hal::Device& device, std::span<const T> values, std::size_t again = 0) {
  const std::uint64_t size = (values.size() + again) * sizeof(T);
  hal::Buffer buffer =
      device.allocate({.size = size, .memory = hal::MemoryType::kHostVisible}).value();
  const hal::Mapping mapping = buffer.map().value();
  std::ranges::copy(values, mapping.as<T>().begin());
  std::ranges::copy(values.first(again), mapping.as<T>().begin() + values.size());
  return buffer;
}

hal::BufferRange part_of(const hal::Buffer& parameters, Part part) {
  return {parameters, part.first * sizeof(float), part.count * sizeof(float)};
}

// Results on the way through the network, for `rows` rows.
struct Activations {
  Activations(const hal::Device& device, std::size_t rows)
      : sums(allocate_floats(device, rows * kHidden)),
        hidden(allocate_floats(device, rows * kHidden)),
        logits(allocate_floats(device, rows * kClasses, hal::MemoryType::kHostVisible)) {}
  hal::Buffer sums, hidden, logits;
};

void record_forward(hal::Recorder& recorder, const Kernels& kernels, std::uint32_t rows,
                    const hal::BindingRef& pixels, const hal::Buffer& parameters,
                    const Activations& out) {
  recorder
      .dispatch(kernels.matmul, {.items = {kHidden, rows}},
                {pixels, part_of(parameters, kW1), out.sums}, {rows, kHidden, kPixels})
      .barrier()
      .dispatch(kernels.bias_add, {.items = {kHidden, rows}}, {part_of(parameters, kB1), out.sums},
                {rows, kHidden})
      .barrier()
      .dispatch(kernels.relu, {.items = rows * kHidden}, {out.sums, out.hidden}, {rows * kHidden})
      .barrier()
      .dispatch(kernels.matmul, {.items = {kClasses, rows}},
                {out.hidden, part_of(parameters, kW2), out.logits}, {rows, kClasses, kHidden})
      .barrier()
      .dispatch(kernels.bias_add, {.items = {kClasses, rows}},
                {part_of(parameters, kB2), out.logits}, {rows, kClasses})
      .barrier();
}

// Forward and backward for the replica's rows of a batch. What differs from step to step are slots:
// 0 the pixels, 1 the labels, 2 where the losses go.
hal::CommandBuffer record_backward(const Replica& replica, std::size_t batch) {
  const Kernels& kernels = replica.kernels;
  const auto rows = static_cast<std::uint32_t>(replica.rows);
  const Activations at(replica.device, rows);
  const hal::Buffer d_logits = allocate_floats(replica.device, rows * kClasses);
  const hal::Buffer d_hidden = allocate_floats(replica.device, rows * kHidden);
  const hal::Buffer d_sums = allocate_floats(replica.device, rows * kHidden);
  // Each row counts 1 / batch, whatever the share: the replicas' gradients add up to the mean.
  const float scale = 1.0f / static_cast<float>(batch);

  hal::Recorder recorder(replica.device);
  record_forward(recorder, kernels, rows, hal::slot(0), replica.parameters, at);
  recorder
      .dispatch(kernels.softmax_cross_entropy, {.items = rows},
                {at.logits, hal::slot(1), d_logits, hal::slot(2)}, {rows, kClasses, scale})
      .barrier()
      .dispatch(kernels.matmul_tn, {.items = {kClasses, kHidden}},
                {at.hidden, d_logits, part_of(replica.gradient, kW2)}, {kHidden, kClasses, rows})
      .dispatch(kernels.column_sum, {.items = kClasses}, {d_logits, part_of(replica.gradient, kB2)},
                {rows, kClasses})
      .dispatch(kernels.matmul_nt, {.items = {kHidden, rows}},
                {d_logits, part_of(replica.parameters, kW2), d_hidden}, {rows, kHidden, kClasses})
      .barrier()
      .dispatch(kernels.relu_gradient, {.items = rows * kHidden}, {at.hidden, d_hidden, d_sums},
                {rows * kHidden})
      .barrier()
      .dispatch(kernels.matmul_tn, {.items = {kHidden, kPixels}},
                {hal::slot(0), d_sums, part_of(replica.gradient, kW1)}, {kPixels, kHidden, rows})
      .dispatch(kernels.column_sum, {.items = kHidden}, {d_sums, part_of(replica.gradient, kB1)},
                {rows, kHidden});
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
    : matmul(file.function("matmul").value()),
      matmul_tn(file.function("matmul_tn").value()),
      matmul_nt(file.function("matmul_nt").value()),
      bias_add(file.function("bias_add").value()),
      relu(file.function("relu").value()),
      relu_gradient(file.function("relu_gradient").value()),
      softmax_cross_entropy(file.function("softmax_cross_entropy").value()),
      column_sum(file.function("column_sum").value()),
      sgd_update(file.function("sgd_update").value()),
      add(file.function("add").value()) {}

Trainer::Trainer(const std::vector<hal::Device>& devices, const std::string& kernels,
                 const Dataset& data, std::span<const float> parameters, const Schedule& schedule)
    : schedule_(schedule) {
  // The rows are a ring: with the first ones repeated at its end, every batch is one piece of it.
  const auto pixels = std::span(data.pixels).first(kTrainRows * kPixels);
  const auto labels = std::span(data.labels).first(kTrainRows);
  const std::size_t batch = schedule.batch;

  for (std::size_t i = 0; i < devices.size(); ++i) {
    const hal::Device& device = devices[i];
    const std::size_t first_row = batch * i / devices.size();
    const std::size_t rows = batch * (i + 1) / devices.size() - first_row;
    Replica& replica = replicas_.emplace_back(Replica{
        .device = device,
        .compute = device.queue(hal::QueueKind::kCompute),
        .copies = device.queue(hal::QueueKind::kCopy),
        .kernels = Kernels(device.load(kernels).value()),
        .first_row = first_row,
        .rows = rows,
        .pixels = upload(device, pixels, batch * kPixels),
        .labels = upload(device, labels, batch),
        .parameters = upload(device, parameters),
        .gradient = allocate_floats(device, kParameters),
        .inbox = allocate_floats(devices.front(), kParameters),
        .total = allocate_floats(device, kParameters),
        .losses = allocate_floats(device, schedule.steps() * rows, hal::MemoryType::kHostVisible),
        .has_gradient = device.create_semaphore(0, "has_gradient").value(),
        .has_sent = device.create_semaphore(0, "has_sent").value(),
        .has_total = device.create_semaphore(0, "has_total").value(),
        .has_updated = device.create_semaphore(0, "has_updated").value(),
    });
    replica.losses_view = replica.losses.map().value();
    replica.backward = record_backward(replica, batch);
    replica.update = record_update(replica, schedule.rate);
  }
  reduce_ = record_reduce();
}

// Adds in the order of the devices, so that the result does not depend on who is faster.
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
  const std::size_t batch_start = (step - 1) * schedule_.batch % kTrainRows;
  for (const Replica& r : replicas_) {
    const std::size_t row = batch_start + r.first_row;
    const std::size_t seen = (step - 1) * r.rows;
    check(r.compute.execute(
        r.backward,
        {.bindings = {{r.pixels, row * kPixels * sizeof(float), r.rows * kPixels * sizeof(float)},
                      {r.labels, row * sizeof(std::int32_t), r.rows * sizeof(std::int32_t)},
                      {r.losses, seen * sizeof(float), r.rows * sizeof(float)}},
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

std::vector<float> Trainer::parameters() const {
  const hal::Mapping mapping = replicas_.front().parameters.map().value();
  const auto values = mapping.as<float>();
  return {values.begin(), values.end()};
}

double Trainer::accuracy(const Dataset& data) const {
  const Replica& first = replicas_.front();
  const hal::Buffer pixels =
      upload(first.device, std::span(data.pixels).subspan(kTrainRows * kPixels));
  const Activations at(first.device, kTestRows);
  hal::Recorder recorder(first.device);
  record_forward(recorder, first.kernels, kTestRows, pixels, first.parameters, at);
  const hal::CommandBuffer forward = recorder.finish().value();

  const hal::Semaphore done = first.device.create_semaphore().value();
  check(first.compute.execute_and_wait(forward, {.signal = {{done, 1}}}, kStuck));

  const hal::Mapping logits = at.logits.map().value();
  std::size_t right = 0;
  for (std::size_t row = 0; row < kTestRows; ++row) {
    const auto scores = logits.as<float>().subspan(row * kClasses, kClasses);
    const auto best = std::ranges::max_element(scores) - scores.begin();
    if (best == data.labels[kTrainRows + row]) ++right;
  }
  return static_cast<double>(right) / kTestRows;
}

}  // namespace digits
