// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "reference_run.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "npy.h"

namespace digits {
namespace {

using namespace halyard;
namespace fs = std::filesystem;

// A new directory, removed by the destructor.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string name = fs::temp_directory_path() / "digits-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) {
      throw std::runtime_error(name + ": cannot be made: " + std::strerror(errno));
    }
    path_ = name;
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }

  std::string file(const char* name) const { return path_ / name; }

 private:
  fs::path path_;
};

// Runs a program and writes its output to a file.
void run(std::vector<std::string> arguments, const std::string& output) {
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output.c_str(), O_WRONLY | O_CREAT,
                                   0600);
  pid_t process = 0;
  const int error = posix_spawn(&process, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    throw std::runtime_error(arguments[0] + ": cannot be run: " + std::strerror(error));
  }
  int status = 0;
  while (::waitpid(process, &status, 0) < 0) {
    if (errno != EINTR) throw std::runtime_error(arguments[0] + ": " + std::strerror(errno));
  }
  if (status != 0) throw std::runtime_error(arguments[0] + ": failed");
}

}  // namespace

ReferenceResult run_reference(const std::string& program, const std::string& csv,
                              std::span<const float> initial, const Schedule& schedule) {
  const TemporaryDirectory directory;
  const std::string before = directory.file("initial.npy"), after = directory.file("final.npy");
  const std::string output = directory.file("output.txt");
  write_parameters(before, initial);

  char rate[32];  // 17 digits: exactly the number that the devices use
  std::snprintf(rate, sizeof rate, "%.17g", static_cast<double>(schedule.rate));
  run({program, csv, before, std::to_string(schedule.epochs), std::to_string(schedule.batch), rate,
       after},
      output);

  ReferenceResult result;
  std::string word;
  if (!(std::ifstream(output) >> word >> result.accuracy) || word != "accuracy") {
    throw std::runtime_error(program + ": gave no accuracy");
  }
  const tools::NpyArray array = tools::read_npy(after).value();
  if (array.element != tools::ElementType::kFloat64 || array.count() != kParameters) {
    throw std::runtime_error(program + ": gave other parameters than expected");
  }
  const auto values = array.as<double>();
  result.parameters.assign(values.begin(), values.end());
  return result;
}

Difference compare(std::span<const float> parameters, std::span<const double> reference) {
  double largest = 0, squares = 0, reference_squares = 0;
  for (std::size_t i = 0; i < reference.size(); ++i) {
    const double difference = std::abs(parameters[i] - reference[i]);
    if (difference > largest || std::isnan(difference)) largest = difference;
    squares += difference * difference;
    reference_squares += reference[i] * reference[i];
  }
  return {largest, std::sqrt(squares / reference_squares)};
}

void write_parameters(const std::string& path, std::span<const float> parameters) {
  const auto bytes = std::as_bytes(parameters);
  check(tools::write_npy(path, {.element = tools::ElementType::kFloat32,
                                .shape = {parameters.size()},
                                .bytes = {bytes.begin(), bytes.end()}}));
}

}  // namespace digits
