// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Turns a recording into queues: the devices and queues, the waits (GraphPlan), and the commands.
#include <algorithm>
#include <map>
#include <utility>
#include <variant>

#include "base/format.h"
#include "halyard/hcq/graph.h"
#include "hcq/graph_impl.h"
#include "hcq/graph_plan.h"

namespace halyard::inline v0::hcq {
namespace {

struct Exec {
  Program program;
  ArgsState args;
  Size3Operand global_size;
};
struct Copy {
  BufferOperand target;
  BufferOperand source;
  std::uint64_t size;
};
struct Custom {
  std::string name;
  void (*run)(const std::uint64_t*);
  std::vector<Operand> words;
};
struct Call {
  Device* device;
  QueueType queue;
  std::variant<Exec, Copy, Custom> work;
  std::size_t accesses_end;
};

}  // namespace

class GraphRecorder::Recording {
 public:
  void add_access(const GraphBuffer& buffer, std::uint64_t size, bool writes) {
    if (buffer.va_addr_.symbolic() && buffer.va_addr_.table() != Operand(graph->number).table()) {
      return fail(error(StatusCode::kInvalidArgument, "graph: an input of another recorder"));
    }
    accesses.push_back({buffer.space_, buffer.begin_, buffer.begin_ + size, writes});
    if (buffer.space_ != 0) graph->inputs[buffer.space_ - 1].written |= writes;
  }
  static BufferOperand operand(const GraphBuffer& buffer) {
    return {buffer.va_addr_, buffer.size_};
  }
  static bool overlap(const GraphBuffer& a, const GraphBuffer& b, std::uint64_t size) {
    return a.space_ == b.space_ && a.begin_ < b.begin_ + size && b.begin_ < a.begin_ + size;
  }
  void add(Device& device, QueueType queue, std::variant<Exec, Copy, Custom> work) {
    if (!device.traits().has_copy_queue) queue = QueueType::kCompute;
    calls.push_back({&device, queue, std::move(work), accesses.size()});
  }
  void fail(Status error) {
    if (status.ok()) status = std::move(error);
  }

  Status make_queues();
  Status make_commands();
  void merge_fixed();

  Status status;
  GraphOptions options;
  std::unique_ptr<Graph::Impl> graph = std::make_unique<Graph::Impl>();
  std::vector<Call> calls;
  std::vector<Access> accesses;
  std::vector<std::uint32_t> queue_of;  // of each call
};

GraphRecorder::GraphRecorder(const GraphOptions& options)
    : recording_(std::make_unique<Recording>()) {
  recording_->options = options;
}

GraphRecorder::~GraphRecorder() = default;

GraphBuffer GraphRecorder::add_input(std::uint64_t size) {
  Graph::Impl& graph = *recording_->graph;
  const Symbol va_addr = graph.symbols.add();
  graph.inputs.push_back({.va_addr = va_addr, .size = size});
  return {va_addr, static_cast<std::uint32_t>(graph.inputs.size()), size};
}

Symbol GraphRecorder::add_value(std::uint64_t value) {
  return recording_->graph->symbols.add(value);
}

GraphRecorder& GraphRecorder::exec(Device& device, const Program& program,
                                   std::initializer_list<GraphBuffer> buffers,
                                   std::initializer_list<Value> values,
                                   const Size3Operand& global_size) {
  return exec(device, program, std::span(buffers.begin(), buffers.size()),
              std::span(values.begin(), values.size()), global_size);
}

GraphRecorder& GraphRecorder::exec(Device& device, const Program& program,
                                   std::span<const GraphBuffer> buffers,
                                   std::span<const Value> values, const Size3Operand& global_size) {
  std::vector<BufferOperand> operands;
  for (const GraphBuffer& buffer : buffers) operands.push_back(Recording::operand(buffer));
  ArgsState args = program.fill_kernargs(operands, values);
  if (!args.status().ok()) return recording_->fail(args.status()), *this;
  const std::uint64_t reads_only = program.object()->info().reads_only;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    recording_->add_access(buffers[i], buffers[i].size(), (reads_only >> i & 1) == 0);
  }
  recording_->add(device, QueueType::kCompute, Exec{program, std::move(args), global_size});
  return *this;
}

