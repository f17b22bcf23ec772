// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "program.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "data.h"
#include "network.h"
#include "plot.h"
#include "reference_run.h"

namespace digits {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxDevices = 16;
constexpr std::size_t kMaxEpochs = 1000;

// After the default 1,348 steps, float and double parameters differ by about 1e-6 of their length.
// If rounding decides on which side of 0 an input of ReLU lies, that unit differs more: up to
// 3.4e-4 in 9 runs with other seeds and schedules. One wrong reduction in an early step leaves 1e-3
// to 0.15.
constexpr double kRelativeTolerance = 1e-3;
constexpr double kAccuracyTolerance = 0.01;

struct Options {
  std::string devices = "2";     // how many, or which
  std::size_t device_count = 2;  // 0: as many as device_uri describes
  std::string device_uri;
  Schedule schedule{.epochs = 30, .batch = 32, .rate = 0.2f};
  std::uint64_t seed = 5;
  std::string data, kernels, loss_svg, dump_weights, save_weights;
  std::uint64_t corrupt_step = 0;  // none
  bool quiet = false;
};

// Prints a bar that redraws itself on a terminal, or a few lines elsewhere.
class Progress {
 public:
  Progress(std::size_t epochs, bool quiet)
      : epochs_(epochs), quiet_(quiet), terminal_(::isatty(STDOUT_FILENO) != 0) {}

  // Adds the loss of one step. Each line shows the mean since the previous line.
  void add(std::size_t epoch, double loss) {
    sum_ += loss;
    ++count_;
    epoch = std::min(epoch, epochs_);
    const std::size_t shown_parts = terminal_ ? epochs_ : std::min(epochs_, kLines);
    if (quiet_ || epoch * shown_parts / epochs_ == shown_) return;
    shown_ = epoch * shown_parts / epochs_;
    const double mean = std::exchange(sum_, 0) / static_cast<double>(std::exchange(count_, 0));
    if (terminal_) {
      const std::size_t filled = epoch * kBarWidth / epochs_;
      std::printf("\r[%s%s] epoch %zu/%zu, loss %.4f%s", std::string(filled, '#').c_str(),
                  std::string(kBarWidth - filled, '.').c_str(), epoch, epochs_, mean,
                  epoch == epochs_ ? "\n" : "  ");
      std::fflush(stdout);
    } else {
      std::printf("epoch %zu/%zu, loss %.4f\n", epoch, epochs_, mean);
    }
  }

