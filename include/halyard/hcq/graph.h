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
// Calls run in parallel unless they conflict. A call that accesses a byte runs after the last
// earlier call that writes it; a call that writes a byte also runs after the earlier calls that
// read it. The recorder compares byte ranges. A kernel reads the buffers in ProgramInfo::reads_only
// and writes all others.
//
// A replay writes the words that have changed since the last one, and submits once to each hardware
// queue that the graph uses.
//
// The timelines of all devices that run one of its calls order a replay as one submission: it runs
// after all earlier points, and it is complete as a whole when its point on any of them is reached.
// A device that only owns memory of the graph is not among them: a copy of its allocator is not
// ordered with a replay.
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
  std::uint64_t begin_ = 0;  // within the space
  std::uint64_t size_;
};

struct GraphStatistics {
  std::size_t queues = 0;
  std::size_t commands = 0;  // of all queues, without those at the ends of a replay
  std::size_t waits = 0;     // of those, calls that wait for calls of other queues
  std::size_t signals = 0;
};

// When a call ran in the last replay. See CommandTimes.
struct CallTimes {
  std::size_t call;  // its index in the recording
  const Device* device;
  QueueType queue;
  std::string name;
  Nanoseconds begin;
  Nanoseconds end;
};

// Movable; one thread at a time. Different graphs are independent, even on the same devices. The
// devices must outlive it. It may be destroyed while a replay runs. Empty once moved from.
class HALYARD_EXPORT Graph {
 public:
  Graph(Graph&&) noexcept;
  Graph& operator=(Graph&&) noexcept;
  ~Graph();

  // Sets a value for the replays that follow. Precondition: `symbol` is from
  // GraphRecorder::add_value.
  void set(Symbol symbol, std::uint64_t value) noexcept;

  // Queues the work again, with inputs[i] for input i. Blocks until the previous replay is
  // complete, and while another thread holds a TimelineTurn of one of the devices; the caller must
  // not hold one. The memory of the inputs stays until the replay is complete. If it returns an
  // error, no call of the replay runs.
  //   kInvalidArgument    wrong number of inputs; an input that the graph writes overlaps other
  //                       memory of the graph
  //   kOutOfRange         an input is too small, or a value does not fit
  //   kDeadlineExceeded
  //   those of CommandQueue::submit()
  Status replay(std::span<const Buffer> inputs = {}, Deadline deadline = kForever);

  // Blocks until the last replay is complete. Errors: kDeadlineExceeded.
  Status wait(Deadline deadline = kForever) const;

  GraphStatistics statistics() const noexcept;
  // The calls in the order of the recording; empty unless the graph was recorded with profiling.
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

// Records a graph; one thread. The first wrong argument is the error of finish(). Keeps the
// programs. The caller keeps the memory of buffers until the last replay is complete.
class HALYARD_EXPORT GraphRecorder {
 public:
  explicit GraphRecorder(const GraphOptions& options = {});
  ~GraphRecorder();
  GraphRecorder(const GraphRecorder&) = delete;
  GraphRecorder& operator=(const GraphRecorder&) = delete;

  // Adds memory of `size` bytes whose address comes with each replay.
  GraphBuffer add_input(std::uint64_t size);
  // Adds a number that may change between replays (Graph::set): for constants and sizes of kernels,
  // and words of custom commands. An input or number of another recorder is kInvalidArgument.
  Symbol add_value(std::uint64_t value = 0);

  // Errors: those of Program::fill_kernargs(); kInvalidArgument for more than 2^64 workgroups.
  GraphRecorder& exec(Device& device, const Program& program,
                      std::initializer_list<GraphBuffer> buffers,
                      std::initializer_list<Value> values, const Size3Operand& global_size);
  GraphRecorder& exec(Device& device, const Program& program, std::span<const GraphBuffer> buffers,
                      std::span<const Value> values, const Size3Operand& global_size);

  // Copies on the copy queue of `device`, which must reach both ranges. Errors: kOutOfRange beyond
  // a range; kInvalidArgument if the bytes overlap.
  GraphRecorder& copy(Device& device, const GraphBuffer& target, const GraphBuffer& source,
                      std::uint64_t size);

  // See CustomCommand. The ranges that it reads and writes order it. Errors: kInvalidArgument
  // without a function or with more than four words.
  GraphRecorder& custom(Device& device, QueueType queue, const CustomCommand& command,
                        std::initializer_list<Operand> words,
                        std::initializer_list<GraphBuffer> reads,
                        std::initializer_list<GraphBuffer> writes);

  // Returns the graph and leaves the recorder empty. Errors:
  //   the first error of the recording
  //   kInvalidArgument    nothing was recorded
  //   kUnimplemented      the devices do not reach each other's signals
  //   kResourceExhausted
  Result<Graph> finish();

 private:
  class Recording;
  std::unique_ptr<Recording> recording_;
};

}  // namespace halyard::inline v0::hcq
