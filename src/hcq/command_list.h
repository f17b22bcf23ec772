// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CommandList: the commands of an hcq::CommandQueue, and a table of the places that symbols fill.
// A command is a record of named numbers that says nothing of any hardware: only a device makes
// words of it. ProgramObject: the object of an hcq::Program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/atomic.h"
#include "halyard/base/ref.h"
#include "halyard/base/status.h"
#include "halyard/hcq/device.h"
#include "halyard/hcq/program.h"
#include "halyard/hcq/symbol.h"
#include "hcq/signal_object.h"

namespace halyard::inline v0::hcq {

// Limits of one kernel. A ring of kernel arguments holds the largest ones many times.
inline constexpr std::size_t kMaxBuffers = 64;
inline constexpr std::size_t kMaxConstantsSize = 4096;

// The code of a kernel in the form that a backend executes, and keeps loaded, while it lives.
class KernelImage : public RefCounted {
 public:
  // `target`: DeviceTraits::target of the devices that execute it; a literal.
  explicit KernelImage(std::string_view target) noexcept : target_(target) {}
  std::string_view target() const noexcept { return target_; }

 private:
  const std::string_view target_;
};

// Where a kernel reads its arguments, in 64-bit words.
struct ArgumentsLayout {
  std::vector<std::uint64_t> initial;  // all words, with 0 where the arguments are filled in
  std::vector<std::uint32_t> buffers;  // the word of each buffer's address
  std::uint32_t constants = 0;         // where ProgramInfo::Constant::offset counts from

  // The buffers, then the constants: what the CPU's kernels read.
  static ArgumentsLayout packed(const ProgramInfo& info);
};

class ProgramObject : public RefCounted {
 public:
  ProgramObject(Ref<KernelImage> image, ProgramInfo info, ArgumentsLayout layout)
      : info_(std::move(info)), layout_(std::move(layout)), image_(std::move(image)) {}
  ProgramObject(Ref<KernelImage> image, const ProgramInfo& info)
      : ProgramObject(std::move(image), info, ArgumentsLayout::packed(info)) {}
  const KernelImage& image() const noexcept { return *image_; }
  const ProgramInfo& info() const noexcept { return info_; }
  const ArgumentsLayout& layout() const noexcept { return layout_; }

 private:
  const ProgramInfo info_;
  const ArgumentsLayout layout_;
  const Ref<KernelImage> image_;
};

namespace detail {

// Kernel arguments start at cache lines.
inline constexpr std::size_t kArgsBlock = 64;
inline constexpr std::size_t kArgsBlockWords = kArgsBlock / sizeof(std::uint64_t);

// Times of profiled commands. Grows while a list is recorded; its cells keep their addresses.
class Profile final : public RefCounted {
 public:
  // In ticks of the device that writes them.
  struct Cells {
    base::Atomic<std::uint64_t> begin{0};
    base::Atomic<std::uint64_t> end{0};
  };
  struct Times {
    std::size_t command;
    std::string name;
    Cells own;
    Cells* cells = &own;    // of the last submission: a device that cannot write `own` has others
    Ref<RefCounted> keeps;  // what the others are in
  };
  std::vector<std::unique_ptr<Times>> times;
  const RefCounted* shown = nullptr;  // the bound list that `cells` are of
  DeviceClock clock;                  // of the device of the last submission
};

enum class CommandKind : std::uint8_t {
  kSignal,
  kWait,
  kTimestamp,
  kExec,
  kCopy,
  kBarrier,
  kCustom,
  kRaw,    // words of the hardware
  kBound,  // all commands of a bound list, executed where they are
};

// The parts of a command that symbols fill and updates change. Those below kNumbers are indices in
// Command::numbers, whose meaning depends on the kind.
enum Field : std::uint8_t {
  // kSignal, kWait:
  kValue = 0,
  // kExec: workgroups; work-items of one; the address of the arguments if the caller's memory has
  // them.
  kX = 0,
  kY = 1,
  kZ = 2,
  kLocalX = 3,
  kLocalY = 4,
  kLocalZ = 5,
  kArguments = 6,
  // kCopy:
  kTarget = 0,
  kSource = 1,
  kBytes = 2,
  kTargetSize = 3,  // what the buffers have; for the checks of updates alone
  kSourceSize = 4,
  // kCustom: void (*)(const std::uint64_t*), and its words.
  kFunction = 0,
  kWords = 1,

  kNumbers = 7,
  kObject = 7,  // Command::object
  kArgs = 8,    // a word of the kernel arguments of all commands
};
inline constexpr std::size_t kCustomWords = 4;
// The bits of Command::symbolic.
template <class... Fields>
constexpr unsigned bits(Fields... fields) noexcept {
  return (... | (1u << fields));
}
constexpr Field custom_word(std::size_t index) noexcept {
  return static_cast<Field>(kWords + index);
}

struct Command {
  CommandKind kind;
  std::uint16_t symbolic = 0;  // bit f: a symbol fills Field f or a part of it
  std::uint64_t numbers[kNumbers] = {};
  Ref<RefCounted> object;        // the signal, program or bound list that it names
  // kExec: its kernel arguments in CommandList::args; none if the caller's memory has them. kRaw:
  // its words in CommandList::raw.
  std::uint32_t args_begin = 0;
  std::uint32_t args_count = 0;
  std::uint32_t buffer_count = 0;
  Profile::Times* times = nullptr;  // stamped before and after

