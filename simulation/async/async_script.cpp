// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/async/async_script.h"

#include <algorithm>

namespace halyard::inline v0::sim {
namespace {

constexpr auto kKinds = static_cast<std::uint64_t>(Step::Kind::kAddAndSwap) + 1;

template <class T>
T& at(Cells<T>& cells, Cell cell) {
  return cells[static_cast<std::size_t>(cell)];
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
    Step step{.kind = static_cast<Step::Kind>(random.below(kKinds))};
    step.target = static_cast<Cell>(random.below(has_slots ? 3 : 2));
    std::vector<Cell> sources = brought;
    if (step.target != Cell::kWritten) {
      sources.insert(sources.end(), {Cell::kFirst, Cell::kSecond});
    }
    std::erase(sources, step.target);
    if (!sources.empty()) step.source = sources[random.below(sources.size())];
    step.values = draw_contents(random, size);
    step.part = Part::any(random, size);
    step.tile = random.between(1 + size / 16, size);
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
      case Step::Kind::kAddReversed: {
        const Contents& source = at(cells, step.source);
        add_reversed(step.values[0], is_shared(step.source) ? step.part(source) : std::span(source),
                     target);
        break;
      }
      case Step::Kind::kAddAndSwap:
        add_and_swap(at(cells, Cell::kFirst), at(cells, Cell::kSecond));
        break;
    }
  }
}

Tensor& Script::owned(Cell cell) noexcept {
  return cell == Cell::kFirst ? first : cell == Cell::kSecond ? second : *written;
}

const Shared& Script::shared(Cell cell) const noexcept {
  return cell == Cell::kRead ? *read : cell == Cell::kCopy ? *copy : *given;
}

Status Script::perform(const Step& step, async::Context& context) {
  Tensor& target = owned(step.target);
  const auto tile = async::partition(step.tile);
  switch (step.kind) {
    case Step::Kind::kFill:
      return context.fill(target.storage(), step.values[0], sizeof(Element));
    case Step::Kind::kUpdate:
      return context.update(target.storage(), std::as_bytes(std::span(step.values)));
    case Step::Kind::kCopy:
      return context.copy(
          is_shared(step.source) ? shared(step.source).memory() : owned(step.source).memory(),
          target.storage());
    case Step::Kind::kSwap: {
      HALYARD_ASSIGN_OR_RETURN(const auto between, context.scratch(first.memory().length));
      HALYARD_RETURN_IF_ERROR(context.copy(first.memory(), between.get()));
      HALYARD_RETURN_IF_ERROR(context.copy(second.memory(), first.storage()));
      return context.copy(between.get(), second.storage());
    }
    case Step::Kind::kAddReversed: {
      const auto call = [&](auto source) {
        return kAddReversed(step.values[0], std::move(source), std::move(target) | tile)
            .execute(context);
      };
      if (is_shared(step.source)) {
        HALYARD_ASSIGN_OR_RETURN(auto arrays, call(step.part(shared(step.source))));
        target = std::get<2>(std::move(arrays)).unpartition();
      } else {
        HALYARD_ASSIGN_OR_RETURN(auto arrays, call(std::move(owned(step.source))));
        owned(step.source) = std::get<1>(std::move(arrays));
        target = std::get<2>(std::move(arrays)).unpartition();
      }
      return {};
    }
    case Step::Kind::kAddAndSwap: {
      HALYARD_ASSIGN_OR_RETURN(
          auto both,
          kAddAndSwap(std::move(first) | tile, std::move(second) | tile).execute(context));
      first = std::get<0>(std::move(both)).unpartition();
      second = std::get<1>(std::move(both)).unpartition();
      return {};
    }
  }
  return {};
}

Result<Script::Output> Script::execute(async::Context& context) && {
  for (const Step& step : *steps) HALYARD_RETURN_IF_ERROR(perform(step, context));
  return Output(std::move(first), std::move(second));
}

}  // namespace halyard::inline v0::sim
