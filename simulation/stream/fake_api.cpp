// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/stream/fake_api.h"

#include "base/format.h"
#include "base/native_call.h"

namespace halyard::inline v0::stream {
namespace {

using base::CallSite;
using base::Failing;
using fake::Code;

constexpr int kExhausted = static_cast<int>(Code::kOutOfMemory);
constexpr int kBroken = static_cast<int>(Code::kUnknown);

HALYARD_CALL_SITE(kCreateStream, "stream.create_stream", kExhausted, Failing::kCode);
HALYARD_CALL_SITE(kFinish, "stream.finish", 0, Failing::kCode, "what has ended is done");
HALYARD_CALL_SITE(kStop, "stream.stop", 0, Failing::kCode, "what does not stop answers so");
HALYARD_CALL_SITE(kDestroyStream, "stream.destroy_stream", 0, Failing::kCode,
                  "the stream has stopped");
HALYARD_CALL_SITE(kQueryStream, "stream.query_stream", kBroken, Failing::kCode);
HALYARD_CALL_SITE(kCreateEvent, "stream.create_event", kExhausted, Failing::kCode);
HALYARD_CALL_SITE(kDestroyEvent, "stream.destroy_event", 0, Failing::kCode,
                  "no call with it is under way");
HALYARD_CALL_SITE(kRecord, "stream.record", kExhausted, Failing::kCode);
HALYARD_CALL_SITE(kQueryEvent, "stream.query_event", kBroken, Failing::kCode);
HALYARD_CALL_SITE(kWait, "stream.wait", kExhausted, Failing::kCode);
HALYARD_CALL_SITE(kCallHost, "stream.call_host", kExhausted, Failing::kCode);
HALYARD_CALL_SITE(kRetainContext, "stream.retain_context", kExhausted, Failing::kCode);
HALYARD_CALL_SITE(kReleaseContext, "stream.release_context", 0, Failing::kCode,
                  "the context was retained");
HALYARD_CALL_SITE(kCurrentContext, "stream.current_context", kBroken, Failing::kCode);
HALYARD_CALL_SITE(kSetContext, "stream.set_context", kBroken, Failing::kCode);
HALYARD_CALL_SITE(kCaptureMode, "stream.capture_mode", kBroken, Failing::kCode);
HALYARD_CALL_SITE(kAllocate, "stream.allocate", kExhausted, Failing::kCode);
HALYARD_CALL_SITE(kFree, "stream.free", 0, Failing::kCode, "the memory was allocated");
HALYARD_CALL_SITE(kFill, "stream.fill", kExhausted, Failing::kCode);
HALYARD_CALL_SITE(kCopy, "stream.copy", kExhausted, Failing::kCode);
HALYARD_CALL_SITE(kLoad, "stream.load", kExhausted, Failing::kCode);
HALYARD_CALL_SITE(kUnload, "stream.unload", 0, Failing::kCode, "the module was loaded");
HALYARD_CALL_SITE(kFindFunction, "stream.find_function", kExhausted, Failing::kCode);
HALYARD_CALL_SITE(kLaunch, "stream.launch", kExhausted, Failing::kCode);
HALYARD_CALL_SITE(kCreateGraph, "stream.create_graph", kExhausted, Failing::kCode);
HALYARD_CALL_SITE(kDestroyGraph, "stream.destroy_graph", 0, Failing::kCode,
                  "the graph was created");
HALYARD_CALL_SITE(kAddNode, "stream.add_node", kExhausted, Failing::kCode);
HALYARD_CALL_SITE(kInstantiate, "stream.instantiate", kExhausted, Failing::kCode);
HALYARD_CALL_SITE(kSetNode, "stream.set_node", static_cast<int>(Code::kInvalidValue),
                  Failing::kCode);
HALYARD_CALL_SITE(kLaunchGraph, "stream.launch_graph", kExhausted, Failing::kCode);
HALYARD_CALL_SITE(kDestroyExecutable, "stream.destroy_executable_graph", 0, Failing::kCode,
                  "the graph was instantiated");

StatusCode status_code(Code code) noexcept {
  switch (code) {
    case Code::kSuccess:
      return StatusCode::kOk;
    case Code::kOutOfMemory:
    case Code::kOperatingSystem:
      return StatusCode::kResourceExhausted;
    case Code::kInvalidValue:
    case Code::kInvalidHandle:
      return StatusCode::kInvalidArgument;
    case Code::kNoBinary:
    case Code::kNotFound:
      return StatusCode::kUnavailable;
    case Code::kInvalidContext:
    case Code::kNotReady:
    case Code::kLaunchFailed:
    case Code::kNotPermitted:
    case Code::kCaptureUnsupported:
    case Code::kUnknown:
      break;
  }
  return StatusCode::kDeviceLost;
}

Status failed(const CallSite& site, Code code) {
  const char* const why = code == Code::kOperatingSystem ? "a thread could not be started"
                          : code == Code::kOutOfMemory   ? "out of memory"
                                                         : "failed";
  return Status(status_code(code), base::format("{}: {}", site.name, why), fake::name_of(code));
}

template <class F>
Status call(const CallSite& site, F&& function) noexcept {
  const Code code = base::native_call(site, function);
  return code == Code::kSuccess ? Status() : failed(site, code);
}

fake::NodeWork fill_work(std::uint64_t target, std::uint32_t pattern, std::uint32_t pattern_size,
                         std::uint64_t size) noexcept {
  return {.kind = fake::NodeWork::Kind::kFill,
          .target = target,
          .size = size,
          .pattern = pattern,
          .pattern_size = pattern_size};
}
fake::NodeWork copy_work(std::uint64_t target, std::uint64_t source, std::uint64_t size) noexcept {
  return {.kind = fake::NodeWork::Kind::kCopy, .target = target, .source = source, .size = size};
}
fake::NodeWork launch_work(const fake::Function& function, const std::uint32_t (&groups)[3],
                           std::span<const std::byte> arguments) noexcept {
  return {.kind = fake::NodeWork::Kind::kLaunch,
          .function = function,
          .groups = {groups[0], groups[1], groups[2]},
          .arguments = arguments};
}
Status add(fake::Graph* graph, std::span<const fake::GraphNode> behind, fake::GraphNode& node,
           const fake::NodeWork& work) noexcept {
  return call(kAddNode, [&] { return fake::add_node(graph, behind, node, work); });
}
Status set(fake::ExecutableGraph* executable, fake::GraphNode node,
           const fake::NodeWork& work) noexcept {
  return call(kSetNode, [&] { return fake::set_node(executable, node, work); });
}

}  // namespace

Status FakeApi::create_stream(Stream& stream, int) const noexcept {
  return call(kCreateStream, [&] { return fake::create_stream(stream, unstoppable); });
}
void FakeApi::finish(Stream stream) const noexcept {
  base::native_call(kFinish, [&] { return fake::synchronize(stream); });
}
timeline::Abandoned FakeApi::stop(Stream stream) const noexcept {
  const Code code = base::native_call(kStop, [&] { return fake::stop(stream); });
  return code == Code::kSuccess    ? timeline::Abandoned::kStopped
         : code == Code::kNotReady ? timeline::Abandoned::kStopping
                                   : timeline::Abandoned::kStillRunning;
}
void FakeApi::destroy(Stream stream) const noexcept {
  base::native_call(kDestroyStream, [&] { return fake::destroy(stream); });
}
Status FakeApi::query(Stream stream) const noexcept {
  const Code code = base::native_call(kQueryStream, [&] { return fake::query(stream); });
  return code == Code::kSuccess || code == Code::kNotReady ? Status() : failed(kQueryStream, code);
}
Status FakeApi::create_event(Event& event) const noexcept {
  return call(kCreateEvent, [&] { return fake::create_event(event); });
}
void FakeApi::destroy(Event event) const noexcept {
  base::native_call(kDestroyEvent, [&] { return fake::destroy(event); });
}
Status FakeApi::record(Event event, Stream stream) const noexcept {
  return call(kRecord, [&] { return fake::record(event, stream); });
}
Result<bool> FakeApi::query(Event event) const noexcept {
  const Code code = base::native_call(kQueryEvent, [&] { return fake::query(event); });
  if (code == Code::kSuccess || code == Code::kNotReady) return code == Code::kSuccess;
  return failed(kQueryEvent, code);
}
Status FakeApi::wait(Stream stream, Event event) const noexcept {
  return call(kWait, [&] { return fake::wait(stream, event); });
}
Status FakeApi::call_host(Stream stream, HostFunction function, void* argument) const noexcept {
  return call(kCallHost, [&] { return fake::launch_host_function(stream, function, argument); });
}

Status FakeApi::retain_context(unsigned ordinal, Context& context) const noexcept {
  return call(kRetainContext, [&] { return fake::retain_primary_context(ordinal, context); });
}
void FakeApi::release_context(unsigned ordinal) const noexcept {
  base::native_call(kReleaseContext, [&] { return fake::release_primary_context(ordinal); });
}
Status FakeApi::current_context(Context& context) const noexcept {
  return call(kCurrentContext, [&] { return fake::get_current_context(context); });
}
Status FakeApi::set_current_context(Context context) const noexcept {
  return call(kSetContext, [&] { return fake::set_current_context(context); });
}
Status FakeApi::exchange_capture_mode(CaptureMode& mode) const noexcept {
  return call(kCaptureMode, [&] { return fake::exchange_capture_mode(mode); });
}

Status FakeApi::allocate(std::uint64_t& address, std::uint64_t size) const noexcept {
  return call(kAllocate, [&] { return fake::allocate(address, size); });
}
void FakeApi::free(std::uint64_t address) const noexcept {
  base::native_call(kFree, [&] { return fake::free(address); });
}
Status FakeApi::fill(Stream stream, std::uint64_t target, std::uint32_t pattern,
                     std::uint32_t pattern_size, std::uint64_t size) const noexcept {
  return call(kFill, [&] { return fake::fill_async(target, pattern, pattern_size, size, stream); });
}
Status FakeApi::copy(Stream stream, std::uint64_t target, std::uint64_t source,
                     std::uint64_t size) const noexcept {
  return call(kCopy, [&] { return fake::copy_async(target, source, size, stream); });
}
// Host memory is device memory here.
Status FakeApi::copy_in(Stream stream, std::uint64_t target, const std::byte* source,
                        std::uint64_t size) const noexcept {
  return copy(stream, target, reinterpret_cast<std::uintptr_t>(source), size);
}

Status FakeApi::load(const kernel::Hyx& file, Module& module) const noexcept {
  Status why;
  const Status status = call(kLoad, [&] { return fake::load_module(module, file, why); });
  return why.ok() ? status : why;
}
void FakeApi::unload(Module module) const noexcept {
  base::native_call(kUnload, [&] { return fake::unload(module); });
}
Status FakeApi::find_function(Module module, const kernel::KernelInfo& kernel,
                              Function& function) const noexcept {
  Status why;
  const Status status =
      call(kFindFunction, [&] { return fake::get_function(function, module, kernel, why); });
  return why.ok() ? status : Status(StatusCode::kDataLoss, why.message());
}
Status FakeApi::launch(Stream stream, const Function& function, const std::uint32_t (&groups)[3],
                       std::span<const std::byte> arguments) const noexcept {
  return call(kLaunch, [&] {
    return fake::launch_kernel(function, groups, arguments.data(), arguments.size(), stream);
  });
}
Status FakeApi::launch_indirect(Stream stream, const Function& function, std::uint64_t counts,
                                std::span<const std::byte> arguments) const noexcept {
  return call(kLaunch, [&] {
    return fake::launch_kernel_indirect(function, counts, arguments.data(), arguments.size(),
                                        stream);
  });
}

Status FakeApi::create_graph(Graph& graph) const noexcept {
  return call(kCreateGraph, [&] { return fake::create_graph(graph); });
}
void FakeApi::destroy(Graph graph) const noexcept {
  base::native_call(kDestroyGraph, [&] { return fake::destroy(graph); });
}
Status FakeApi::add_empty(Graph graph, std::span<const GraphNode> behind,
                          GraphNode& node) const noexcept {
  return add(graph, behind, node, {});
}
Status FakeApi::add_fill(Graph graph, std::span<const GraphNode> behind, GraphNode& node,
                         std::uint64_t target, std::uint32_t pattern, std::uint32_t pattern_size,
                         std::uint64_t size) const noexcept {
  return add(graph, behind, node, fill_work(target, pattern, pattern_size, size));
}
Status FakeApi::add_copy(Graph graph, std::span<const GraphNode> behind, GraphNode& node,
                         std::uint64_t target, std::uint64_t source,
                         std::uint64_t size) const noexcept {
  return add(graph, behind, node, copy_work(target, source, size));
}
Status FakeApi::add_launch(Graph graph, std::span<const GraphNode> behind, GraphNode& node,
                           const Function& function, const std::uint32_t (&groups)[3],
                           std::span<const std::byte> arguments) const noexcept {
  return add(graph, behind, node, launch_work(function, groups, arguments));
}
Status FakeApi::instantiate(Graph graph, ExecutableGraph& executable) const noexcept {
  return call(kInstantiate, [&] { return fake::instantiate(graph, executable); });
}
Status FakeApi::set_fill(ExecutableGraph executable, GraphNode node, std::uint64_t target,
                         std::uint32_t pattern, std::uint32_t pattern_size,
                         std::uint64_t size) const noexcept {
  return set(executable, node, fill_work(target, pattern, pattern_size, size));
}
Status FakeApi::set_copy(ExecutableGraph executable, GraphNode node, std::uint64_t target,
                         std::uint64_t source, std::uint64_t size) const noexcept {
  return set(executable, node, copy_work(target, source, size));
}
Status FakeApi::set_launch(ExecutableGraph executable, GraphNode node, const Function& function,
                           const std::uint32_t (&groups)[3],
                           std::span<const std::byte> arguments) const noexcept {
  return set(executable, node, launch_work(function, groups, arguments));
}
Status FakeApi::launch(Stream stream, ExecutableGraph executable) const noexcept {
  return call(kLaunchGraph, [&] { return fake::launch_graph(executable, stream); });
}
void FakeApi::destroy(ExecutableGraph executable) const noexcept {
  base::native_call(kDestroyExecutable, [&] { return fake::destroy(executable); });
}

}  // namespace halyard::inline v0::stream