  std::uint32_t args_blocks() const noexcept {
    return (args_count + kArgsBlockWords - 1) / kArgsBlockWords;
  }
  // Null while the signal is a symbol without a value.
  SignalObject* signal() const noexcept { return static_cast<SignalObject*>(object.get()); }
  const ProgramObject& program() const noexcept {
    return static_cast<const ProgramObject&>(*object);
  }
  // Number of commands for the device: a profiled one has a timestamp on either side.
  std::uint32_t steps() const noexcept { return times == nullptr ? 1 : 3; }
};

// A place in a list.
struct Place {
  std::uint32_t index;  // of a command; of a word if `field` is kArgs
  Field field;
};

// A place that a symbol fills: bits [shift, shift + width) of the number.
struct Patch {
  std::uint32_t symbol;
  Operand operand = 0;
  Place place;
  std::uint32_t command;  // to which the place belongs
  std::uint8_t shift = 0;
  std::uint8_t width = 64;
};

// kInvalidArgument for a kExec of more than 2^64 workgroups.
Status check_groups(const Command& exec);
// kInvalidArgument for a size that the kernel does not have.
Status check_local_size(const ProgramInfo& info, Size3 local_size);

class CommandList;

// A list in the form and the memory from which a device executes it.
class BoundList : public RefCounted {
 public:
  // True while it is queued or executed.
  bool in_flight() const noexcept { return !unique(); }
  // Writes the places of `list` that have changed and belong to commands in [begin, end); kernel
  // arguments belong to the last command. Precondition: not in flight, or the device waits before
  // the command at `begin` for a signal that the caller sets afterwards.
  virtual void update(const CommandList& list, std::size_t begin, std::size_t end) noexcept = 0;
  // Executions end before the command at `end`. Precondition: as update(), from `end` on.
  virtual void set_end(std::size_t end) noexcept = 0;
  // Sets Profile::Times::cells of `list` to those that executions of this list write.
  virtual void show_times(const CommandList& list) const noexcept;
};

class CommandList {
 public:
  explicit CommandList(QueueType queue_type) noexcept : type(queue_type) {}

  // ---- Recording. The first error is kept.

  void fail(Status error) {
    if (status.ok()) status = std::move(error);
  }
  // Sets a part of the last command, or a word of its arguments.
  void set(Field field, const Operand& operand, std::uint8_t width = 64);
  void set_signal(const SignalOperand& signal);
  void set_argument(std::uint32_t word, const Operand& operand, std::uint8_t shift,
                    std::uint8_t width);
  // `name`: the name of a kernel, copy or custom command in the profile; may be empty.
  void add(Command command, std::string_view name = {});
  // Adds the kernel arguments of the last command.
  void add_args(const std::vector<std::uint64_t>& words);

  // ---- Changing.

  // The command at `index`, which must be of `kind`. `what` names the caller in errors. Fields in
  // the mask `fields` (bits of Command::symbolic) must not contain a symbol. Otherwise returns
  // null, and the list has failed.
  Command* find(std::size_t index, CommandKind kind, unsigned fields, std::string_view what);
  // Records a changed place. changes_written(): `bound` contains all changes.
  void note(Place place);
  void changes_written() noexcept {
    changed.clear();
    all_changed = false;
  }
  void note(std::size_t command, Field field) {
    note(Place{static_cast<std::uint32_t>(command), field});
  }
  void change(std::size_t command, Field field, std::uint64_t value) {
    commands[command].numbers[field] = value;
    note(command, field);
  }

  // kOutOfRange for a value of more than `bits` to signal or to wait for.
  Status check_values(unsigned bits) const;

  // Writes the places whose symbols have changed. After an error the next call writes all of them.
  Status resolve(std::uint32_t table, const std::vector<SymbolEntry>& entries);

  const QueueType type;
  Status status;
  std::vector<Command> commands;
  std::vector<std::uint64_t> args;  // each command's begin at a multiple of kArgsBlockWords
  std::vector<std::uint32_t> raw;
  std::string_view target;          // KernelImage::target() of its kernels; empty: it has none
  std::size_t steps = 0;            // of all commands

  bool profiled = false;
  Ref<Profile> profile;

  Ref<BoundList> bound;
  const Device* bound_to = nullptr;
  std::vector<Place> changed;  // since `bound` was written
  bool all_changed = false;    // or too many places to list

  std::uint64_t args_blocks() const noexcept { return args.size() / kArgsBlockWords; }

 private:
  // The patches of one symbol are adjacent.
  struct Use {
    std::uint32_t symbol;
    std::uint32_t end;  // end of its patches
    bool known = false;
    std::uint64_t value = 0;  // the last value written
  };
  void add_patch(std::uint32_t table, const Patch& patch);
  void sort_patches();
  Status apply(const Patch& patch, const SymbolEntry& entry);

  std::uint32_t table_ = 0;  // the table of the symbols
  std::vector<Patch> patches_;
  std::vector<Use> uses_;  // empty: the patches must be sorted
};

}  // namespace detail
}  // namespace halyard::inline v0::hcq
