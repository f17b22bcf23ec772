// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "arguments.h"
#include "base/format.h"
#include "commands.h"
#include "compiler/compile.h"
#include "compiler/target.h"
#include "halyard/base/clock.h"
#include "halyard/halyard.h"
#include "json.h"
#include "npy.h"
#include "source.h"

namespace halyard::inline v0::tools {
namespace {

// ---- A kernel that faults ------------------------------------------------------------------

// Kernels are native code: an index beyond a buffer, or a division by zero, is a signal. The
// message is formatted before the launch, since the handler may only call write and _exit.
std::string fault_message;

extern "C" void on_fault(int) {
  [[maybe_unused]] const auto ignored =
      ::write(STDERR_FILENO, fault_message.data(), fault_message.size());
  ::_exit(kFailed);
}

void report_faults_of(std::string_view kernel) {
  fault_message = fmt::format(
      "halyard: Internal: kernel {} faulted: an index beyond a buffer or a division by zero\n",
      kernel);
  struct sigaction action{};
  action.sa_handler = on_fault;
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) ::sigaction(signal, &action, nullptr);
}

// ---- The launch ----------------------------------------------------------------------------

Result<hal::Buffer> upload(const hal::Device& device, const BoundArray& array) {
  hal::BufferInfo info;
  info.size = array.size;
  info.memory = hal::MemoryType::kHostVisible;
  HALYARD_ASSIGN_OR_RETURN(hal::Buffer buffer, device.allocate(info));
  HALYARD_ASSIGN_OR_RETURN(const hal::Mapping mapping, buffer.map());
  const std::span<std::byte> bytes = mapping.bytes();
  if (array.contents.empty()) {
    std::fill(bytes.begin(), bytes.end(), std::byte{0});
  } else {
    std::copy(array.contents.begin(), array.contents.end(), bytes.begin());
  }
  return buffer;
}

// A tensor has the shape of its array.
hal::Argument argument_of(const BoundArray& array, const hal::Buffer& buffer) {
  if (array.binding.rank == 0) return buffer;
  return hal::Tensor{
      .memory = buffer, .sizes = hal::View<std::uint64_t>(array.shape), .tile = array.tile};
}

// Returns the time from submission until completion was seen.
Result<Nanoseconds> launch_and_wait(const hal::Device& device, const hal::Function& function,
                                    const hal::Launch& launch) {
  HALYARD_ASSIGN_OR_RETURN(const hal::Semaphore done, device.create_semaphore(0, "done"));
  const hal::Point signal(done, 1);
  report_faults_of(function.name());
  const Nanoseconds start = Clock::steady().now();
  HALYARD_RETURN_IF_ERROR(device.queue().dispatch(launch, {.signal = {&signal, 1}}));
  HALYARD_RETURN_IF_ERROR(done.wait(1));
  return Clock::steady().now() - start;
}

Status download(const BoundArray& array, const hal::Buffer& buffer) {
  HALYARD_ASSIGN_OR_RETURN(const hal::Mapping mapping, buffer.map());
  const std::span<const std::byte> bytes = mapping.bytes();
  return write_npy(array.output,
                   {array.binding.element, array.shape, {bytes.begin(), bytes.end()}});
}

// Loads the kernels of options.file. Compiles a source for this device only.
Result<hal::Executable> load(const RunOptions& options, const hal::Device& device,
                             std::string& cache) {
  if (!options.file.ends_with(".hyk")) return device.load(options.file);
  compiler::CompileOptions what;
  what.source = options.file;
  what.include_dirs = options.include_dirs;
  // A device may run images that only other compilers make.
  const auto& targets = device.info().targets;
  const auto best = std::ranges::find_if(
      targets, [](const std::string& name) { return compiler::find_target(name) != nullptr; });
  if (best != targets.end()) what.targets = {*best};
  HALYARD_ASSIGN_OR_RETURN(CompiledSource source, compile_source(what, options.cache));
  fmt::print(stderr, "{}", source.warnings);
  cache = std::move(source.cache);
  return device.load(source.bytes, options.file);
}

// ---- Output ----------------------------------------------------------------------------------

Json to_json(const hal::Grid::Extent& extent) { return {extent.x, extent.y, extent.z}; }

std::string to_text(const hal::Grid::Extent& extent) {
  if (extent.z != 1) return fmt::format("{} x {} x {}", extent.x, extent.y, extent.z);
  if (extent.y != 1) return fmt::format("{} x {}", extent.x, extent.y);
  return fmt::to_string(extent.x);
}

void print(const RunOptions& options, const hal::Device& device, const hal::Function& function,
           const Coverage& coverage, const Arguments& arguments, Nanoseconds time,
           const std::string& cache) {
  if (!options.json) {
    fmt::print("{}: {} items in {} groups on {}: {:.3f} ms\n", function.name(),
               to_text(coverage.items), to_text(coverage.groups), device.info().uri,
               static_cast<double>(time) / 1e6);
    return;
  }
  Json outputs = Json::array();
  for (const BoundArray& array : arguments.arrays) {
    if (array.output.empty()) continue;
    outputs.push_back({{"binding", array.binding.name},
                       {"file", array.output},
                       {"type", to_string(array.binding.element)},
                       {"shape", array.shape}});
  }
  Json shown = {{"kernel", function.name()},
                {"device", device.info().uri},
                {"workgroup_size", to_json(function.workgroup_size())},
                {"items", to_json(coverage.items)},
                {"groups", to_json(coverage.groups)},
                {"nanoseconds", time},
                {"outputs", std::move(outputs)}};
  if (!cache.empty()) shown["cache"] = cache;
  print_json(shown);
}

}  // namespace

Result<int> run(const RunOptions& options) {
  HALYARD_ASSIGN_OR_RETURN(const hal::Device device, hal::open(options.device));
  std::string cache;
  HALYARD_ASSIGN_OR_RETURN(const hal::Executable executable, load(options, device, cache));
  HALYARD_ASSIGN_OR_RETURN(const hal::Function function, executable.function(options.kernel));
  HALYARD_ASSIGN_OR_RETURN(Coverage coverage, parse_coverage(options, function));
  HALYARD_ASSIGN_OR_RETURN(const Arguments arguments, parse_arguments(options, function, coverage));

  std::vector<hal::Buffer> buffers;
  std::vector<hal::Argument> given;
  for (const BoundArray& array : arguments.arrays) {
    HALYARD_ASSIGN_OR_RETURN(hal::Buffer buffer, upload(device, array));
    given.push_back(argument_of(array, buffer));
    buffers.push_back(std::move(buffer));
  }
  HALYARD_ASSIGN_OR_RETURN(hal::Launch launch,
                           hal::Launch::create(function, given, arguments.constants));
  if (!coverage.groups.given && !launch.grid().groups.given) {
    return error(
        StatusCode::kInvalidArgument,
        "kernel {}: it writes no tensor that determines the number of workgroups; add --groups",
        function.name());
  }
  if (!coverage.groups.given) coverage = cover_groups(launch.grid().groups, function);
  launch.over(coverage.grid);
  HALYARD_ASSIGN_OR_RETURN(const Nanoseconds time, launch_and_wait(device, function, launch));
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    if (arguments.arrays[i].output.empty()) continue;
    HALYARD_RETURN_IF_ERROR(download(arguments.arrays[i], buffers[i]));
  }
  print(options, device, function, coverage, arguments, time, cache);
  return kDone;
}

}  // namespace halyard::inline v0::tools
