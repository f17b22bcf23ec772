// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "halyard/async/detail/nesting.h"

#include "base/format.h"

namespace halyard::inline v0::async::detail {
namespace {

constexpr std::uint32_t kMaxDropped = 100;  // levels of nesting

struct Drops {
  std::uint32_t depth = 0;
  Nested* later = nullptr;
};
constinit thread_local Drops drops;

}  // namespace

Status Nesting::too_deep() {
  return error(StatusCode::kOutOfRange,
               "operations of boxed or shared ones, more than {} deep: await one in between",
               kMaxNesting);
}

void drop(Nested* nested) noexcept {
  if (drops.depth == kMaxDropped) {
    nested->next_ = std::exchange(drops.later, nested);
    return;
  }
  ++drops.depth;
  delete nested;
  while (drops.depth == 1 && drops.later != nullptr) {
    Nested* const next = drops.later;
    drops.later = next->next_;
    delete next;
  }
  --drops.depth;
}

}  // namespace halyard::inline v0::async::detail