GraphRecorder& GraphRecorder::copy(Device& device, const GraphBuffer& target,
                                   const GraphBuffer& source, std::uint64_t size) {
  if (size > target.size() || size > source.size()) {
    recording_->fail(error(StatusCode::kOutOfRange, "graph: copy of {} from {} to {}",
                           base::counted(size, "byte"), source.size(),
                           base::counted(target.size(), "byte")));
  } else if (Recording::overlap(target, source, size)) {
    recording_->fail(error(StatusCode::kInvalidArgument,
                           "graph: copy of {} within overlapping memory",
                           base::counted(size, "byte")));
  } else {
    recording_->add_access(source, size, false);
    recording_->add_access(target, size, true);
    recording_->add(device, QueueType::kCopy,
                    Copy{Recording::operand(target), Recording::operand(source), size});
  }
  return *this;
}

GraphRecorder& GraphRecorder::custom(Device& device, QueueType queue, const CustomCommand& command,
                                     std::initializer_list<Operand> words,
                                     std::initializer_list<GraphBuffer> reads,
                                     std::initializer_list<GraphBuffer> writes) {
  for (const GraphBuffer& buffer : reads) recording_->add_access(buffer, buffer.size(), false);
  for (const GraphBuffer& buffer : writes) recording_->add_access(buffer, buffer.size(), true);
  recording_->add(device, queue, Custom{std::string(command.name), command.run, words});
  return *this;
}

Result<Graph> GraphRecorder::finish() {
  const std::unique_ptr<Recording> recording =
      std::exchange(recording_, std::make_unique<Recording>());
  HALYARD_RETURN_IF_ERROR(Status(recording->status));
  if (recording->calls.empty()) {
    return error(StatusCode::kInvalidArgument, "graph: nothing was recorded");
  }
  HALYARD_RETURN_IF_ERROR(recording->make_queues());
  HALYARD_RETURN_IF_ERROR(recording->make_commands());
  recording->merge_fixed();
  return Graph(std::move(recording->graph));
}

// Every device has a queue for kernels, which signals its timeline. It has one for copies if it
// makes any.
Status GraphRecorder::Recording::make_queues() {
  std::map<Device*, bool> copies;
  for (const Call& call : calls) copies[call.device] |= call.queue == QueueType::kCopy;
  const auto add_queue = [&](QueueType type) -> Status {
    Graph::Impl::Queue& queue = graph->queues.emplace_back(graph->devices.size() - 1, type);
    Device& device = *graph->devices.back().device;
    HALYARD_ASSIGN_OR_RETURN(queue.progress, device.create_signal());
    HALYARD_ASSIGN_OR_RETURN(queue.finished, device.create_signal());
    return {};
  };
  for (const auto& [device, has_copies] : copies) {
    for (const Graph::Impl::DeviceEntry& other : graph->devices) {
      if (!device->can_access(*other.device) || !other.device->can_access(*device)) {
        return error(StatusCode::kUnimplemented,
                     "graph: two of its devices do not reach each other's signals");
      }
    }
    SymbolTable& symbols = graph->symbols;
    graph->devices.push_back({.device = device,
                              .last_signal = symbols.add(Signal()),
                              .next_signal = symbols.add(Signal()),
                              .last_value = symbols.add(),
                              .next_value = symbols.add()});
    HALYARD_RETURN_IF_ERROR(add_queue(QueueType::kCompute));
    if (has_copies) HALYARD_RETURN_IF_ERROR(add_queue(QueueType::kCopy));
  }
  graph->turns = std::vector<std::optional<TimelineTurn>>(graph->devices.size());
  HALYARD_ASSIGN_OR_RETURN(graph->kick, graph->devices[0].device->create_signal());

  for (const Call& call : calls) {
    const auto queue = std::ranges::find_if(graph->queues, [&](const Graph::Impl::Queue& q) {
      return graph->devices[q.device].device == call.device && q.type == call.queue;
    });
    queue_of.push_back(static_cast<std::uint32_t>(queue - graph->queues.begin()));
  }
  return {};
}