 private:
  static constexpr std::size_t kBarWidth = 40, kLines = 10;
  std::size_t epochs_, shown_ = 0, count_ = 0;
  double sum_ = 0;
  bool quiet_, terminal_;
};

// The training rows of `values`, with `each` values per row, and then the first `again` rows again.
template <class T>
std::vector<T> training_ring(const std::vector<T>& values, std::size_t each, std::size_t again) {
  std::vector<T> ring(values.begin(), values.begin() + kTrainRows * each);
  ring.insert(ring.end(), values.begin(), values.begin() + again * each);
  return ring;
}
template <class T>
std::vector<T> test_rows(const std::vector<T>& values, std::size_t each) {
  return {values.begin() + kTrainRows * each, values.end()};
}

// The fraction of the test rows whose label has the greatest score.
double accuracy(std::span<const float> logits, std::span<const std::int32_t> labels) {
  std::size_t right = 0;
  for (std::size_t row = 0; row < labels.size(); ++row) {
    const auto scores = logits.subspan(row * kClasses, kClasses);
    if (std::ranges::max_element(scores) - scores.begin() == labels[row]) ++right;
  }
  return static_cast<double>(right) / static_cast<double>(labels.size());
}

void check_share(const Options& options, std::size_t devices) {
  const auto fail = [](const std::string& what) { throw std::runtime_error(what); };
  if (options.schedule.batch < devices) {
    fail("--batch " + std::to_string(options.schedule.batch) + ": less than a row per device");
  }
  if (options.corrupt_step > 0 && devices == 1) {
    fail("--corrupt-reduction: one device has nothing to reduce");
  }
}

void run(const Options& options, Train& train) {
  const Schedule& schedule = options.schedule;
  const Dataset data = read_csv(options.data);
  const std::vector<float> initial = initial_parameters(options.seed);
  if (!options.dump_weights.empty()) write_parameters(options.dump_weights, initial);

  const auto devices = hal::open_all(options.device_uri).value();
  if (options.device_count != 0 && devices.size() != options.device_count) {
    throw std::runtime_error(options.device_uri + ": describes " + std::to_string(devices.size()) +
                             ", but --devices is " + options.devices);
  }
  if (devices.size() > kMaxDevices) {
    throw std::runtime_error(options.device_uri + ": describes " + std::to_string(devices.size()) +
                             " devices, at most " + std::to_string(kMaxDevices) + " can share");
  }
  check_share(options, devices.size());

  std::vector<double> losses;
  Progress progress(schedule.epochs, options.quiet);
  const auto on_loss = [&](double loss) {
    losses.push_back(loss);
    progress.add(schedule.epochs_after(losses.size()), loss);
  };
  const auto began = std::chrono::steady_clock::now();
  const Trained trained = train({.devices = devices,
                                 .kernels = fs::absolute(options.kernels).parent_path(),
                                 .pixels = training_ring(data.pixels, kPixels, schedule.batch),
                                 .labels = training_ring(data.labels, 1, schedule.batch),
                                 .test_pixels = test_rows(data.pixels, kPixels),
                                 .parameters = initial,
                                 .schedule = schedule,
                                 .corrupt_step = options.corrupt_step,
                                 .on_loss = on_loss});
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  const double right = accuracy(trained.logits, test_rows(data.labels, 1));
  if (!options.save_weights.empty()) write_parameters(options.save_weights, trained.parameters);

  const std::string how = std::to_string(devices.size()) +
                          (devices.size() == 1 ? " device" : " devices") + ", batches of " +
                          std::to_string(schedule.batch) + ", " + devices.front().info().name;
  write_loss_svg(options.loss_svg, losses, schedule, how);

  const auto folder = fs::canonical("/proc/self/exe").parent_path();
  const ReferenceResult reference =
      run_reference(folder / "digits-reference", options.data, initial, schedule);
  const Difference difference = compare(trained.parameters, reference.parameters);
  if (!options.quiet) {
    std::printf("%zu steps in %.2f s on %s\n", losses.size(), took.count(), how.c_str());
    std::printf("loss curve: %s\n", options.loss_svg.c_str());
    std::printf("largest difference from the reference's weights: %.2g (relative, overall: %.2g)\n",
                difference.largest, difference.relative);
  }
  // Negated comparisons, so that NaN fails.
  if (!(difference.relative <= kRelativeTolerance) ||
      !(std::abs(right - reference.accuracy) <= kAccuracyTolerance)) {
    char text[200];
    std::snprintf(
        text, sizeof text,
        "no agreement with the reference: accuracy %.3f, not %.3f; weights differ by %.2g "
        "(at most %g is rounding)",
        right, reference.accuracy, difference.relative, kRelativeTolerance);
    throw std::runtime_error(text);
  }
  std::printf("test accuracy %.3f (reference %.3f)\n", right, reference.accuracy);
}

void add_options(CLI::App& app, Options& options) {
  const auto not_negative = [](const std::string& text) {  // CLI11 lets -1 wrap around
    return text.starts_with('-') ? "must not be negative" : "";
  };
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  app.add_option("--devices", options.devices,
                 "Share each batch: so many cpu devices, or those of URIs, separated by commas")
      ->check([](const std::string& text) {
        if (text.find("://") != text.npos) return std::string();
        return CLI::Range(std::size_t{1}, kMaxDevices)(text);
      })
      ->type_name("N|URI[,URI...]")
      ->capture_default_str();
  app.add_option("--device-uri", options.device_uri,
                 "Which devices, as many: default cpu://?devices=N");
  app.add_option("--epochs", options.schedule.epochs, "Passes through the 1,437 training rows")
      ->check(CLI::Range(std::size_t{1}, kMaxEpochs))
      ->capture_default_str();
  app.add_option("--batch", options.schedule.batch, "Rows per step, over all devices")
      ->check(CLI::Range(std::size_t{1}, kTrainRows))
      ->capture_default_str();
  app.add_option("--rate", options.schedule.rate, "Learning rate")
      ->check([](const std::string& text) {
        const double rate = std::strtod(text.c_str(), nullptr);
        return rate > 0 && rate <= 10 ? "" : "must be above 0 and at most 10";
      })
      ->capture_default_str();
  app.add_option("--seed", options.seed, "Of the initial weights")
      ->check(not_negative)
      ->capture_default_str();
  app.add_option("--data", options.data, "The digits: default data/digits.csv beside the program");
  app.add_option("--kernels", options.kernels, "Compiled: default kernels/digits.hyx beside it");
  app.add_option("--loss-svg", options.loss_svg, "The loss curve: default loss.svg beside it");
  app.add_option(
      "--dump-weights", options.dump_weights,
      "Write the initial weights, a NumPy array: w1[64][128] b1[128] w2[128][10] b2[10]");
  app.add_option("--save-weights", options.save_weights, "Write the trained weights, likewise");
  app.add_flag("--quiet", options.quiet, "Print the last line only");
  // For tests: in this step one copy of the reduction has the wrong source.
  app.add_option("--corrupt-reduction", options.corrupt_step)->check(not_negative)->group("");
}

void check_options(Options& options) {
  const auto fail = [](const std::string& what) { throw std::runtime_error(what); };
  if (options.corrupt_step > options.schedule.steps()) {
    fail("--corrupt-reduction " + std::to_string(options.corrupt_step) + ": no such step");
  }
  const fs::path kernels = options.kernels;
  if (!fs::is_regular_file(kernels)) fail("--kernels " + options.kernels + ": no such file");
  if (kernels.filename() != "digits.hyx") {
    fail("--kernels " + options.kernels + ": the file's name has to be digits.hyx");
  }
  if (options.devices.find("://") != std::string::npos) {
    if (!options.device_uri.empty()) fail("--device-uri: --devices has named the devices already");
    options.device_uri = options.devices;
    options.device_count = 0;
    return;
  }
  options.device_count = std::stoul(options.devices);
  check_share(options, options.device_count);
  if (options.device_uri.empty()) options.device_uri = "cpu://?devices=" + options.devices;
}

int parse_and_run(const char* name, int argc, char** argv, Train& train) {
  const auto folder = fs::canonical("/proc/self/exe").parent_path();
  Options options;
  options.data = folder / "data/digits.csv";
  options.kernels = folder / "kernels/digits.hyx";
  options.loss_svg = folder / "loss.svg";

  CLI::App app("Trains a network on handwritten digits, data-parallel on several devices.", name);
  add_options(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help) {
    return app.exit(help);
  }
  check_options(options);
  run(options, train);
  return 0;
}

}  // namespace

int run_program(const char* name, int argc, char** argv, Train& train) {
  int code = 1;
  try {
    code = parse_and_run(name, argc, argv, train);
  } catch (const std::exception& error) {
    std::fflush(stdout);
    std::fprintf(stderr, "%s: %s\n", name, error.what());
  }
  // Checks that all devices close; a program need not do this.
  return hal::shutdown(std::chrono::seconds(10)).ok() ? code : 1;
}

}  // namespace digits
