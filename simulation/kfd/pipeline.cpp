// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/kfd/pipeline.h"

#include <algorithm>
#include <utility>

namespace halyard::inline v0::sim::kfd {

bool Pipeline::has_dispatch() const {
  return std::ranges::any_of(
      items_, [](const PipelineItem& item) { return std::holds_alternative<Dispatch>(item); });
}

bool Pipeline::runs_code_in(std::uint64_t begin, std::uint64_t end) const {
  return std::ranges::any_of(items_, [&](const PipelineItem& item) {
    const auto* const dispatch = std::get_if<Dispatch>(&item);
    return dispatch != nullptr && dispatch->kernel.code >= begin && dispatch->kernel.code < end;
  });
}

PipelineItem Pipeline::take(Random& random) {
  const auto end = std::ranges::find_if(
      items_, [](const PipelineItem& item) { return std::holds_alternative<EndOfPipe>(item); });
  const auto dispatches = static_cast<std::uint64_t>(end - items_.begin());
  const auto chosen =
      items_.begin() + static_cast<std::ptrdiff_t>(dispatches == 0 ? 0 : random.below(dispatches));
  PipelineItem item = std::move(*chosen);
  items_.erase(chosen);
  return item;
}

}  // namespace halyard::inline v0::sim::kfd
