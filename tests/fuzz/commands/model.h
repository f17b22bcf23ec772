// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A model of the results and effects of commands: follows the wording of the public headers, for
// one thread, with an array as memory. program.h compares the runtime with it.
//
// If a call breaks several rules, the headers do not define which error it returns, so a result is
// a set.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "halyard/base/status.h"
#include "halyard/hal/types.h"
#include "halyard/kernel/types.h"

namespace halyard::fuzz {

// The codes that a call may return; empty if it must succeed.
class Codes {
 public:
  Codes() = default;
  Codes(StatusCode code) : bits_(1u << static_cast<int>(code)) {}
  Codes& operator|=(Codes other) { return bits_ |= other.bits_, *this; }
  void add_if(bool broken, StatusCode code) {
    if (broken) *this |= code;
  }
  bool none() const { return bits_ == 0; }
  bool allow(const Status& status) const {
    return status.ok() ? none() : (bits_ >> static_cast<int>(status.code()) & 1) != 0;
  }
  std::string to_string() const;

 private:
  std::uint32_t bits_ = 0;
};

struct Memory {
  std::vector<std::uint8_t> bytes;
  bool deallocated = false;
};

// A handle of a buffer, which is a part of a memory.
struct Buffer {
  enum class Kind : std::uint8_t { kEmpty, kForeign, kGood } kind = Kind::kEmpty;
  std::size_t memory = 0;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

// An argument of a call: a range of buffer `index`, or slot `index` of the table.
struct Ref {
  bool is_slot = false;
  std::uint32_t index = 0;
  std::uint64_t offset = 0;
  std::uint64_t length = hal::kWholeSize;
};

// A resolved Ref: a range of a memory, from its start, or of a slot; kWholeSize only for a slot.
struct Place {
  bool is_slot = false;
  std::size_t index = 0;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};

// True as well for two slots, or a slot and a memory, because they may overlap.
bool overlap(const Place& a, const Place& b);

enum class KernelKind : std::uint8_t { kAddEach, kMix };

struct Command {
  enum class Kind : std::uint8_t { kFill, kUpdate, kCopy, kDispatch } kind = Kind::kFill;
  // The range that it writes, then those it reads; for mix: y, a, b.
  std::vector<Place> places;
  std::optional<Place> counts;
  std::uint32_t pattern = 0;
  std::uint32_t pattern_size = 0;
  std::vector<std::uint8_t> data;
  KernelKind kernel = KernelKind::kAddEach;
  std::uint32_t amount = 0;
  std::uint32_t n = 0;
  // The constant slots of these two, if they have one.
  std::optional<std::uint32_t> amount_slot, n_slot;
  std::array<std::uint64_t, 3> groups{};
};

// Requirements of a recording's commands on an entry of the table.
struct SlotNeed {
  bool used = false;
  std::uint64_t extent = 0;
  std::uint64_t alignment = 1;
  std::uint64_t length_multiple = 1;
};

// A binding of a kernel or a set, and its access.
struct Binding {
  std::uint32_t number;
  kernel::Access access;
};
using SetLayout = std::vector<Binding>;  // ascending
struct Layout {
  std::vector<SetLayout> sets;
  std::uint32_t push_size;
};
bool same(const SetLayout& a, const SetLayout& b);

using Descriptors = std::vector<std::pair<std::uint32_t, Ref>>;

class Model {
 public:
  std::vector<Memory> memories;
  std::vector<Buffer> buffers;

  // Resolves a range or slot without a command.
  Codes resolve(const Ref& ref, Place& place) const;

  // Each returns the required result of the call, and completes `command` on success. The command's
  // places are out parameters; its other members are inputs.
  Codes fill(const Ref& target, Command& command) const;
  Codes update(const Ref& target, Command& command) const;
  Codes copy(const Ref& source, const Ref& target, Command& command) const;
  Codes bindings(std::span<const Ref> refs, Command& command) const;
  Codes counts(const Ref& ref, Command& command) const;

  // A set with this layout; `refs`, in the layout's order, is an out parameter.
  Codes set(const SetLayout& layout, const Descriptors& descriptors, std::vector<Ref>& refs) const;

  // Runs a command with this table, and these numbers for its constant slots. False if it must not
  // run on a device: a kernel would exceed its memory, two of its items would conflict, or the
  // counts that it reads are large.
  bool run(const Command& command, std::span<const Place> table,
           std::span<const std::uint32_t> numbers);
};

// The workgroups of `grid`, for kernels with groups of 16 x 1 x 1.
Codes resolve_grid(const hal::Grid& grid, const std::uint32_t (&most)[3], Command& command);

// The bindings of a kernel, numbered from 0.
std::span<const Binding> bindings_of(KernelKind kernel);

// The bound state of a recorder, for dispatches without bindings of their own.
class Bound {
 public:
  void bind(const Layout& layout, std::size_t set, std::vector<Ref> refs);
  void push(const Layout& layout, std::size_t offset, std::span<const std::uint8_t> bytes);

  // Result of a dispatch of `kernel` with it; `refs` and the constants are out parameters.
  Codes use(KernelKind kernel, std::vector<Ref>& refs, Command& command) const;

 private:
  void follow(const Layout& layout);

  struct Set {
    std::vector<SetLayout> under;  // the layouts of this set and of those below
    std::vector<Ref> refs;
  };
  std::optional<Layout> layout_;  // of the latest call
  std::map<std::size_t, Set> sets_;
  std::map<std::size_t, std::uint8_t> pushed_;  // byte by byte
};

class Recording {
 public:
  std::vector<Command> commands;
  std::vector<SlotNeed> slots;
  std::vector<bool> constant_slots;  // whether a command uses it

  void add(Command command);
  // Result of binding a table for it; stores the resolved entries in `table`.
  Codes bind(const Model& model, std::span<const Ref> entries, std::vector<Place>& table) const;
  bool dispatches() const;

 private:
  void need(const Place& place, std::uint64_t alignment, std::uint64_t length_multiple);
};

}  // namespace halyard::fuzz