Status GraphRecorder::Recording::make_commands() {
  // Commands of a hardware queue run one after the other (queue.h).
  const std::vector<GraphPlan::Queue> plan_queues(graph->queues.size(), {.fifo_complete = true});
  std::vector<GraphPlan::Call> plan_calls;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    plan_calls.push_back(
        {queue_of[i], std::span(accesses).subspan(begin, calls[i].accesses_end - begin)});
    begin = calls[i].accesses_end;
  }
  const GraphPlan plan(plan_queues, plan_calls);

  for (Graph::Impl::Queue& queue : graph->queues) {
    for (const Graph::Impl::DeviceEntry& device : graph->devices) {
      queue.body.add_wait(device.last_signal, device.last_value);
    }
    queue.body.add_wait(graph->kick, graph->number);
    queue.body.commands().add({.kind = detail::CommandKind::kBarrier});
    queue.parked = queue.body.command_count();
    queue.body.set_profiling(options.profiling);
  }
  for (std::size_t i = 0; i < calls.size(); ++i) {
    Graph::Impl::Queue& queue = graph->queues[queue_of[i]];
    for (const GraphPlan::Wait& wait : plan.waits(i)) {
      queue.body.add_wait(graph->queues[wait.queue].progress, wait.position);
      ++graph->statistics.waits;
    }
    if (auto* exec = std::get_if<Exec>(&calls[i].work)) {
      queue.body.add_exec(exec->program, exec->args, exec->global_size, exec->program.local_size());
    } else if (auto* copy = std::get_if<Copy>(&calls[i].work)) {
      queue.body.add_copy(copy->target, copy->source, copy->size);
    } else {
      auto& custom = std::get<Custom>(calls[i].work);
      queue.body.add_custom({custom.name, custom.run}, custom.words);
    }
    queue.calls.push_back(i);
    if (plan.signals(i)) {
      queue.body.add_signal(queue.progress, plan.position(i));
      ++graph->statistics.signals;
    }
  }
  for (Graph::Impl::Queue& queue : graph->queues) {
    Device& device = *graph->devices[queue.device].device;
    HALYARD_RETURN_IF_ERROR(queue.body.bind(device));
    graph->statistics.commands += queue.body.command_count() - queue.parked;
    queue.tail.add_bound(queue.body);
    queue.tail.add_signal(queue.finished, graph->number);
    if (queue.type == QueueType::kCompute) {
      for (const Graph::Impl::Queue& other : graph->queues) {
        if (&other != &queue) queue.tail.add_wait(other.finished, graph->number);
      }
      const Graph::Impl::DeviceEntry& entry = graph->devices[queue.device];
      queue.tail.add_signal(entry.next_signal, entry.next_value);
    }
  }
  graph->statistics.queues = graph->queues.size();
  return {};
}

// The graph's own memory, for the check of inputs: disjoint ranges, ascending.
void GraphRecorder::Recording::merge_fixed() {
  std::erase_if(accesses, [](const Access& a) { return a.space != 0 || a.begin == a.end; });
  std::ranges::sort(accesses, {}, &Access::begin);
  // A range that is written at some call counts as written entirely. More detail would only matter
  // to inputs that overlap a part that is only read.
  for (const Access& access : accesses) {
    if (graph->fixed.empty() || graph->fixed.back().end <= access.begin) {
      graph->fixed.push_back({access.begin, access.end, access.writes});
      continue;
    }
    Graph::Impl::Range& range = graph->fixed.back();
    range.end = std::max(range.end, access.end);
    range.written |= access.writes;
  }
}

}  // namespace halyard::inline v0::hcq
