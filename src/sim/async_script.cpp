// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/async_script.h"

#include <algorithm>

namespace halyard::inline v0::sim {
namespace {

template <class T>
T& at(Cells<T>& cells, Cell cell) {
  return cells[static_cast<std::size_t>(cell)];
}

Status perform(const Step& step, async::Context& context,
               Cells<async::detail::StorageRange>& cells) {
  const async::detail::StorageRange& target = at(cells, step.target);
  switch (step.kind) {
    case Step::Kind::kFill:
      return context.fill(target.storage, step.values[0], sizeof(Element));
    case Step::Kind::kUpdate:
      return context.update(target.storage, std::as_bytes(std::span(step.values)));
    case Step::Kind::kCopy:
      return context.copy(at(cells, step.source), target.storage);
    case Step::Kind::kSwap:
      break;
  }
  const auto& first = at(cells, Cell::kFirst);
  const auto& second = at(cells, Cell::kSecond);
  HALYARD_ASSIGN_OR_RETURN(const auto between, context.scratch(first.length));
  HALYARD_RETURN_IF_ERROR(context.copy(first, between.get()));
  HALYARD_RETURN_IF_ERROR(context.copy(second, first.storage));
  return context.copy(between.get(), second.storage);
}

}  // namespace

Steps draw_steps(Random& random, std::size_t size, bool has_slots, bool has_given,
                 std::array<bool, 2> is_scratch) {
  Steps steps;
  for (const Cell own : {Cell::kFirst, Cell::kSecond}) {
    if (!is_scratch[static_cast<std::size_t>(own)]) continue;
    steps.push_back({Step::Kind::kUpdate, own, {}, draw_contents(random, size)});
  }
  std::vector<Cell> brought;
  if (has_slots) brought = {Cell::kWritten, Cell::kRead, Cell::kCopy};
  if (has_given) brought.push_back(Cell::kGiven);
  for (std::uint64_t left = random.between(1, 5); left != 0; --left) {
    Step step{.kind = static_cast<Step::Kind>(random.below(4))};
    step.target = static_cast<Cell>(random.below(has_slots ? 3 : 2));
    std::vector<Cell> sources = brought;
    if (step.target != Cell::kWritten) {
      sources.insert(sources.end(), {Cell::kFirst, Cell::kSecond});
    }
    std::erase(sources, step.target);
    if (!sources.empty()) step.source = sources[random.below(sources.size())];
    step.values = draw_contents(random, size);
    steps.push_back(std::move(step));
  }
  return steps;
}

void carry_out(const Steps& steps, Cells<Contents>& cells) {
  for (const Step& step : steps) {
    Contents& target = at(cells, step.target);
    switch (step.kind) {
      case Step::Kind::kFill:
        target.assign(step.values.size(), step.values[0]);
        break;
      case Step::Kind::kUpdate:
        target = step.values;
        break;
      case Step::Kind::kCopy:
        target = at(cells, step.source);
        break;
      case Step::Kind::kSwap:
        std::swap(at(cells, Cell::kFirst), at(cells, Cell::kSecond));
        break;
    }
  }
}

Result<Script::Output> Script::execute(async::Context& context) && {
  const auto memory = [](const auto& array) {
    return array ? array->memory() : async::detail::StorageRange(nullptr);
  };
  Cells<async::detail::StorageRange> cells = {first.memory(), second.memory(), memory(written),
                                              memory(read),   memory(copy),    memory(given)};
  for (const Step& step : *steps) HALYARD_RETURN_IF_ERROR(perform(step, context, cells));
  return Output(std::move(first), std::move(second));
}

}  // namespace halyard::inline v0::sim
