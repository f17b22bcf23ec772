// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Script: the steps of a recording, drawn from the seed. It has two forms: a user's operation that
// may be recorded, and the reference on contents.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "simulation/async/async_kernels.h"
#include "simulation/random.h"

namespace halyard::inline v0::sim {

// The arrays of a replay. The last four may be absent.
enum class Cell : std::uint8_t {
  kFirst,  // kFirst, kSecond: the recording's own, which keep their contents between replays
  kSecond,
  kWritten,  // a tensor that each replay brings
  kRead,     // a share that each replay brings
  kCopy,     // a copy of kRead, by a part of the tree that two others share
  kGiven,    // a share that the recording owns
  kCount
};
constexpr bool is_shared(Cell cell) noexcept { return cell >= Cell::kRead; }
template <class T>
using Cells = std::array<T, static_cast<std::size_t>(Cell::kCount)>;

struct Step {
  enum class Kind : std::uint8_t { kFill, kUpdate, kCopy, kSwap, kAddReversed, kAddAndSwap };
  Kind kind = Kind::kFill;
  Cell target = Cell::kFirst, source = Cell::kFirst;  // kSwap, kAddAndSwap: of both own
  Contents values{};                                  // kFill, kAddReversed: the first of them
  Part part{};                                        // kAddReversed: the share of the source
  std::uint64_t tile = 1;                             // of a kernel's output
};
using Steps = std::vector<Step>;

// The result in kWritten depends only on the inputs of a replay, so it is known at the replay.
// `is_scratch`: marks an own cell whose first access must be a write, because it has no contents.
Steps draw_steps(Random& random, std::size_t size, bool has_slots, bool has_given,
                 std::array<bool, 2> is_scratch);
void carry_out(const Steps& steps, Cells<Contents>& cells);

// An existing tensor, or memory that the recording allocates for itself.
struct Own {
  using Output = Tensor;
  static constexpr bool kRecordable = true;
  Result<Tensor> execute(async::Context& context) && {
    if (tensor) return *std::move(tensor);
    HALYARD_ASSIGN_OR_RETURN(auto storage, context.scratch(size * sizeof(Element)));
    return Tensor(std::move(storage), async::Shape{size});
  }
  std::optional<Tensor> tensor;
  std::size_t size;
};

// The steps, over tensors.
struct Script {
  using Output = std::tuple<Tensor, Tensor>;
  static constexpr bool kRecordable = true;
  Result<Output> execute(async::Context& context) &&;

  std::shared_ptr<const Steps> steps;
  Tensor first, second;
  std::optional<Shared> given{};
  std::optional<Tensor> written{};
  std::optional<Shared> read{}, copy{};

 private:
  Status perform(const Step& step, async::Context& context);
  Tensor& owned(Cell cell) noexcept;
  const Shared& shared(Cell cell) const noexcept;
};

}  // namespace halyard::inline v0::sim
