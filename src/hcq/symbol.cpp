// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "halyard/hcq/symbol.h"

#include <cassert>

#include "base/atomic.h"
#include "hcq/signal_object.h"

namespace halyard::inline v0::hcq {
namespace {

std::uint64_t address(const Signal& signal) noexcept {
  return reinterpret_cast<std::uintptr_t>(signal.object());
}

}  // namespace

SymbolTable::SymbolTable() noexcept {
  static constinit base::Atomic<std::uint32_t> last_id{0};
  id_ = last_id.fetch_add(1, std::memory_order_relaxed) + 1;
}

Symbol SymbolTable::add(std::uint64_t value) {
  entries_.push_back({value, {}});
  return {id_, static_cast<std::uint32_t>(entries_.size() - 1)};
}

SignalSymbol SymbolTable::add(const Signal& signal) {
  entries_.push_back({address(signal), signal});
  return {id_, static_cast<std::uint32_t>(entries_.size() - 1)};
}

void SymbolTable::set(Symbol symbol, std::uint64_t value) noexcept {
  assert(symbol.table_ == id_);
  entries_[symbol.index_].value = value;
}

void SymbolTable::set(SignalSymbol symbol, const Signal& signal) noexcept {
  assert(symbol.table_ == id_);
  entries_[symbol.index_] = {address(signal), signal};
}

}  // namespace halyard::inline v0::hcq
