// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// AsyncProgram: recordings of trees and of functions, and their replays, while other trees use the
// same tensors. A lock of the recording serializes the submission of replays and of operations that
// read an output. So the contents of the recording's memory are known at submission.
#include <algorithm>
#include <array>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "base/mutex.h"
#include "simulation/async/async_program.h"
#include "simulation/async/async_program_awaits.h"

namespace halyard::inline v0::sim {

using async::boxed;
using async::map;
using async::zip;

struct AsyncProgram::Recording {
  using OfTree = async::Recorded<Script::Output>;
  using OfFunction = async::Recorded<Script::Output, Shared, Tensor>;

  const OfFunction* function() const noexcept { return std::get_if<OfFunction>(&recorded); }
  const OfTree& tree() const noexcept { return std::get<OfTree>(recorded); }
  Script::Output take() noexcept {
    return function() != nullptr ? std::get<OfFunction>(std::move(recorded)).take()
                                 : std::get<OfTree>(std::move(recorded)).take();
  }
  // The contents of its own memory.
  template <std::size_t I>
  Shared output() const noexcept {
    return function() != nullptr ? function()->output<I>() : tree().output<I>();
  }
  // Adds one more use of that memory, which may change it.
  void use(Tree& by, bool writes) {
    by.operands.insert(by.operands.end(), users.begin(), users.end());
    if (writes) users.clear();
    users.push_back(&by);
  }
  // A replay was submitted; `cells` has the contents of its arguments.
  void replayed(Tree& by, Cells<Contents> cells) {
    use(by, true);
    if (given.users) {
      by.operands.push_back(given.users->front());
      given.users->push_back(&by);
    }
    cells[0] = std::move(own[0]);
    cells[1] = std::move(own[1]);
    cells[static_cast<std::size_t>(Cell::kGiven)] = given.contents;
    carry_out(*steps, cells);
    own[0] = std::move(cells[0]);
    own[1] = std::move(cells[1]);
  }

