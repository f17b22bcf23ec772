// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Training as operations on tensors; the data orders all operations, within a step (program.h) and
// between steps. Each device's work in a step is recorded once and replayed on other rows.
#include <halyard/async.h>

#include "program.h"

namespace digits {
namespace {

using namespace halyard::async;
using uint = std::uint32_t;
using Floats = Shared<Tensor<float>>;
using Labels = Shared<Tensor<std::int32_t>>;
using Later = SharedOperation<Floats>;  // runs with the first operation that needs it
using In = const Tensor<float>&;
using Out = Tensor<float>&;

// Kernels of digits.hyx.
using Product = Kernel<void(In, In, Out)>;
constexpr Product dense{"dense", "digits"}, weight_gradient{"weight_gradient", "digits"},
    input_gradient{"input_gradient", "digits"}, relu_gradient{"relu_gradient", "digits"};
constexpr Kernel<void(float, In, const Tensor<std::int32_t>&, Out, Out)> softmax{
    "softmax_cross_entropy", "digits"};
constexpr Kernel<void(uint, uint, In, In, In, Out)> gather{"gather", "digits"};

auto part_of(const auto& array, Part part) { return array.rows(part.first, part.count); }
// Calls a kernel, whose last argument is its output: an array of that shape.
auto call(const auto& kernel, Shape shape, auto... args) {
  return kernel(std::move(args)..., scratch<float>(shape) | partition()) | last | unpartition;
}

// The network for rows of pixels x and all its parameters w.
struct Network {
  auto logits() const { return call(dense, {rows, kClasses}, hidden, layer2); }

  // In the layout of the parameters, then the sum of the rows' losses. Each row has weight `scale`.
  auto gradient(const Labels& labels, float scale) const {
    auto [s, scores, given, d_scores, losses] = unzip(
        softmax(scale, logits(), labels, scratch<float>({rows, kClasses}) | partition(32, kClasses),
                scratch<float>({rows, 1}) | partition(32, 1)));
    const auto d_logits = std::move(d_scores) | unpartition | share;
    auto d_hidden = call(input_gradient, {rows, kHidden}, d_logits, layer2);
    auto d_sums = call(relu_gradient, {rows, kHidden}, hidden, std::move(d_hidden));
    auto d_layer1 = call(weight_gradient, {kPixels + 1, kHidden}, x, std::move(d_sums));
    auto d_layer2 = call(weight_gradient, {kHidden + 1, kClasses}, hidden, d_logits);
    return call(gather, kParameters + 1, kLayer1.count, rows, std::move(d_layer1),
                std::move(d_layer2), std::move(losses) | unpartition);
  }

  Floats x, w;
  uint rows = static_cast<uint>(x.shape()[0]);
  Floats layer1 = part_of(w, kLayer1).reshape({kPixels + 1, kHidden});
  Floats layer2 = part_of(w, kLayer2).reshape({kHidden + 1, kClasses});
  SharedOperation<Floats, true> hidden =
      relu(call(dense, {rows, kHidden}, x, layer1), scratch<float>({rows, kHidden})) | share;
};

struct Replica {
  Device device;
  Floats pixels;
  Labels labels;
  Recorded<Tensor<float>, Floats, Labels, Floats> gradient;  // of rows, labels and parameters
  Later parameters;                                          // after all steps so far
};

Task<> step(std::uint64_t number, const Job& job, std::vector<Replica>& replicas) {
  std::vector<Later> gradients;
  for (const Replica& r : replicas) {
    const Part rows = job.schedule.rows_of(number, gradients.size(), replicas.size());
    auto gradient = r.gradient(part_of(r.pixels, rows), part_of(r.labels, rows), r.parameters);
    gradients.push_back(std::move(gradient) | on(r.device) | share);
  }
  if (number == job.corrupt_step) gradients[1] = gradients[0];
  Later total = gradients[0];
  const Device& first = replicas.front().device;
  for (std::size_t i = 1; i < gradients.size(); ++i) {
    total = add(total, gradients[i] | copy_to(first)) | on(first) | share;
  }
  for (Replica& r : replicas) {
    const Later here = r.device == first ? total : total | copy_to(r.device) | share;
    r.parameters = sub(r.parameters, here | rows(0, kParameters)) | on(r.device) | share;
  }
  const float loss = co_await item(total | rows(kParameters, 1));
  job.on_loss(loss / static_cast<double>(job.schedule.batch));
}

Task<Trained> train_on(Runtime runtime, const Job& job) {
  // Each row has weight rate / batch on every device, so an update is a subtraction.
  const float scale = job.schedule.rate / static_cast<float>(job.schedule.batch);
  auto of_rows = [=](Floats x, Labels y, Floats w) { return Network{x, w}.gradient(y, scale); };
  std::vector<Replica> replicas;
  for (const Device& device : runtime.devices()) {
    const uint rows = job.schedule.rows_of(1, replicas.size(), runtime.devices().size()).count;
    auto pixels = from_host(job.pixels, {job.labels.size(), kPixels}) | share;
    auto gradient = record(of_rows, Shape{rows, kPixels}, rows, kParameters);
    auto [x, y, recorded] = co_await (
        zip(std::move(pixels), from_host(job.labels) | share, std::move(gradient)) | on(device));
    Later parameters = from_host(job.parameters) | on(device) | share;
    replicas.push_back({device, x, y, std::move(recorded), parameters});
  }

  Nursery ahead;
  for (std::uint64_t i = 1; i <= job.schedule.steps(); ++i) {
    co_await ahead.join(kStepsAhead - 1);
    co_await ahead.spawn(step(i, job, replicas));
  }
  co_await ahead.join();

  Floats tests = co_await (from_host(job.test_pixels, {kTestRows, kPixels}) | share);
  auto scores = [&](Floats w) { return Network{tests, w}.logits(); };
  auto logits = co_await to_host(replicas[0].parameters | and_then(scores));
  auto parameters = co_await to_host(replicas[0].parameters);
  co_return Trained{std::move(parameters), std::move(logits)};
}

Trained train(const Job& job) {
  const Runtime runtime = Runtime::create(job.devices, {.kernels = {job.kernels}}).value();
  return sync_wait(train_on(runtime, job), runtime);
}

}  // namespace
}  // namespace digits

int main(int argc, char** argv) { return digits::run_program("digits", argc, argv, digits::train); }
