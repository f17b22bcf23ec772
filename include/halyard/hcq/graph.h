// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// hcq::Graph: work on one or several devices, recorded once and replayed.
//
//   GraphRecorder recorder;
//   const GraphBuffer x = recorder.add_input(4000);           // another buffer at each replay
//   recorder.exec(*a, scale, {x, GraphBuffer(y)}, {2.0f}, {63, 1, 1});
//   recorder.copy(*a, GraphBuffer(z), GraphBuffer(y), 4000);  // on the copy queue of a
//   Graph graph = recorder.finish().value();
//   for (...) check(graph.replay({{input}}));
//   check(graph.wait());
//
// Calls run in parallel as far as their order in the recording allows: one that reads or writes a
// byte follows the call that wrote it last, and one that writes a byte follows all that have read
// it since. The recorder finds this out from byte ranges; a kernel reads the buffers of which its
// declaration says so (ProgramInfo::reads_only) and writes all others. Each device has one queue of
// commands for kernels and one for copies, in memory of its own (CommandQueue::bind); a replay
// changes the words that differ from the last one, and adds one submission to each.
//
// clang-format off
//   host      submit ... submit | patch, while all are parked | kick
//   queue 1   [wait devices' timelines, wait kick | calls ...] signal
//   queue 2   [wait devices' timelines, wait kick | calls ...] wait all, signal timeline
// clang-format on
//
// A replay is ordered as one submission by the timelines of all its devices: after everything
// before it, and it is complete as a whole when the point of any of them is reached.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "halyard/base/clock.h"
#include "halyard/base/export.h"
#include "halyard/base/result.h"
#include "halyard/hcq/device.h"
#include "halyard/hcq/program.h"
#include "halyard/hcq/queue.h"
#include "halyard/hcq/symbol.h"

namespace halyard::inline v0::hcq {

// A range of memory in a graph: of a buffer that is the same at every replay, or of an input.
class GraphBuffer {
 public:
  explicit GraphBuffer(const Buffer& buffer) noexcept
      : va_addr_(buffer.va_addr), begin_(buffer.va_addr), size_(buffer.size) {}

  std::uint64_t size() const noexcept { return size_; }
  // Precondition: offset + size <= size().
  GraphBuffer slice(std::uint64_t offset, std::uint64_t size) const noexcept {
    GraphBuffer result = *this;
    result.va_addr_ = va_addr_ + offset;
    result.begin_ += offset;
    result.size_ = size;
    return result;
  }

 private:
  friend class GraphRecorder;
  GraphBuffer(Operand va_addr, std::uint32_t space, std::uint64_t size) noexcept
      : va_addr_(va_addr), space_(space), size_(size) {}

  Operand va_addr_;
  std::uint32_t space_ = 0;  // 0: absolute; n: input n - 1
  std::uint64_t begin_ = 0;  // in the space
  std::uint64_t size_;
};

struct GraphStatistics {
  std::size_t queues = 0;
  std::size_t commands = 0;  // of all queues, those at the ends of a replay excepted
  std::size_t waits = 0;     // among them: calls for calls of other queues
  std::size_t signals = 0;
};

// When a call ran in the last replay. See CommandTimes.
struct CallTimes {
  std::size_t call;  // its place in the recording
  const Device* device;
  QueueType queue;
  std::string name;
  Nanoseconds begin;
  Nanoseconds end;
};

// Movable; one thread at a time. Different graphs, also of the same devices, are independent. The
// devices must outlive it. It may be destroyed while a replay runs; empty once moved from.
class HALYARD_EXPORT Graph {
 public:
  Graph(Graph&&) noexcept;
  Graph& operator=(Graph&&) noexcept;
  ~Graph();

  // Precondition: the symbol is GraphRecorder::add_value's.
  void set(Symbol symbol, std::uint64_t value) noexcept;

  // Queues the work once more, with inputs[i] for input i. Waits until the replay before is
  // complete, else only for the turns of other threads; not to be called in a TimelineTurn of one
  // of its devices. The memory of inputs stays until the replay is complete. On an error nothing of
  // it runs: kInvalidArgument (number of inputs; an input that the graph writes overlaps other
  // memory of the graph), kOutOfRange (input too small, a value that does not fit),
  // kDeadlineExceeded, and what CommandQueue::submit() returns.
  Status replay(std::span<const Buffer> inputs = {}, Deadline deadline = kForever);

  // Until the last replay is complete. kDeadlineExceeded.
  Status wait(Deadline deadline = kForever) const;

  GraphStatistics statistics() const noexcept;
  // In the order of the recording; for a graph that was recorded with profiling.
  std::vector<CallTimes> profile() const;

 private:
  friend class GraphRecorder;
  class Impl;
  explicit Graph(std::unique_ptr<Impl> impl) noexcept;
  std::unique_ptr<Impl> impl_;
};

struct GraphOptions {
  bool profiling = false;  // keep the times of every call
};

// Records a graph; one thread. A wrong argument sticks: finish() returns the first error. Programs
// are kept; the memory of buffers is the caller's and stays until the last replay is complete.
class HALYARD_EXPORT GraphRecorder {
 public:
  explicit GraphRecorder(const GraphOptions& options = {});
  ~GraphRecorder();
  GraphRecorder(const GraphRecorder&) = delete;
  GraphRecorder& operator=(const GraphRecorder&) = delete;

  // Memory of `size` bytes whose address comes with each replay.
  GraphBuffer add_input(std::uint64_t size);
  // A number that may change between replays (Graph::set): for constants and sizes of kernels, and
  // words of custom commands. What has an input or number of another recorder is kInvalidArgument.
  Symbol add_value(std::uint64_t value = 0);

  // kInvalidArgument: as Program::fill_kernargs(), and more than 2^64 workgroups.
  GraphRecorder& exec(Device& device, const Program& program,
                      std::initializer_list<GraphBuffer> buffers,
                      std::initializer_list<Value> values, const Size3Operand& global_size);
  GraphRecorder& exec(Device& device, const Program& program, std::span<const GraphBuffer> buffers,
                      std::span<const Value> values, const Size3Operand& global_size);

  // On the copy queue of `device`, which reaches both. kOutOfRange: beyond a range;
  // kInvalidArgument: the bytes overlap.
  GraphRecorder& copy(Device& device, const GraphBuffer& target, const GraphBuffer& source,
                      std::uint64_t size);

  // See CustomCommand; ordered by the ranges that it reads and writes. kInvalidArgument: no
  // function, more than four words.
  GraphRecorder& custom(Device& device, QueueType queue, const CustomCommand& command,
                        std::initializer_list<Operand> words,
                        std::initializer_list<GraphBuffer> reads,
                        std::initializer_list<GraphBuffer> writes);

  // The graph; the recorder is empty afterwards. The first error; kInvalidArgument when nothing was
  // recorded; kUnimplemented when the devices do not reach each other's signals;
  // kResourceExhausted.
  Result<Graph> finish();

 private:
  class Recording;
  std::unique_ptr<Recording> recording_;
};

}  // namespace halyard::inline v0::hcq
