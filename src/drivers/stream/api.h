// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Api: the functions of a native library, such as libcuda, that a stream lane needs. The lane, its
// markers, notifications, context and recordings are templates over an Api.
//
// An Api is a small value (a pointer to a table of functions, an ordinal) with handle types that
// are cheap to copy; a handle {} is empty. Each function makes one native call, through
// base::native_call, and returns a Status:
//
//   kResourceExhausted   a shortage; the same call may succeed later
//   kDeviceLost          sticky: the device, or its context, is gone
//   any other            this call is wrong or unsupported
//
// Functions that destroy an object return nothing. Messages begin with the name kDriver. Unless
// stated otherwise, the context of the stream must be current on the calling thread (context.h).
// Host functions must not call the Api.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "halyard/base/result.h"
#include "halyard/base/status.h"
#include "kernel/hyx.h"
#include "timeline/native_queue.h"

namespace halyard::inline v0::stream {

// A host function: called in the order of its stream. It may not call the library.
using HostFunction = void (*)(void* argument);

// Streams and events: what a lane needs.
//
//   create_stream(s, p)  a stream that does not synchronize with the legacy NULL stream, of
//                        priority `p`; lower numbers run first, and 0 always exists
//   finish(s)            called before stop() if all issued work ends soon; may wait for its end
//   stop(s)              drops work that has not started, and reports whether work of the stream
//                        runs or will run: the result of NativeQueue::abandon(). May be called
//                        again
//   destroy(s)           precondition: the stream has stopped
//   query(s)             the fault of its device; ok while it works
//   create_event(e)      without timing
//   destroy(e)           neither waits for the event nor cancels it
//   record(e, s)         `e` is reached once all work issued to `s` before has completed
//   query(e)             whether its latest record is reached; true if it was never recorded
//   wait(s, e)           work issued to `s` later runs after the latest record of `e` at the time
//                        of this call; recording `e` again does not change that. Streams of other
//                        contexts may wait
//   call_host(s, f, a)   calls f(a) on a thread of the library
//   check_capture(s)     returns kFailedPrecondition if `s` is being captured: work issued to it
//                        would not run, and a query would end the capture. This call does not
//   still_works(s)       optional, for libraries whose errors do not imply that the device is gone:
//                        whether the device of `s` works. Called before a lane reports device loss.
//                        Does not end a capture
template <class A>
concept StreamApi =
    std::copyable<A> && std::copyable<typename A::Stream> && std::copyable<typename A::Event> &&
    requires(const A& api, typename A::Stream stream, typename A::Stream& new_stream,
             typename A::Event event, typename A::Event& new_event, HostFunction function,
             void* argument, int priority) {
      { A::kDriver } -> std::convertible_to<std::string_view>;
      { api.create_stream(new_stream, priority) } noexcept -> std::same_as<Status>;
      { api.finish(stream) } noexcept;
      { api.stop(stream) } noexcept -> std::same_as<timeline::Abandoned>;
      { api.destroy(stream) } noexcept;
      { api.query(stream) } noexcept -> std::same_as<Status>;
      { api.create_event(new_event) } noexcept -> std::same_as<Status>;
      { api.destroy(event) } noexcept;
      { api.record(event, stream) } noexcept -> std::same_as<Status>;
      { api.query(event) } noexcept -> std::same_as<Result<bool>>;
      { api.wait(stream, event) } noexcept -> std::same_as<Status>;
      { api.call_host(stream, function, argument) } noexcept -> std::same_as<Status>;
      { api.check_capture(stream) } noexcept -> std::same_as<Status>;
    };

// Contexts: one for each device, shared with every other user of the library in this process. None
// of these needs a current context.
//
//   retain_context(ordinal, c)    counts a reference; the first creates the context
//   release_context(ordinal)
//   current_context(c)            of the calling thread
//   set_current_context(c)
//   exchange_capture_mode(m)      exchanges the calling thread's mode with `m`
template <class A>
concept ContextApi =
    std::copyable<typename A::Context> && std::equality_comparable<typename A::Context> &&
    requires(const A& api, unsigned ordinal, typename A::Context context,
             typename A::Context& found, typename A::CaptureMode& mode) {
      { A::kDriver } -> std::convertible_to<std::string_view>;
      { A::kRelaxedCapture } -> std::convertible_to<typename A::CaptureMode>;
      { api.retain_context(ordinal, found) } noexcept -> std::same_as<Status>;
      { api.release_context(ordinal) } noexcept;
      { api.current_context(found) } noexcept -> std::same_as<Status>;
      { api.set_current_context(context) } noexcept -> std::same_as<Status>;
      { api.exchange_capture_mode(mode) } noexcept -> std::same_as<Status>;
    };

// Commands, of which operations consist. Addresses are device addresses.
//
//   fill(s, target, pattern, pattern_size, size)    1, 2 or 4 bytes; target and size are multiples
//   copy(s, target, source, size)                   between any two devices of the library
//   copy_in(s, target, source, size)                from host memory, which stays unchanged until
//                                                   the copy has completed
//   launch(s, function, groups, arguments)          `arguments`: hy-kernarg-1, copied by the call:
//                                                   the bindings' addresses, then the constants
//   launch_indirect(s, function, counts, arguments) 3 counts in device memory, read when it runs.
//                                                   Optional: DeviceLimits::indirect_dispatch
//   unload(m)
//   find_function(m, kernel, f)
template <class A>
concept CommandApi =
    StreamApi<A> && std::copyable<typename A::Module> && std::copyable<typename A::Function> &&
    requires(const A& api, typename A::Stream stream, std::uint64_t address, std::uint64_t size,
             std::uint32_t pattern, const std::byte* source, typename A::Function function,
             typename A::Function& found, const std::uint32_t (&groups)[3],
             std::span<const std::byte> arguments, const kernel::KernelInfo& kernel,
             typename A::Module module) {
      { api.fill(stream, address, pattern, pattern, size) } noexcept -> std::same_as<Status>;
      { api.copy(stream, address, address, size) } noexcept -> std::same_as<Status>;
      { api.copy_in(stream, address, source, size) } noexcept -> std::same_as<Status>;
      { api.launch(stream, function, groups, arguments) } noexcept -> std::same_as<Status>;
      { api.unload(module) } noexcept;
      { api.find_function(module, kernel, found) } noexcept -> std::same_as<Status>;
    };

// Graphs: commands and the order between them, instantiated once and launched often.
//
//   create_graph(g), destroy(g)            an empty graph; destroy includes its nodes
//   add_empty(g, d, n)                     a node without work, which depends on the nodes `d`
//   add_fill, add_copy, add_launch         the commands above as nodes. Host memory is given by its
//                                          address, which is the same for host and device
//   instantiate(g, x)                      makes the executable graph `x` from `g` as it is now
//   set_fill, set_copy, set_launch(x, n)   set the parameters of a node for later launches. After
//                                          any error but kDeviceLost the graph must be built again
//   launch(s, x)                           runs after earlier launches of `x` and earlier work of
//                                          `s`
//   destroy(x)                             running launches continue
//
// A graph and its executables are used by one thread at a time.
template <class A>
concept GraphApi =
    CommandApi<A> && std::copyable<typename A::Graph> && std::copyable<typename A::GraphNode> &&
    std::copyable<typename A::ExecutableGraph> &&
    requires(const A& api, typename A::Stream stream, typename A::Graph graph,
             typename A::Graph& new_graph, typename A::GraphNode node,
             typename A::GraphNode& new_node, std::span<const typename A::GraphNode> behind,
             typename A::ExecutableGraph executable, typename A::ExecutableGraph& instantiated,
             std::uint64_t address, std::uint64_t size, std::uint32_t pattern,
             typename A::Function function, const std::uint32_t (&groups)[3],
             std::span<const std::byte> arguments) {
      { api.create_graph(new_graph) } noexcept -> std::same_as<Status>;
      { api.destroy(graph) } noexcept;
      { api.add_empty(graph, behind, new_node) } noexcept -> std::same_as<Status>;
      {
        api.add_fill(graph, behind, new_node, address, pattern, pattern, size)
      } noexcept -> std::same_as<Status>;
      {
        api.add_copy(graph, behind, new_node, address, address, size)
      } noexcept -> std::same_as<Status>;
      {
        api.add_launch(graph, behind, new_node, function, groups, arguments)
      } noexcept -> std::same_as<Status>;
      { api.instantiate(graph, instantiated) } noexcept -> std::same_as<Status>;
      {
        api.set_fill(executable, node, address, pattern, pattern, size)
      } noexcept -> std::same_as<Status>;
      { api.set_copy(executable, node, address, address, size) } noexcept -> std::same_as<Status>;
      {
        api.set_launch(executable, node, function, groups, arguments)
      } noexcept -> std::same_as<Status>;
      { api.launch(stream, executable) } noexcept -> std::same_as<Status>;
      { api.destroy(executable) } noexcept;
    };

}  // namespace halyard::inline v0::stream