  std::uint32_t device = 0;
  std::size_t size = 0;
  std::variant<std::monostate, OfTree, OfFunction> recorded{};
  std::shared_ptr<const Steps> steps{};
  Contents own[2]{};  // empty: never written
  Users users{};      // of `own`
  Array given{};      // a share that the recording reads
  base::Mutex mutex{};
};

// --- operations -------------------------------------------------------------------------------

// A replay with the results of operations. Returns the tensor that it has written over.
struct AsyncProgram::Replayed {
  using Output = Tensor;
  Result<Tensor> execute(async::Context& context) && {
    HALYARD_ASSIGN_OR_RETURN(Tensor tensor, std::move(written).execute(context));
    std::optional<Shared> share;
    if (read) {
      HALYARD_ASSIGN_OR_RETURN(share, std::move(*read).execute(context));
    }
    base::LockGuard lock(recording->mutex);
    if (share) {
      auto replay = recording->function()->replay(*std::move(share), std::move(tensor));
      HALYARD_ASSIGN_OR_RETURN(auto arrays, std::move(replay).execute(context));
      tensor = std::get<1>(std::move(arrays));
    } else {
      HALYARD_RETURN_IF_ERROR(recording->tree().replay().execute(context).status());
    }
    recording->replayed(*tree, std::move(cells));
    return tensor;
  }
  Tree* tree;
  std::shared_ptr<Recording> recording;
  async::BoxedOperation<Tensor> written;
  std::optional<async::BoxedOperation<Shared>> read;  // by a function
  Cells<Contents> cells;
};

// Reads a part of the recorded tree's result, as the replays so far have left it.
struct AsyncProgram::Reading {
  using Output = async::detail::Readback<Element>;
  Result<Output> execute(async::Context& context) && {
    base::LockGuard lock(recording->mutex);
    recording->use(*tree, false);
    *contents = recording->own[part];
    const auto read = [&](const auto& recorded) {
      return part == 0 ? recorded.template to_host<0>().execute(context)
                       : recorded.template to_host<1>().execute(context);
    };
    return recording->function() != nullptr ? read(*recording->function())
                                            : read(recording->tree());
  }
  Tree* tree;
  std::shared_ptr<Recording> recording;
  std::size_t part;
  std::shared_ptr<Contents> contents;
};

// A copy of that part on the device. It follows another replay if that needs no arrays.
struct AsyncProgram::Called {
  using Output = Tensor;
  Result<Tensor> execute(async::Context& context) && {
    base::LockGuard lock(recording->mutex);
    auto outputs = std::tuple(recording->output<0>(), recording->output<1>());
    if (recording->function() == nullptr) {
      HALYARD_ASSIGN_OR_RETURN(outputs, recording->tree()().execute(context));
      recording->replayed(*tree, {});
    }
    recording->use(*tree, false);
    *contents = recording->own[part];
    return Copied<Shared>{part == 0 ? std::get<0>(outputs) : std::get<1>(outputs)}.execute(context);
  }
  Tree* tree;
  std::shared_ptr<Recording> recording;
  std::size_t part;
  std::shared_ptr<Contents> contents;
};

namespace {

// The tree that is recorded, without arrays of the replays.
auto tree_of(Own first, Own second, std::shared_ptr<const Steps> steps,
             std::optional<Shared> given) {
  return zip(std::move(first), std::move(second)) | async::apply([=](Tensor a, Tensor b) {
           return Script{steps, std::move(a), std::move(b), given};
         });
}

// The same steps as a function of the arrays, with shared and split parts.
auto function_of(Own first, Own second, std::shared_ptr<const Steps> steps,
                 std::optional<Shared> given) {
  return [=, first = std::move(first), second = std::move(second)](Shared read,
                                                                   Tensor written) mutable {
    const auto copy =
        async::copy(read, async::scratch<Element>(read.shape())) | async::last | async::share;
    auto both = zip(std::move(first), std::move(second), read, zip(copy, copy) | async::first,
                    std::move(written)) |
                async::apply([=](Tensor a, Tensor b, Shared x, Shared x1, Tensor y) {
                  return Script{steps, std::move(a), std::move(b), given, std::move(y), x, x1};
                });
    auto [a, b] = async::unzip(std::move(both));
    return zip(std::move(a), std::move(b));
  };
}

}  // namespace

// --- actions of actors ------------------------------------------------------------------------

// Records a tree. Its memory comes from slots that have tensors; otherwise it is scratch.
void AsyncProgram::record_something(Actor& actor) {
  Random& random = actor.random;
  const Array& some = slots_[any_slot(random)];
  const bool fits = std::holds_alternative<Tensor>(some.handle) && !some.contents.empty();
  const auto device =
      fits ? some.users->front()->device : static_cast<std::uint32_t>(random.below(plan_.devices));
  if (!actor.devices[device].status().ok()) return;
  Tree& tree = plant(actor, device, fits ? some.contents.size() : sizes_[random.below(2)]);
  tree.allocates = true;
  auto recording = std::make_shared<Recording>();
  recording->device = device;
  recording->size = tree.size;
  recording->users.push_back(&tree);
  Own own[] = {{{}, tree.size}, {{}, tree.size}};
  std::optional<Shared> given;
  for (Array& slot : slots_) {
    if (slot.contents.size() != tree.size || slot.users->front()->device != device) continue;
    const std::size_t next = own[0].tensor ? 1 : 0;
    if (std::holds_alternative<Tensor>(slot.handle) && !own[next].tensor) {
      Array array = std::exchange(slot, {});
      own[next].tensor = std::get<Tensor>(std::move(array.handle));
      recording->own[next] = std::move(array.contents);
      tree.operands.insert(tree.operands.end(), array.users->begin(), array.users->end());
    } else if (std::holds_alternative<Shared>(slot.handle) && !given && random.one_in(2)) {
      recording->given = {{}, slot.contents, slot.users};
      given = std::get<Shared>(slot.handle);
    }
  }
  const bool is_function = random.one_in(2);
  recording->steps = std::make_shared<const Steps>(
      draw_steps(random, tree.size, is_function, given.has_value(),
                 {!own[0].tensor.has_value(), !own[1].tensor.has_value()}));
  const auto keep = [this, recording, at = random.below(recordings_.size())](auto recorded) {
    recording->recorded = std::move(recorded);
    const auto last = std::exchange(recordings_[at], recording);
  };
  if (is_function) {
    const async::Shape shape{tree.size};
    await(actor, tree,
          async::record(function_of(std::move(own[0]), std::move(own[1]), recording->steps, given),
                        shape, shape),
          keep);
  } else {
    await(actor, tree,
          async::record(tree_of(std::move(own[0]), std::move(own[1]), recording->steps, given)),
          keep);
  }
}

// Replays may be in flight. The recording's tensors go to slots, unless a tree that uses it is
// still to be submitted.
void AsyncProgram::drop_recording(Actor& actor) {
  Random& random = actor.random;
  const auto recording = std::exchange(recordings_[random.below(recordings_.size())], nullptr);
  if (recording == nullptr || recording.use_count() != 1 || random.one_in(3)) return;
  const bool shares = random.one_in(2);
  const auto users = std::make_shared<Users>(recording->users);
  const auto put = [&](std::size_t part, auto&& array) {
    if (recording->own[part].empty()) return;
    const Array last = std::exchange(
        slots_[any_slot(random)],
        Array{std::move(array), std::move(recording->own[part]), std::make_shared<Users>(*users)});
  };
  if (shares) {
    put(0, recording->output<0>());
    put(1, recording->output<1>());
  } else {
    auto [first, second] = recording->take();
    put(0, std::move(first));
    put(1, std::move(second));
  }
}

std::optional<AsyncProgram::Place> AsyncProgram::recorded_place(Random& random) const {
  const auto& recording = recordings_[random.below(recordings_.size())];
  if (recording == nullptr) return {};
  return Place{recording->device, recording->size};
}

// The draft, written over by a replay if a recording fits.
AsyncProgram::Draft AsyncProgram::replay(Random& random, Tree& tree, Draft draft,
                                         std::uint64_t depth) {
  auto recording = recordings_[random.below(recordings_.size())];
  if (!recording || recording->device != tree.device || recording->size != tree.size) return draft;
  Cells<Contents> cells{};
  cells[static_cast<std::size_t>(Cell::kWritten)] = draft.contents;
  std::optional<async::BoxedOperation<Shared>> read;
  if (recording->function() != nullptr) {
    Draft other = grow(random, tree, depth == 0 ? 0 : random.below(depth));
    cells[static_cast<std::size_t>(Cell::kRead)] = other.contents;
    cells[static_cast<std::size_t>(Cell::kCopy)] = std::move(other.contents);
    read = std::move(other.operation) | map(async::share) | boxed;
  }
  Cells<Contents> after = cells;
  after[0] = after[1] = Contents(tree.size);  // whatever the contents of the cells
  after[static_cast<std::size_t>(Cell::kGiven)] = recording->given.contents;
  carry_out(*recording->steps, after);
  return {Replayed{&tree, std::move(recording), std::move(draft.operation), std::move(read),
                   std::move(cells)} |
              boxed,
          std::move(after[static_cast<std::size_t>(Cell::kWritten)])};
}

// Reads a recording's outputs, or moves them to slots with their present contents. Often a replay
// comes first.
void AsyncProgram::use_recording(Actor& actor) {
  Random& random = actor.random;
  auto recording = recordings_[random.below(recordings_.size())];
  if (!recording) return record_something(actor);
  if (!actor.devices[recording->device].status().ok()) return;
  Tree& tree = plant(actor, recording->device, recording->size);
  tree.allocates = true;
  auto before = async::value(0) | boxed;
  if (!random.one_in(4)) {
    auto [operation, contents] = replay(random, tree, grow(random, tree, random.below(2)), 1);
    before = std::move(operation) | map(any_destination(random, tree, std::move(contents))) | boxed;
  }
  const std::size_t part = random.below(2);
  const auto contents = std::make_shared<Contents>();
  const auto check_read = [this, &tree, contents](const Contents& read) {
    if (!contents->empty()) check_contents(tree, read, *contents);
  };
  if (random.one_in(2)) {
    Reading reading{&tree, std::move(recording), part, contents};
    return await(actor, tree, zip(std::move(before), std::move(reading)) | async::last, check_read);
  }
  auto called =
      zip(std::move(before), Called{&tree, std::move(recording), part, contents}) | async::last;
  if (random.one_in(2)) {
    return await(actor, tree, async::to_host(std::move(called)), check_read);
  }
  const Destination put = any_destination(random, tree, {});
  const auto keep = [put, contents](Tensor tensor) {
    Destination last = put;
    last.contents = *contents;
    return contents->empty() ? 0 : last(std::move(tensor));
  };
  if (random.one_in(2)) return await(actor, tree, std::move(called) | map(keep), [](int) {});
  await(actor, tree, std::move(called), keep);
}

}  // namespace halyard::inline v0::sim
