// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CommandList: the commands of an hcq::CommandQueue as words, and a table of the places that
// symbols fill. ProgramObject: the object of an hcq::Program.
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
#include "hcq/packet.h"

namespace halyard::inline v0::hcq {

// Limits of one kernel. A ring of kernel arguments holds the largest ones many times.
inline constexpr std::size_t kMaxBuffers = 64;
inline constexpr std::size_t kMaxConstantsSize = 4096;

class ProgramObject : public RefCounted {
 public:
  ProgramObject(Kernel code, ProgramInfo info, Ref<RefCounted> image = {}) noexcept
      : kernel_(code), info_(std::move(info)), image_(std::move(image)) {}
  Kernel kernel() const noexcept { return kernel_; }
  const ProgramInfo& info() const noexcept { return info_; }

 private:
  const Kernel kernel_;
  const ProgramInfo info_;
  const Ref<RefCounted> image_;  // keeps the code loaded; null if it is never unloaded
};

namespace detail {

// Kernel arguments start at cache lines.
inline constexpr std::size_t kArgsBlock = 64;
inline constexpr std::size_t kArgsBlockWords = kArgsBlock / sizeof(std::uint64_t);

// Times of profiled commands. Grows while a list is recorded; its cells keep their addresses.
class Profile final : public RefCounted {
 public:
  struct Times {
    std::size_t command;
    std::string name;
    base::Atomic<Nanoseconds> begin{0};
    base::Atomic<Nanoseconds> end{0};
  };
  std::vector<std::unique_ptr<Times>> times;
};

// A packet before it enters a ring.
struct Command {
  PacketKind kind;
  // Bit w: a symbol fills words[w] or a part of it. The last bit: a symbol fills a kernel argument.
  std::uint8_t symbolic = 0;
  static constexpr std::uint8_t kSymbolicArgs = 0x80;
  std::uint64_t words[kPacketWords] = {};
  Ref<RefCounted> keeps;         // the signal or program it names
  std::uint32_t args_begin = 0;  // kExec: index of its kernel arguments in CommandList::args
  std::uint32_t args_count = 0;  // 0: none, or in the caller's memory (words 1 and 2)
  std::uint32_t buffer_count = 0;
  Profile::Times* times = nullptr;  // stamped before and after

  std::uint32_t args_blocks() const noexcept {
    return (args_count + kArgsBlockWords - 1) / kArgsBlockWords;
  }
  // Number of packets of this command.
  std::uint32_t packets() const noexcept { return times == nullptr ? 1 : 3; }
};

// A place in a list: a word of a command, or of the kernel arguments of all commands.
struct Place {
  static constexpr std::uint8_t kArgs = 0xff;
  std::uint32_t index;
  std::uint8_t word;  // of command `index`; or kArgs
};

// A place that a symbol fills: bits [shift, shift + width) of the word.
struct Patch {
  std::uint32_t symbol;
  Operand operand = 0;
  Place place;
  std::uint32_t command;  // to which the place belongs
  std::uint8_t shift = 0;
  std::uint8_t width = 64;
  bool is_signal = false;
};

// kInvalidArgument if words 3 and 4 of a kExec give more than 2^64 workgroups.
Status check_groups(std::uint64_t xy, std::uint64_t z);

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
};

class CommandList {
 public:
  explicit CommandList(QueueType queue_type) noexcept : type(queue_type) {}

  // ---- Recording. The first error is kept.

  void fail(Status error) {
    if (status.ok()) status = std::move(error);
  }
  // Sets a word of the last command, or of its arguments.
  void set(std::uint8_t word, const Operand& operand, std::uint8_t shift = 0,
           std::uint8_t width = 64);
  void set_signal(const SignalOperand& signal);
  void set_argument(std::uint32_t word, const Operand& operand, std::uint8_t shift,
                    std::uint8_t width);
  // `name`: the name of a kernel, copy or custom command in the profile; may be empty.
  void add(Command command, std::string_view name = {});
  // Adds the kernel arguments of the last command.
  void add_args(const std::vector<std::uint64_t>& words);

  // ---- Changing.

  // The command at `index`, which must be of `kind`. `what` names the caller in errors. Words in
  // the mask `words` (bits of Command::symbolic) must not contain a symbol. Otherwise returns null,
  // and the list has failed.
  Command* find(std::size_t index, PacketKind kind, std::uint8_t words, std::string_view what);
  // Records a changed place. changes_written(): `bound` contains all changes.
  void note(Place place);
  void changes_written() noexcept {
    changed.clear();
    all_changed = false;
  }
  void note(std::size_t command, std::uint8_t word) {
    note(Place{static_cast<std::uint32_t>(command), word});
  }

  // Writes the words whose symbols have changed. After an error the next call writes all of them.
  Status resolve(std::uint32_t table, const std::vector<SymbolEntry>& entries);

  const QueueType type;
  Status status;
  std::vector<Command> commands;
  std::vector<std::uint64_t> args;  // each command's begin at a multiple of kArgsBlockWords
  std::size_t packets = 0;          // of all commands

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
