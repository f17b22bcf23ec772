// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "halyard/hcq/graph.h"

#include <algorithm>
#include <utility>

#include "base/format.h"
#include "hcq/graph_impl.h"
#include "hcq/signal_object.h"

namespace halyard::inline v0::hcq {

Graph::Graph(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
Graph::Graph(Graph&&) noexcept = default;
Graph& Graph::operator=(Graph&&) noexcept = default;
Graph::~Graph() = default;

void Graph::set(Symbol symbol, std::uint64_t value) noexcept { impl_->symbols.set(symbol, value); }

Status Graph::replay(std::span<const Buffer> inputs, Deadline deadline) {
  if (impl_ == nullptr) return error(StatusCode::kInvalidArgument, "graph: empty");
  return impl_->replay(inputs, deadline);
}

Status Graph::wait(Deadline deadline) const {
  if (impl_ == nullptr) return error(StatusCode::kInvalidArgument, "graph: empty");
  return impl_->wait(deadline);
}

GraphStatistics Graph::statistics() const noexcept {
  return impl_ == nullptr ? GraphStatistics() : impl_->statistics;
}

std::vector<CallTimes> Graph::profile() const {
  std::vector<CallTimes> result;
  if (impl_ == nullptr) return result;
  for (const Impl::Queue& queue : impl_->queues) {
    std::size_t call = 0;
    for (CommandTimes& times : queue.body.profile()) {
      result.push_back({.call = queue.calls[call++],
                        .device = impl_->devices[queue.device].device,
                        .queue = queue.type,
                        .name = std::move(times.name),
                        .begin = times.begin,
                        .end = times.end});
    }
  }
  std::ranges::sort(result, {}, &CallTimes::call);
  return result;
}

Status Graph::Impl::wait(Deadline deadline) const {
  const Deadline until = Deadline::at(deadline.resolve(Clock::steady()));
  for (const Queue& queue : queues) {
    HALYARD_RETURN_IF_ERROR(queue.finished.wait(symbols.get(number), until));
  }
  return {};
}

Status Graph::Impl::replay(std::span<const Buffer> buffers, Deadline deadline) {
  HALYARD_RETURN_IF_ERROR(set_inputs(buffers));
  HALYARD_RETURN_IF_ERROR(wait(deadline));
  if (std::exchange(cut_short_, false)) {
    for (Queue& queue : queues) {
      const detail::CommandList& list = queue.body.commands();
      list.bound->set_end(list.commands.size());
    }
  }
  for (std::size_t i = 0; i < devices.size(); ++i) {
    DeviceEntry& entry = devices[i];
    const TimelineTurn& turn = turns[i].emplace(*entry.device);
    symbols.set(entry.last_signal, turn.last().signal);
    symbols.set(entry.last_value, turn.last().value);
    symbols.set(entry.next_signal, turn.next().signal);
    symbols.set(entry.next_value, turn.next().value);
  }
  const Status status = submit();
  for (auto& turn : turns) turn.reset();
  return status;
}

Status Graph::Impl::submit() {
  const std::uint64_t n = symbols.get(number) + 1;
  symbols.set(number, n);
  Status status;
  for (Queue& queue : queues) {
    if (status.ok()) status = queue.body.resolve(*devices[queue.device].device, symbols);
  }
  std::size_t submitted = 0;
  for (; status.ok() && submitted < queues.size(); ++submitted) {
    Queue& queue = queues[submitted];
    detail::CommandList& body = queue.body.commands();
    body.bound->update(body, 0, queue.parked);
    status = queue.tail.submit(*devices[queue.device].device, symbols);
    if (!status.ok()) break;
    if (queue.type == QueueType::kCompute) turns[queue.device]->commit();
  }
  if (submitted == queues.size()) {
    for (Queue& queue : queues) {
      detail::CommandList& body = queue.body.commands();
      body.bound->update(body, queue.parked, body.commands.size());
      body.changes_written();
      queue.progress.object()->reset();
    }
  } else {
    // The submitted queues end at the kick, and find that all others have finished.
    cut_short_ = true;
    for (std::size_t i = 0; i < queues.size(); ++i) {
      if (i < submitted) {
        queues[i].body.commands().bound->set_end(queues[i].parked);
      } else {
        queues[i].finished.set(n);
      }
    }
  }
  kick.set(n);
  return status;
}

Status Graph::Impl::set_inputs(std::span<const Buffer> buffers) {
  if (buffers.size() != inputs.size()) {
    return error(StatusCode::kInvalidArgument, "graph: {} given, it takes {}",
                 base::counted(buffers.size(), "input"), inputs.size());
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Input& input = inputs[i];
    if (buffers[i].size < input.size) {
      return error(StatusCode::kOutOfRange, "graph: input {} of {}, it takes {}", i,
                   base::counted(buffers[i].size, "byte"), input.size);
    }
    // The order of the calls assumes disjoint memory.
    const Range range{buffers[i].va_addr, buffers[i].va_addr + input.size, input.written};
    if (overlaps_fixed(range)) {
      return error(StatusCode::kInvalidArgument,
                   "graph: input {} overlaps memory of the graph, and one of them is written", i);
    }
    for (std::size_t k = 0; k < i; ++k) {
      const std::uint64_t begin = buffers[k].va_addr;
      if (range.begin < begin + inputs[k].size && begin < range.end &&
          (range.written || inputs[k].written)) {
        return error(StatusCode::kInvalidArgument,
                     "graph: inputs {} and {} overlap, and one of them is written", k, i);
      }
    }
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    symbols.set(inputs[i].va_addr, buffers[i].va_addr);
  }
  return {};
}

bool Graph::Impl::overlaps_fixed(const Range& range) const noexcept {
  auto at = std::ranges::upper_bound(fixed, range.begin, {}, &Range::end);
  for (; at != fixed.end() && at->begin < range.end; ++at) {
    if (at->written || range.written) return true;
  }
  return false;
}

}  // namespace halyard::inline v0::hcq
