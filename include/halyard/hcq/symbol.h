// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// hcq::Symbol: a word of a queue whose value comes with the submission.
//
//   SymbolTable symbols;
//   const Symbol v = symbols.add(1);
//   q.wait(signal, v - 1).exec(program, args, {64, 1, 1}, local).signal(signal, v);
//   for (std::uint64_t n = 1; n <= 100; ++n) {
//     symbols.set(v, n);
//     check(q.submit(device, symbols));
//   }
//
// A submission writes only the words whose symbol has changed since the queue's last one, however
// long the queue is.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "halyard/base/export.h"
#include "halyard/base/ref.h"
#include "halyard/base/status.h"
#include "halyard/hcq/signal.h"

namespace halyard::inline v0::hcq {

namespace detail {
// The value of a symbol; for a signal, its address.
struct SymbolEntry {
  std::uint64_t value;
  Signal signal;
};
}  // namespace detail

// A number. Belongs to the table that created it.
class Symbol {
 private:
  friend class SymbolTable;
  friend class Operand;
  Symbol(std::uint32_t table, std::uint32_t index) noexcept : table_(table), index_(index) {}
  std::uint32_t table_;
  std::uint32_t index_;
};

// A signal. Belongs to the table that created it.
class SignalSymbol {
 private:
  friend class SymbolTable;
  friend class SignalOperand;
  SignalSymbol(std::uint32_t table, std::uint32_t index) noexcept : table_(table), index_(index) {}
  std::uint32_t table_;
  std::uint32_t index_;
};

// A number of a command: a constant, symbol + constant (modulo 2^64), or the low or high 32 bits of
// either.
class Operand {
 public:
  enum class Part : std::uint8_t { kAll, kLow, kHigh };

  Operand(std::uint64_t constant) noexcept : addend_(constant) {}
  Operand(Symbol symbol) noexcept : table_(symbol.table_), index_(symbol.index_) {}

  friend Operand operator+(Operand operand, std::uint64_t constant) noexcept {
    operand.addend_ += constant;
    return operand;
  }
  friend Operand operator-(Operand operand, std::uint64_t constant) noexcept {
    return operand + (0 - constant);
  }
  friend Operand low(Operand operand) noexcept { return operand.part(Part::kLow); }
  friend Operand high(Operand operand) noexcept { return operand.part(Part::kHigh); }

  bool symbolic() const noexcept { return table_ != 0; }
  std::uint32_t table() const noexcept { return table_; }
  std::uint32_t index() const noexcept { return index_; }
  // The number, where `value` is the symbol's. A constant ignores it.
  std::uint64_t resolve(std::uint64_t value = 0) const noexcept {
    const std::uint64_t all = (symbolic() ? value : 0) + addend_;
    return part_ == Part::kAll ? all : part_ == Part::kLow ? all & 0xffff'ffffu : all >> 32;
  }

 private:
  Operand part(Part part) const noexcept {
    Operand result = *this;
    result.part_ = part;
    return result;
  }
  std::uint64_t addend_ = 0;
  std::uint32_t table_ = 0;  // 0: a constant
  std::uint32_t index_ = 0;
  Part part_ = Part::kAll;
};

Operand operator+(Operand operand, std::uint64_t constant) noexcept;
Operand operator-(Operand operand, std::uint64_t constant) noexcept;
Operand low(Operand operand) noexcept;
Operand high(Operand operand) noexcept;

// A signal of a command: a constant or a symbol.
class SignalOperand {
 public:
  SignalOperand(const Signal& signal) noexcept : signal_(signal) {}
  SignalOperand(SignalSymbol symbol) noexcept : table_(symbol.table_), index_(symbol.index_) {}

  bool symbolic() const noexcept { return table_ != 0; }
  std::uint32_t table() const noexcept { return table_; }
  std::uint32_t index() const noexcept { return index_; }
  const Signal& signal() const noexcept { return signal_; }  // only if not symbolic

 private:
  Signal signal_;
  std::uint32_t table_ = 0;
  std::uint32_t index_ = 0;
};

// The values of symbols. One thread at a time; a submission reads the table and keeps no reference
// to it.
class HALYARD_EXPORT SymbolTable {
 public:
  SymbolTable() noexcept;
  SymbolTable(SymbolTable&& other) noexcept
      : id_(std::exchange(other.id_, 0)), entries_(std::move(other.entries_)) {}
  SymbolTable& operator=(SymbolTable&& other) noexcept {
    id_ = std::exchange(other.id_, 0);
    entries_ = std::move(other.entries_);
    return *this;
  }
  SymbolTable(const SymbolTable&) = delete;
  SymbolTable& operator=(const SymbolTable&) = delete;

  Symbol add(std::uint64_t value = 0);
  // `signal` may be empty until it is set. A submission that needs an empty one is
  // kInvalidArgument.
  SignalSymbol add(const Signal& signal);

  // Precondition: the symbol belongs to this table.
  void set(Symbol symbol, std::uint64_t value) noexcept;
  void set(SignalSymbol symbol, const Signal& signal) noexcept;
  std::uint64_t get(Symbol symbol) const noexcept { return entries_[symbol.index_].value; }

 private:
  friend class CommandQueue;
  std::uint32_t id_;  // 0: moved from
  std::vector<detail::SymbolEntry> entries_;
};

}  // namespace halyard::inline v0::hcq
