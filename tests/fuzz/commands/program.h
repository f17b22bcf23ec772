// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program of valid and invalid calls, drawn from bytes. Each call must return the model's result,
// all accepted work must end, and memory must then equal the model's.
//
// Commands that access the same memory are ordered in one of the possible ways, so that each
// program has one result.
#pragma once

#include <fuzzer/FuzzedDataProvider.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "halyard/halyard.h"
#include "model.h"
#include "world.h"

namespace halyard::fuzz {

inline constexpr Deadline kHang = std::chrono::seconds(20);
inline constexpr std::uint64_t kMaxValue = (std::uint64_t{1} << 63) - 1;  // of semaphores

// A command with the arguments for a recorder or a queue, and the required result.
struct Call {
  Command command;
  Codes codes;
  Ref source{}, target{};  // fill, update, copy
  hal::Function function{};
  hal::Grid grid{};
  std::vector<Ref> bindings{};
  std::optional<Ref> counts{};
  std::vector<hal::Constant> constants{};
  bool as_bound = false;  // a dispatch with the recorder's bound state
};

using Drawn = std::pair<std::size_t, std::uint64_t>;  // a semaphore of the program, and a value

class Program {
 public:
  explicit Program(FuzzedDataProvider& bytes) : bytes_(bytes) { allocate(); }
  void run();

 private:
  struct Access {
    Place place;
    bool write;
    std::size_t command;  // index in commands_
  };
  struct Event {
    hal::Event handle;
    std::optional<std::vector<Drawn>> set_by;  // the signals of the submission that set it
  };
  struct EventUse {
    bool first_waits = false;
    std::optional<bool> after;  // set, or reset
  };
  struct Finished {
    hal::CommandBuffer handle;
    Recording recording;
    std::vector<EventUse> events;
    std::size_t device;
  };
  struct Points {
    std::vector<hal::Point> wait, signal;
    std::vector<Drawn> waits, signals;
    Codes codes;
  };

  void allocate();
  void deallocate();
  void record();
  void record(hal::Recorder& recorder, Finished& making, Call call);
  void order(hal::Recorder& recorder, Finished& making, const Command& command);
  void mark(hal::Recorder& recorder, Finished& making);
  void bind(hal::Recorder& recorder, std::size_t device);
  void direct();
  void execute();
  void map();
  void compare() const;

  Call draw_call(std::size_t device, bool slots);
  void draw_dispatch(Call& call, std::size_t device, bool slots);
  hal::Constant draw_constant(Call& call, bool slots, std::uint32_t value,
                              std::optional<std::uint32_t>& slot);
  void draw_grid(Call& call, std::size_t device, bool slots);
  KernelKind draw_function(Call& call, std::size_t device);
  Ref draw_ref(bool slots);
  Points draw_points();
  template <class Submit>
  bool submit(const char* call, Codes codes, Points& points, Submit&& submit);

  std::size_t pick(std::size_t count) {
    return bytes_.ConsumeIntegralInRange<std::size_t>(0, count - 1);
  }
  bool maybe() { return bytes_.ConsumeBool(); }
  bool often() { return pick(16) != 0; }
  std::uint64_t number(std::uint64_t usual);

  hal::BufferRange range_of(const Ref& ref) const {
    return {handles_[ref.index], ref.offset, ref.length};
  }
  hal::BindingRef binding_of(const Ref& ref) const {
    if (ref.is_slot) return hal::slot(ref.index, ref.offset, ref.length);
    return range_of(ref);
  }
  template <class T>
  std::vector<T> all(const std::vector<Ref>& refs) const {
    std::vector<T> result;
    for (const Ref& ref : refs) {
      if constexpr (std::is_same_v<T, hal::BindingRef>) {
        result.push_back(binding_of(ref));
      } else {
        result.push_back(range_of(ref));
      }
    }
    return result;
  }

  FuzzedDataProvider& bytes_;
  Model model_;
  std::vector<hal::Buffer> handles_;  // of model_.buffers
  std::vector<std::size_t> of_pool_;  // indices of those from a pool
  std::vector<hal::Semaphore> semaphores_;
  std::vector<std::uint64_t> values_;
  std::vector<Event> events_[2];
  std::vector<Finished> finished_;
  // State of the current recording.
  Codes error_;
  std::vector<Access> since_;             // accesses that the next command must be ordered after
  std::vector<hal::CommandId> commands_;  // commands that do work
  bool edges_open_ = false;               // after() needs a command
  Bound bound_;
  // Some recordings use mostly one kind of call, since useful programs need several of it.
  enum class Theme : std::uint8_t { kCommands, kEvents, kSets } theme_ = Theme::kCommands;
  std::size_t favourite_ = 0;  // index of the preferred layout
};

}  // namespace halyard::fuzz
