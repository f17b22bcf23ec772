// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// atom and red: atomic for all host threads, so blocks may run on several of them.
#include <optional>
#include <string>

#include "simulation/cuda/ptx/access.h"
#include "simulation/cuda/ptx/half.h"
#include "simulation/cuda/ptx/lowering.h"

namespace halyard::inline v0::sim::ptx {
namespace {

using isa_base::BfloatFormat;
using isa_base::HalfFormat;

enum class Operation : std::uint8_t { kAdd, kMin, kMax, kInc, kDec, kAnd, kOr, kXor, kExch, kCas };

// Adds halves packed in a word.
template <class Format, class Word>
Word add_halves(Word a, Word b) {
  Word result = 0;
  for (unsigned i = 0; i < sizeof(Word) / 2; ++i) {
    const auto half = [&](Word word) {
      return Format::to_float(static_cast<std::uint16_t>(word >> (16 * i)));
    };
    result = static_cast<Word>(result | static_cast<Word>(Format::from_float(half(a) + half(b)))
                                            << (16 * i));
  }
  return result;
}

// Word: the type in memory. T: the type of the computation.
template <class Word, class T, Operation Op>
Word apply(Word old, Word b) {
  if constexpr (Op == Operation::kExch) return b;
  if constexpr (Op == Operation::kAnd) return old & b;
  if constexpr (Op == Operation::kOr) return old | b;
  if constexpr (Op == Operation::kXor) return old ^ b;
  if constexpr (Op == Operation::kInc) return old >= b ? Word{0} : static_cast<Word>(old + 1);
  if constexpr (Op == Operation::kDec) return old == 0 || old > b ? b : static_cast<Word>(old - 1);
  if constexpr (Op == Operation::kMin) return static_cast<T>(old) < static_cast<T>(b) ? old : b;
  if constexpr (Op == Operation::kMax) return static_cast<T>(old) > static_cast<T>(b) ? old : b;
  if constexpr (Op == Operation::kAdd) {
    if constexpr (std::is_same_v<T, HalfFormat> || std::is_same_v<T, BfloatFormat>) {
      return add_halves<T>(old, b);
    } else if constexpr (std::is_floating_point_v<T>) {
      return std::bit_cast<Word>(std::bit_cast<T>(old) + std::bit_cast<T>(b));
    } else {
      return static_cast<Word>(old + b);
    }
  }
  return old;
}

template <class Word, class T, Operation Op>
void update(Warp& warp, const Ins& ins) {
  Addresses addresses;
  compute_addresses(warp, ins, addresses);
  const Word* const b = warp.in<Word>(ins.b);
  Word* const d = warp.at<Word>(ins.d);
  for (LaneMask mask = warp.exec; mask != 0; mask &= mask - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(mask));
    std::byte* const bytes =
        warp.resolve(ins, ins.space, addresses.at[lane], sizeof(Word), Warp::Access::kAtomic, lane);
    if (bytes == nullptr) return;
    auto* const word = reinterpret_cast<Word*>(bytes);
    Word old = __atomic_load_n(word, __ATOMIC_RELAXED);
    if constexpr (Op == Operation::kCas) {
      const Word wanted = warp.in<Word>(ins.c)[lane];
      const Word expected = b[lane];
      old = expected;
      __atomic_compare_exchange_n(word, &old, wanted, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    } else {
      while (!__atomic_compare_exchange_n(word, &old, apply<Word, T, Op>(old, b[lane]), true,
                                          __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
      }
    }
    d[lane] = old;
  }
}

template <class Word, class T>
Handler pick_operation(Operation operation) {
  switch (operation) {
    case Operation::kAdd:
      return update<Word, T, Operation::kAdd>;
    case Operation::kMin:
      return update<Word, T, Operation::kMin>;
    case Operation::kMax:
      return update<Word, T, Operation::kMax>;
    case Operation::kInc:
      return update<Word, T, Operation::kInc>;
    case Operation::kDec:
      return update<Word, T, Operation::kDec>;
    case Operation::kAnd:
      return update<Word, T, Operation::kAnd>;
    case Operation::kOr:
      return update<Word, T, Operation::kOr>;
    case Operation::kXor:
      return update<Word, T, Operation::kXor>;
    case Operation::kExch:
      return update<Word, T, Operation::kExch>;
    case Operation::kCas:
      return update<Word, T, Operation::kCas>;
  }
  return nullptr;
}

Handler pick(Operation operation, Type type) {
  const bool is_add = operation == Operation::kAdd;
  switch (type.kind) {
    case Kind::kFloat:
      if (!is_add) return nullptr;
      return type.bytes == 2   ? update<std::uint16_t, HalfFormat, Operation::kAdd>
             : type.bytes == 4 ? update<std::uint32_t, float, Operation::kAdd>
                               : update<std::uint64_t, double, Operation::kAdd>;
    case Kind::kHalf2:
      return is_add ? update<std::uint32_t, HalfFormat, Operation::kAdd> : nullptr;
    case Kind::kBfloat:
      return is_add ? update<std::uint16_t, BfloatFormat, Operation::kAdd> : nullptr;
    case Kind::kBfloat2:
      return is_add ? update<std::uint32_t, BfloatFormat, Operation::kAdd> : nullptr;
    default:
      break;
  }
  if (!type.is_integer()) return nullptr;
  const bool is_exchange = operation == Operation::kCas || operation == Operation::kExch;
  switch (type.bytes) {
    case 2:
      return operation == Operation::kCas ? update<std::uint16_t, std::uint16_t, Operation::kCas>
                                          : nullptr;
    case 4:
      if (type.kind == Kind::kBits && !is_exchange && operation < Operation::kAnd) return nullptr;
      return type.is_signed() ? pick_operation<std::uint32_t, std::int32_t>(operation)
                              : pick_operation<std::uint32_t, std::uint32_t>(operation);
    case 8:
      if (type.kind == Kind::kBits && !is_exchange && operation < Operation::kAnd) return nullptr;
      return type.is_signed() ? pick_operation<std::uint64_t, std::int64_t>(operation)
                              : pick_operation<std::uint64_t, std::uint64_t>(operation);
  }
  return nullptr;
}

}  // namespace

bool lower_atomic(Lowering& lowering) {
  const bool is_atom = lowering.opcode() == "atom";
  if (!is_atom && lowering.opcode() != "red") return false;
  if (lowering.has_modifier("async")) return false;
  constexpr std::string_view kIgnored[] = {"relaxed", "acquire", "release", "acq_rel", "cta",
                                           "cluster", "gpu",     "sys",     "noftz"};
  while (lowering.take_any(kIgnored)) {
  }
  const bool has_hint = lowering.take("L2::cache_hint");
  const auto space = take_space(lowering);
  constexpr std::string_view kNames[] = {"add", "min", "max", "inc",  "dec",
                                         "and", "or",  "xor", "exch", "cas"};
  std::optional<Operation> operation;
  for (std::uint8_t i = 0; i < 10; ++i) {
    if (lowering.take(kNames[i])) operation = static_cast<Operation>(i);
  }
  if (!operation) lowering.fail_modifier();
  const Type type = lowering.take_type();
  Ins ins;
  ins.run = pick(*operation, type);
  if (ins.run == nullptr) lowering.fail_modifier();
  const bool is_cas = *operation == Operation::kCas;
  const std::size_t first = is_atom ? 1 : 0;
  const std::size_t count = first + (is_cas ? 3 : 2);
  lowering.expect_operands(count, count + (has_hint ? 1 : 0));
  ins.d = is_atom ? lowering.target(lowering.operand(0), type) : slot_of(Base::kSink, 0);
  lowering.address(lowering.operand(first), ins, space);
  ins.b = lowering.source(lowering.operand(first + 1), type);
  if (is_cas) ins.c = lowering.source(lowering.operand(first + 2), type);
  lowering.emit(ins);
  return true;
}

}  // namespace halyard::inline v0::sim::ptx
