// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Comparisons: v_cmp_* and v_cmpx_*, which differ in the destination of their mask.
#include "simulation/hip/gfx/float_bits.h"
#include "simulation/hip/gfx/half.h"
#include "simulation/hip/gfx/lanes.h"

namespace halyard::inline v0::sim::gfx::HALYARD_GFX_ISA {
namespace {

// The two opcodes of a comparison.
struct Comparison {
  Opcode compare, and_exec;
};
#define HALYARD_COMPARISON(name) \
  Comparison { Opcode::v_cmp_##name, Opcode::v_cmpx_##name }

void set(LaneOperations& o, Comparison comparison, const LaneOperation& operation) {
  o[comparison.compare] = operation;
  o[comparison.and_exec] = operation;
}

// v_cmp_class_*: bits of the mask `classes`, by the classes of the number.
template <class T>
std::uint32_t class_of(BitsOf<T> bits) {
  const bool negative = (bits & kSignBit<T>) != 0;
  const BitsOf<T> magnitude = bits & ~kSignBit<T>;
  if (magnitude > kInfinityBits<T>) return (magnitude & kQuietBit<T>) == 0 ? 0 : 1;
  if (magnitude == kInfinityBits<T>) return negative ? 2 : 9;
  if (magnitude >> FloatBits<T>::kFraction != 0) return negative ? 3 : 8;
  if (magnitude != 0) return negative ? 4 : 7;
  return negative ? 5 : 6;
}
std::uint32_t class_of(F16 a) {
  const bool negative = (a.bits & 0x8000u) != 0;
  const unsigned magnitude = a.bits & 0x7fffu;
  if (magnitude > 0x7c00u) return is_signaling(a) ? 0 : 1;
  if (magnitude == 0x7c00u) return negative ? 2 : 9;
  if (magnitude >= 0x400u) return negative ? 3 : 8;
  if (magnitude != 0) return negative ? 4 : 7;
  return negative ? 5 : 6;
}

template <class T>
auto comparable(T a) {
  if constexpr (std::is_same_v<T, F16>) {
    return to_float(a);
  } else {
    return a;
  }
}

#define HALYARD_COMPARE(T, name, expression)                     \
  set(o, HALYARD_COMPARISON(name), lanes([](T first, T second) { \
        [[maybe_unused]] const auto a = comparable(first);       \
        [[maybe_unused]] const auto b = comparable(second);      \
        return static_cast<bool>(expression);                    \
      }))

#define HALYARD_COMPARE_INTEGERS(T, suffix) \
  HALYARD_COMPARE(T, lt_##suffix, a < b);   \
  HALYARD_COMPARE(T, eq_##suffix, a == b);  \
  HALYARD_COMPARE(T, le_##suffix, a <= b);  \
  HALYARD_COMPARE(T, gt_##suffix, a > b);   \
  HALYARD_COMPARE(T, ne_##suffix, a != b);  \
  HALYARD_COMPARE(T, ge_##suffix, a >= b)
#define HALYARD_COMPARE_CONSTANT(T, suffix) \
  HALYARD_COMPARE(T, f_##suffix, false);    \
  HALYARD_COMPARE(T, t_##suffix, true)
#define HALYARD_COMPARE_FLOATS(T, suffix)              \
  HALYARD_COMPARE(T, lt_##suffix, a < b);              \
  HALYARD_COMPARE(T, eq_##suffix, a == b);             \
  HALYARD_COMPARE(T, le_##suffix, a <= b);             \
  HALYARD_COMPARE(T, gt_##suffix, a > b);              \
  HALYARD_COMPARE(T, lg_##suffix, a<b || a> b);        \
  HALYARD_COMPARE(T, ge_##suffix, a >= b);             \
  HALYARD_COMPARE(T, o_##suffix, a == a && b == b);    \
  HALYARD_COMPARE(T, u_##suffix, a != a || b != b);    \
  HALYARD_COMPARE(T, nge_##suffix, !(a >= b));         \
  HALYARD_COMPARE(T, nlg_##suffix, !(a < b || a > b)); \
  HALYARD_COMPARE(T, ngt_##suffix, !(a > b));          \
  HALYARD_COMPARE(T, nle_##suffix, !(a <= b));         \
  HALYARD_COMPARE(T, neq_##suffix, a != b);            \
  HALYARD_COMPARE(T, nlt_##suffix, !(a < b));          \
  HALYARD_COMPARE_CONSTANT(T, suffix)

void add_integers(LaneOperations& o) {
  HALYARD_COMPARE_INTEGERS(std::int16_t, i16);
  HALYARD_COMPARE_INTEGERS(std::uint16_t, u16);
  HALYARD_COMPARE_INTEGERS(std::int32_t, i32);
  HALYARD_COMPARE_INTEGERS(std::uint32_t, u32);
  HALYARD_COMPARE_INTEGERS(std::int64_t, i64);
  HALYARD_COMPARE_INTEGERS(std::uint64_t, u64);
  HALYARD_COMPARE_CONSTANT(std::int32_t, i32);
  HALYARD_COMPARE_CONSTANT(std::uint32_t, u32);
  HALYARD_COMPARE_CONSTANT(std::int64_t, i64);
  HALYARD_COMPARE_CONSTANT(std::uint64_t, u64);
}

void add_floats(LaneOperations& o) {
  HALYARD_COMPARE_FLOATS(F16, f16);
  HALYARD_COMPARE_FLOATS(float, f32);
  HALYARD_COMPARE_FLOATS(double, f64);
  set(o, HALYARD_COMPARISON(class_f16),
      lanes([](F16 a, std::uint16_t classes) { return (classes >> class_of(a) & 1) != 0; }));
  set(o, HALYARD_COMPARISON(class_f32), lanes([](float a, std::uint32_t classes) {
        return (classes >> class_of<float>(std::bit_cast<std::uint32_t>(a)) & 1) != 0;
      }));
  set(o, HALYARD_COMPARISON(class_f64), lanes([](double a, std::uint32_t classes) {
        return (classes >> class_of<double>(std::bit_cast<std::uint64_t>(a)) & 1) != 0;
      }));
}

}  // namespace

void add_compare(LaneOperations& operations) {
  add_integers(operations);
  add_floats(operations);
}

}  // namespace halyard::inline v0::sim::gfx::HALYARD_GFX_ISA
