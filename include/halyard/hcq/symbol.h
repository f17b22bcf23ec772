// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// hcq::Symbol: a word of a queue that is known only when the queue is submitted.
//
//   SymbolTable symbols;
//   const Symbol v = symbols.add(1);
//   q.wait(signal, v - 1).exec(program, args, {64, 1, 1}, local).signal(signal, v);
//   for (std::uint64_t n = 1; n <= 100; ++n) {
//     symbols.set(v, n);
//     check(q.submit(device, symbols));
//   }
//
// A queue keeps what it wrote last for each symbol: a submission writes only the words whose symbol
// has changed since, however long the queue is.
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
// The value of a symbol; of a signal: its address.
struct SymbolEntry {
  std::uint64_t value;
  Signal signal;
};
}  // namespace detail

// A number; belongs to the table that made it.
class Symbol {
 private:
  friend class SymbolTable;
  friend class Operand;
  Symbol(std::uint32_t table, std::uint32_t index) noexcept : table_(table), index_(index) {}
  std::uint32_t table_;
  std::uint32_t index_;
};

// A signal; belongs to the table that made it.
class SignalSymbol {
 private:
  friend class SymbolTable;
  friend class SignalOperand;
  SignalSymbol(std::uint32_t table, std::uint32_t index) noexcept : table_(table), index_(index) {}
  std::uint32_t table_;
  std::uint32_t index_;
};

// What a command takes where a number may be symbolic: a constant, or symbol + constant (modulo
// 2^64), or the low or high 32 bits of one.
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
  // For a symbol of value `value`; a constant ignores it.
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

// The same for a signal.
class SignalOperand {
 public:
  SignalOperand(const Signal& signal) noexcept : signal_(signal) {}
  SignalOperand(SignalSymbol symbol) noexcept : table_(symbol.table_), index_(symbol.index_) {}

  bool symbolic() const noexcept { return table_ != 0; }
  std::uint32_t table() const noexcept { return table_; }
  std::uint32_t index() const noexcept { return index_; }
  const Signal& signal() const noexcept { return signal_; }  // of a constant

 private:
  Signal signal_;
  std::uint32_t table_ = 0;
  std::uint32_t index_ = 0;
};

// The values of symbols. Used by one thread at a time; submissions read it and keep nothing of it.
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
  // May be empty until it is set; a submission that needs an empty one is kInvalidArgument.
  SignalSymbol add(const Signal& signal);

  // Precondition: the symbol is this table's.
  void set(Symbol symbol, std::uint64_t value) noexcept;
  void set(SignalSymbol symbol, const Signal& signal) noexcept;
  std::uint64_t get(Symbol symbol) const noexcept { return entries_[symbol.index_].value; }

 private:
  friend class CommandQueue;
  std::uint32_t id_;  // 0: moved from
  std::vector<detail::SymbolEntry> entries_;
};

}  // namespace halyard::inline v0::hcq
