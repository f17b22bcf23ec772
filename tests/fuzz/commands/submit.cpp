// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "program.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <span>

namespace halyard::fuzz {

using enum StatusCode;

// Calls submit(), which must return a code of `codes` or points.codes. If it accepts the work,
// waits for its end and returns true.
template <class Submit>
bool Program::submit(const char* call, Codes codes, Points& points, Submit&& submit) {
  const hal::Semaphore end = world().devices[0].create_semaphore().value();
  points.signal.push_back({end, 1});
  codes |= points.codes;
  expect(call, submit(), codes);
  if (!codes.none()) return false;
  for (const auto& [index, value] : points.waits) {
    if (value <= values_[index]) continue;
    check(semaphores_[index].signal(value));
    values_[index] = value;
  }
  expect(call, end.wait(1, kHang), {});
  for (const auto& [index, value] : points.signals) {
    values_[index] = std::max(values_[index], value);
  }
  return true;
}

void Program::execute() {
  const bool nothing = finished_.empty() || !often();
  const std::size_t device = often() ? 0 : 1;
  const bool copies = !often();
  const bool nowhere = !often();
  const hal::Queue queue = nowhere ? hal::Queue()
                                   : world().devices[device].queue(
                                         copies ? hal::QueueKind::kCopy : hal::QueueKind::kCompute);
  Finished empty{.device = device};
  Finished& finished = nothing ? empty : finished_[pick(finished_.size())];
  const Recording& recording = finished.recording;

  std::vector<Ref> entries;
  for (std::size_t i = often() ? recording.slots.size() : pick(6); i > 0; --i) {
    entries.push_back(draw_ref(/*slots=*/false));
    if (often()) entries.back().offset = 0;
    if (often()) entries.back().length = hal::kWholeSize;
  }
  std::vector<Place> table;
  Codes codes = recording.bind(model_, entries, table);
  std::vector<hal::Constant> constants;
  std::vector<std::uint32_t> numbers;
  const std::size_t given = often() ? recording.constant_slots.size() : pick(4);
  codes.add_if(given < recording.constant_slots.size(), kOutOfRange);
  codes.add_if(given > recording.constant_slots.size(), kInvalidArgument);
  for (std::size_t i = 0; i < given; ++i) {
    const bool fits = pick(32) != 31;
    numbers.push_back(static_cast<std::uint32_t>(pick(64)));
    constants.push_back(fits      ? hal::Constant(numbers.back())
                        : maybe() ? hal::Constant(1.0f)
                                  : hal::Constant(hal::constant_slot(0)));
    const bool used = i < recording.constant_slots.size() && recording.constant_slots[i];
    codes.add_if(used && !fits, kInvalidArgument);
  }
  codes.add_if(nowhere || nothing, kInvalidArgument);
  codes.add_if(finished.device != device || (copies && recording.dispatches()), kPermissionDenied);
  Points points = draw_points();
  for (std::size_t i = 0; i < finished.events.size(); ++i) {
    if (!finished.events[i].first_waits) continue;
    const Event& event = events_[finished.device][i];
    const auto waited = [&](const Drawn& signal) {
      return std::ranges::any_of(points.waits, [&](const Drawn& wait) {
        return wait.first == signal.first && wait.second >= signal.second;
      });
    };
    codes.add_if(!event.set_by || std::ranges::none_of(*event.set_by, waited), kFailedPrecondition);
  }

  if (codes.none() && points.codes.none()) {
    Model after = model_;
    for (const Command& command : recording.commands) {
      if (!after.run(command, table, numbers)) return;
    }
    model_ = std::move(after);
  }
  const auto bindings = all<hal::BufferRange>(entries);
  if (!submit("execute", codes, points, [&] {
        return queue.execute(finished.handle,
                             {.bindings = bindings,
                              .constants = constants,
                              .wait = points.wait,
                              .signal = points.signal});
      })) {
    return;
  }
  for (std::size_t i = 0; i < finished.events.size(); ++i) {
    const std::optional<bool>& after = finished.events[i].after;
    if (!after) continue;
    events_[finished.device][i].set_by.reset();
    if (*after) events_[finished.device][i].set_by = points.signals;
  }
  compare();
}

void Program::direct() {
  const std::size_t device = often() ? 0 : 1;
  const bool copies = !often();
  const hal::Queue queue =
      world().devices[device].queue(copies ? hal::QueueKind::kCopy : hal::QueueKind::kCompute);
  Call call = draw_call(device, /*slots=*/false);
  const Command& command = call.command;
  // Queue::update takes a buffer and an offset, and writes as many bytes as it is given.
  if (command.kind == Command::Kind::kUpdate && call.target.length != hal::kWholeSize) return;
  call.codes.add_if(copies && command.kind == Command::Kind::kDispatch, kPermissionDenied);
  Points points = draw_points();
  if (call.codes.none() && points.codes.none()) {
    Model after = model_;
    if (!after.run(command, {}, {})) return;
    model_ = std::move(after);
  }
  const auto bindings = all<hal::BufferRange>(call.bindings);
  const auto send = [&]() -> Status {
    const hal::SubmitInfo info{.wait = points.wait, .signal = points.signal};
    switch (command.kind) {
      case Command::Kind::kFill:
        return queue.fill(range_of(call.target), command.pattern, command.pattern_size, info);
      case Command::Kind::kUpdate:
        return queue.update(handles_[call.target.index], call.target.offset,
                            std::as_bytes(std::span(command.data)), info);
      case Command::Kind::kCopy:
        return queue.copy(range_of(call.source), range_of(call.target), info);
      case Command::Kind::kDispatch:
        break;
    }
    if (call.counts) {
      return queue.dispatch_indirect(call.function, range_of(*call.counts), bindings,
                                     call.constants, info);
    }
    return queue.dispatch(call.function, call.grid, bindings, call.constants, info);
  };
  if (submit("an operation of a queue", call.codes, points, send)) compare();
}

void Program::allocate() {
  World& w = world();
  handles_ = {hal::Buffer(), w.foreign_buffer};
  model_.buffers = {Buffer(), {.kind = Buffer::Kind::kForeign, .size = 64}};
  const auto add = [&](const hal::Buffer& buffer, std::size_t memory, std::uint64_t offset) {
    handles_.push_back(buffer);
    model_.buffers.push_back({Buffer::Kind::kGood, memory, offset, buffer.size()});
  };
  const auto add_memory = [&](const hal::Buffer& buffer) {
    model_.memories.push_back({std::vector<std::uint8_t>(buffer.size())});
    std::ranges::fill(buffer.map().value().bytes(), std::byte{0});
    add(buffer, model_.memories.size() - 1, 0);
  };
  for (const std::uint64_t size : {1024, 48, 256, 0}) {
    add_memory(w.devices[size == 256 ? 1 : 0].allocate({.size = size}).value());
  }
  for (const std::uint64_t offset : {16, 100}) {
    add(handles_[2].subspan(offset, 320).value(), 0, offset);
  }
  for (int i = 0; i < 3; ++i) semaphores_.push_back(w.devices[0].create_semaphore().value());
  values_.resize(semaphores_.size());
  for (std::size_t device = 0; device < 2; ++device) {
    events_[device].resize(2);
    for (Event& event : events_[device]) event.handle = w.devices[device].create_event().value();
  }
  if (maybe()) return;
  for (int i = 0; i < 2; ++i) {
    const hal::Buffer buffer = w.devices[0]
                                   .queue()
                                   .allocate(w.devices[0].default_pool(), {.size = 128},
                                             {.signal = {{semaphores_[0], ++values_[0]}}})
                                   .value();
    check(semaphores_[0].wait(values_[0], kHang));
    of_pool_.push_back(handles_.size());
    add_memory(buffer);
  }
}

void Program::deallocate() {
  if (of_pool_.empty() || !often()) {
    Points points = draw_points();
    submit("deallocate of what no pool gave", kInvalidArgument, points, [&] {
      return world().devices[0].queue().deallocate(handles_[2],
                                                   {.wait = points.wait, .signal = points.signal});
    });
    return;
  }
  const std::size_t index = of_pool_[pick(of_pool_.size())];
  Memory& memory = model_.memories[model_.buffers[index].memory];
  Points points = draw_points();
  Codes codes;
  codes.add_if(memory.deallocated, kFailedPrecondition);
  memory.deallocated |= submit("deallocate", codes, points, [&] {
    return world().devices[0].queue().deallocate(handles_[index],
                                                 {.wait = points.wait, .signal = points.signal});
  });
}

// The host writes, too.
void Program::map() {
  const Ref ref = draw_ref(/*slots=*/false);
  Place place;
  Codes codes = model_.resolve(ref, place);
  // Only a buffer's own device maps it.
  if (model_.buffers[ref.index].kind == Buffer::Kind::kForeign) return;
  const Result<hal::Mapping> mapping = handles_[ref.index].map(ref.offset, ref.length);
  expect("map", mapping.status(), codes);
  if (!mapping.ok()) return;
  if (mapping->bytes().size() != place.length) std::abort();
  const std::uint8_t value = bytes_.ConsumeIntegral<std::uint8_t>();
  std::ranges::fill(mapping->bytes(), std::byte{value});
  auto& bytes = model_.memories[place.index].bytes;
  std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(place.offset), place.length, value);
}

void Program::compare() const {
  for (std::size_t i = 0; i < handles_.size(); ++i) {
    const Buffer& buffer = model_.buffers[i];
    if (buffer.kind != Buffer::Kind::kGood || buffer.offset != 0) continue;
    const Memory& memory = model_.memories[buffer.memory];
    if (memory.deallocated) continue;
    const hal::Mapping mapping = handles_[i].map().value();
    if (std::ranges::equal(std::as_bytes(std::span(memory.bytes)), mapping.bytes())) continue;
    std::fprintf(stderr, "buffer %zu is not what the commands make of it\n", i);
    std::abort();
  }
}

void Program::run() {
  for (int calls = 0; calls < 64 && bytes_.remaining_bytes() != 0; ++calls) {
    switch (pick(8)) {
      case 0:
      case 1:
        record();
        break;
      case 2:
      case 3:
      case 4:
        execute();
        break;
      case 5:
        map();
        break;
      case 6:
        if (maybe()) deallocate();
        break;
      default:
        direct();
    }
  }
  compare();
}

}  // namespace halyard::fuzz
