// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "program.h"

#include <algorithm>
#include <cstdlib>
#include <span>

namespace halyard::fuzz {

using enum StatusCode;

// Orders the next command after all conflicting ones, in one of the possible ways.
void Program::order(hal::Recorder& recorder, Finished& making, const Command& command) {
  std::vector<Access> accesses;
  for (std::size_t i = 0; i < command.places.size(); ++i) {
    accesses.push_back({command.places[i], i == 0, commands_.size()});
  }
  if (command.counts) accesses.push_back({*command.counts, false, commands_.size()});
  std::vector<hal::CommandId> before;
  for (const Access& earlier : since_) {
    const auto meets = [&](const Access& access) {
      return (access.write || earlier.write) && overlap(access.place, earlier.place);
    };
    if (std::ranges::any_of(accesses, meets)) before.push_back(commands_[earlier.command]);
  }
  if (!before.empty()) {
    switch (edges_open_ ? 2 : pick(3)) {
      case 0:
        recorder.barrier();
        since_.clear();
        break;
      case 1: {
        const std::size_t index = pick(events_[making.device].size());
        const hal::Event& event = events_[making.device][index].handle;
        recorder.set_event(event).wait_event(event);
        making.events[index].after = true;
        since_.clear();
        break;
      }
      default:
        recorder.after(before);
    }
  }
  edges_open_ = false;
  since_.insert(since_.end(), accesses.begin(), accesses.end());
}

void Program::record(hal::Recorder& recorder, Finished& making, Call call) {
  const Command& command = call.command;
  const bool good = error_.none() && call.codes.none();
  if (good) {
    order(recorder, making, command);
    making.recording.add(command);
  }
  const auto bindings = all<hal::BindingRef>(call.bindings);
  switch (command.kind) {
    case Command::Kind::kFill:
      recorder.fill(binding_of(call.target), command.pattern, command.pattern_size);
      break;
    case Command::Kind::kUpdate:
      recorder.update(binding_of(call.target), std::as_bytes(std::span(command.data)));
      break;
    case Command::Kind::kCopy:
      recorder.copy(binding_of(call.source), binding_of(call.target));
      break;
    case Command::Kind::kDispatch:
      if (call.as_bound && call.counts) {
        recorder.dispatch_indirect(call.function, binding_of(*call.counts));
      } else if (call.as_bound) {
        recorder.dispatch(call.function, call.grid);
      } else if (call.counts) {
        recorder.dispatch_indirect(call.function, binding_of(*call.counts), bindings,
                                   call.constants);
      } else {
        recorder.dispatch(call.function, call.grid, bindings, call.constants);
      }
  }
  if (good) commands_.push_back(recorder.last());
  if (error_.none()) error_ = call.codes;
}

// Calls that record no work.
void Program::mark(hal::Recorder& recorder, Finished& making) {
  Codes codes;
  const std::size_t what = pick(6);
  // A command that does work must follow an open after().
  codes.add_if(edges_open_ && what <= 3, kFailedPrecondition);
  const std::size_t device = often() ? making.device : 1 - making.device;
  const std::size_t index = pick(2);
  const bool empty = !often();
  const hal::Event event = empty ? hal::Event() : events_[device][index].handle;
  EventUse& use = making.events[index];
  if (what >= 1 && what <= 3) {
    codes.add_if(empty, kInvalidArgument);
    codes.add_if(!empty && device != making.device, kPermissionDenied);
  }
  const bool good = codes.none() && error_.none();
  switch (what) {
    case 0:
      recorder.barrier();
      if (good) since_.clear();
      break;
    case 1:
      recorder.set_event(event);
      if (good) use.after = true;
      break;
    case 2:
      recorder.reset_event(event);
      if (good) use.after = false;
      break;
    case 3:
      recorder.wait_event(event);
      if (!empty && device == making.device) {
        codes.add_if(use.after == false, kFailedPrecondition);
        if (good && !use.after) use.first_waits = true;
      }
      break;
    case 4: {
      std::vector<hal::CommandId> before;
      for (std::size_t i = pick(3); i > 0; --i) {
        const bool none = commands_.empty() || !often();
        before.push_back(none ? hal::CommandId() : commands_[pick(commands_.size())]);
        codes.add_if(none, kInvalidArgument);
      }
      recorder.after(before);
      if (codes.none() && error_.none()) edges_open_ |= !before.empty();
      break;
    }
    default:
      recorder.begin_debug_group(bytes_.ConsumeBytesAsString(pick(6))).end_debug_group();
      if (often()) break;
      recorder.end_debug_group();
      codes |= kFailedPrecondition;
  }
  if (error_.none()) error_ = codes;
}

// Sets and push constants, which record no work either.
void Program::bind(hal::Recorder& recorder, std::size_t device) {
  Codes codes;
  const std::size_t index = pick(4) != 0 ? favourite_ : pick(layout_infos().size());
  const Layout layout = world().layout(index);
  const bool empty = !often();
  const std::size_t of = often() ? device : 1 - device;
  World& w = world();
  const hal::PipelineLayout given = empty ? hal::PipelineLayout() : w.layouts[of][index];
  codes.add_if(empty, kInvalidArgument);
  codes.add_if(!empty && of != device, kPermissionDenied);
  const bool push = maybe();
  if (push) {
    const std::size_t offset = often() ? 4 * pick(2) : pick(12);
    std::vector<std::uint8_t> data = bytes_.ConsumeBytes<std::uint8_t>(4 * pick(3));
    codes.add_if(offset % 4 != 0 || data.size() % 4 != 0, kInvalidArgument);
    codes.add_if(offset + data.size() > layout.push_size, kOutOfRange);
    recorder.push_constants(given, static_cast<std::uint32_t>(offset),
                            std::as_bytes(std::span(data)));
    if (codes.none()) bound_.push(layout, offset, data);
  } else {
    const std::size_t set = often() ? pick(layout.sets.size()) : pick(5);
    codes.add_if(set >= layout.sets.size(), kOutOfRange);
    const std::size_t set_index = set < layout.sets.size() && often()
                                      ? layout_infos()[index].sets[set]
                                      : pick(set_layouts().size());
    Descriptors drawn;
    for (const Binding& binding : set_layouts()[set_index]) {
      drawn.emplace_back(binding.number, draw_ref(/*slots=*/true));
    }
    if (!often()) drawn.emplace_back(static_cast<std::uint32_t>(pick(7)), Ref{.is_slot = true});
    if (!drawn.empty() && !often()) drawn.erase(drawn.begin());
    std::vector<hal::Descriptor> descriptors;
    for (const auto& [number, ref] : drawn) descriptors.push_back({number, binding_of(ref)});
    std::vector<Ref> refs;
    if (maybe()) {
      if (set < layout.sets.size()) codes |= model_.set(layout.sets[set], drawn, refs);
      recorder.push_descriptor_set(given, static_cast<std::uint32_t>(set), descriptors);
    } else {
      const Codes refused = model_.set(set_layouts()[set_index], drawn, refs);
      const auto made =
          w.devices[device].create_descriptor_set(w.sets[device][set_index], descriptors);
      expect("create_descriptor_set", made.status(), refused);
      codes.add_if(!made.ok() || (set < layout.sets.size() &&
                                  !same(layout.sets[set], set_layouts()[set_index])),
                   kInvalidArgument);
      recorder.bind_descriptor_set(given, static_cast<std::uint32_t>(set),
                                   made.ok() ? *made : hal::DescriptorSet());
    }
    if (codes.none()) bound_.bind(layout, set, std::move(refs));
  }
  if (error_.none()) error_ = codes;
}

void Program::record() {
  Finished making{.events = std::vector<EventUse>(2), .device = often() ? 0u : 1u};
  error_ = {};
  since_.clear();
  commands_.clear();
  edges_open_ = false;
  bound_ = {};
  theme_ = static_cast<Theme>(pick(3));
  favourite_ = pick(layout_infos().size());
  const bool nowhere = !often();
  error_.add_if(nowhere, kInvalidArgument);
  hal::Recorder recorder(nowhere ? hal::Device() : world().devices[making.device]);
  for (std::size_t i = pick(12); i > 0; --i) {
    const std::size_t what = pick(8);
    if (what == 0 || (what < 5 && theme_ == Theme::kEvents)) {
      mark(recorder, making);
    } else if (what == 1 || (what < 5 && theme_ == Theme::kSets)) {
      bind(recorder, making.device);
    } else {
      record(recorder, making, draw_call(making.device, /*slots=*/true));
    }
  }
  // finish() reports groups that are open at the end.
  const bool open_group = !often();
  if (open_group) recorder.begin_debug_group("open");
  if (error_.none()) error_.add_if(edges_open_ || open_group, kFailedPrecondition);
  Result<hal::CommandBuffer> result = recorder.finish();
  expect("finish", result.status(), error_);
  expect("a second finish", recorder.barrier().finish().status(), kFailedPrecondition);
  if (!result.ok()) return;
  making.handle = *std::move(result);
  if (making.handle.slot_count() != making.recording.slots.size()) std::abort();
  if (making.handle.constant_slot_count() != making.recording.constant_slots.size()) std::abort();
  finished_.push_back(std::move(making));
}

}  // namespace halyard::fuzz
