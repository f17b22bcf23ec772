// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "program.h"

#include <algorithm>

namespace halyard::fuzz {

using enum StatusCode;

std::uint64_t Program::number(std::uint64_t usual) {
  switch (pick(8)) {
    case 0:
      return 0;
    case 1:
      return bytes_.ConsumeIntegralInRange<std::uint64_t>(0, usual + 4);
    case 2:
      return usual;
    case 3:
      return often() ? 4 : ~std::uint64_t{0} - pick(8);
    case 4:
      return often() ? 8 : std::uint64_t{1} << pick(64);
    default:
      return bytes_.ConsumeIntegralInRange<std::uint64_t>(0, usual / 4) * 4;
  }
}

Ref Program::draw_ref(bool slots) {
  Ref ref;
  ref.is_slot = slots && maybe();
  if (ref.is_slot) {
    ref.index = static_cast<std::uint32_t>(often() ? pick(4) : hal::kMaxSlots - 2 + pick(4));
    ref.offset = maybe() ? 0 : number(32);
    if (maybe()) ref.length = number(64);
    return ref;
  }
  // The first two are invalid.
  ref.index = static_cast<std::uint32_t>(often() ? 2 + pick(handles_.size() - 2) : pick(2));
  const std::uint64_t size = model_.buffers[ref.index].size;
  ref.offset = maybe() ? 0 : number(size);
  if (maybe()) ref.length = number(ref.offset < size ? size - ref.offset : 0);
  return ref;
}

Call Program::draw_call(std::size_t device, bool slots) {
  Call call;
  switch (pick(4)) {
    case 0:
      call.command.pattern = bytes_.ConsumeIntegral<std::uint32_t>();
      call.command.pattern_size = static_cast<std::uint32_t>(often() ? 1u << pick(3) : number(4));
      call.target = draw_ref(slots);
      call.codes = model_.fill(call.target, call.command);
      break;
    case 1:
      call.command.data = bytes_.ConsumeBytes<std::uint8_t>(pick(40));
      call.target = draw_ref(slots);
      if (often()) call.target.length = maybe() ? call.command.data.size() : hal::kWholeSize;
      call.codes = model_.update(call.target, call.command);
      break;
    case 2:
      call.source = draw_ref(slots);
      call.target = draw_ref(slots);
      if (often()) call.target.length = call.source.length = number(40);
      call.codes = model_.copy(call.source, call.target, call.command);
      break;
    default:
      draw_dispatch(call, device, slots);
  }
  return call;
}

KernelKind Program::draw_function(Call& call, std::size_t device) {
  const bool mix = maybe();
  const bool empty = !often();
  const std::size_t of = often() ? device : 1 - device;
  call.function = world().functions[empty ? 4 : 2 * of + (mix ? 1 : 0)];
  call.codes.add_if(empty, kInvalidArgument);
  call.codes.add_if(!empty && of != device, kPermissionDenied);
  return mix ? KernelKind::kMix : KernelKind::kAddEach;
}

void Program::draw_grid(Call& call, std::size_t device, bool slots) {
  if (maybe()) {
    call.counts = draw_ref(slots);
    call.codes |= model_.counts(*call.counts, call.command);
    return;
  }
  const auto extent = [&] { return hal::Grid::Extent(number(64), 1 + pick(2), 1 + pick(2)); };
  if (often()) {
    (maybe() ? call.grid.items : call.grid.groups) = extent();
  } else if (maybe()) {
    call.grid = {.items = extent(), .groups = extent()};
  }
  const auto& limits = world().devices[device].info().limits;
  call.codes |= resolve_grid(call.grid, limits.max_groups, call.command);
}

// `value`, or sometimes a constant slot in its place, which only a recorder takes.
hal::Constant Program::draw_constant(Call& call, bool slots, std::uint32_t value,
                                     std::optional<std::uint32_t>& slot) {
  if (slots ? pick(4) != 0 : often()) return value;
  slot = static_cast<std::uint32_t>(often() ? pick(3) : hal::kMaxSlots - 1 + pick(2));
  call.codes.add_if(!slots, kInvalidArgument);
  call.codes.add_if(*slot >= hal::kMaxSlots, kOutOfRange);
  return hal::constant_slot(*slot);
}

void Program::draw_dispatch(Call& call, std::size_t device, bool slots) {
  Command& command = call.command;
  command.kernel = draw_function(call, device);
  const bool mix = command.kernel == KernelKind::kMix;
  // Only a recorder has slots and bindings.
  if (slots && pick(theme_ == Theme::kSets ? 2 : 6) == 0) {
    call.as_bound = true;
    call.codes |= bound_.use(command.kernel, call.bindings, command);
    const bool complete = call.codes.none();
    const Codes refused = model_.bindings(call.bindings, command);
    if (complete) call.codes |= refused;
    draw_grid(call, device, slots);
    return;
  }

  for (std::size_t count = often() ? (mix ? 3 : 1) : pick(5); count > 0; --count) {
    call.bindings.push_back(draw_ref(slots));
  }
  call.codes |= model_.bindings(call.bindings, command);
  command.n = static_cast<std::uint32_t>(pick(64));
  command.amount = bytes_.ConsumeIntegral<std::uint32_t>();
  draw_grid(call, device, slots);

  if (!mix) {
    call.constants.push_back(draw_constant(call, slots, command.amount, command.amount_slot));
  }
  call.constants.push_back(draw_constant(call, slots, command.n, command.n_slot));
  if (often()) return;
  if (maybe()) {
    call.constants.pop_back();
  } else {
    call.constants.back() = hal::Constant(1.0f);
  }
  call.codes |= kInvalidArgument;
}

Program::Points Program::draw_points() {
  Points points;
  const auto draw = [&](std::vector<hal::Point>& list, std::vector<Drawn>& drawn,
                        std::uint64_t above) {
    if (!often()) {
      const bool empty = maybe();
      list.push_back({empty ? hal::Semaphore() : world().foreign_semaphore, 1});
      points.codes |= empty ? kInvalidArgument : kPermissionDenied;
      return;
    }
    const std::size_t index = pick(semaphores_.size());
    const std::uint64_t value = often() ? values_[index] + above + pick(4) : number(4);
    list.push_back({semaphores_[index], value});
    drawn.emplace_back(index, value);
    points.codes.add_if(value > kMaxValue, kInvalidArgument);
  };
  for (std::size_t i = pick(3); i > 0; --i) draw(points.wait, points.waits, 0);
  for (std::size_t i = pick(3); i > 0; --i) draw(points.signal, points.signals, 4);
  const auto largest = [](const std::vector<Drawn>& drawn, std::size_t of) {
    std::optional<std::uint64_t> value;
    for (const auto& [index, at] : drawn) {
      if (index == of) value = std::max(value.value_or(0), at);
    }
    return value;
  };
  for (std::size_t i = 0; i < semaphores_.size(); ++i) {
    const auto signal = largest(points.signals, i);
    const auto wait = largest(points.waits, i);
    if (!signal) continue;
    points.codes.add_if(*signal <= values_[i] || (wait && *wait >= *signal), kInvalidArgument);
  }
  return points;
}

}  // namespace halyard::fuzz
