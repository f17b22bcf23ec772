// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations of the scalar unit on values (manual, 16.1 to 16.4).
#include <algorithm>
#include <bit>
#include <limits>

#include "simulation/hip/gfx/machine.h"

namespace halyard::inline v0::sim::gfx {
namespace {

using u32 = std::uint32_t;
using i32 = std::int32_t;
using u64 = std::uint64_t;
using i64 = std::int64_t;

// Operands and results of a handler.
struct Scalar {
  Wave& wave;
  const Instruction& from;

  u32 a() const { return wave.read32(from.sources[0]); }
  u32 b() const { return wave.read32(from.sources[1]); }
  u64 wide_a() const { return wave.read64(from.sources[0]); }
  u64 wide_b() const { return wave.read64(from.sources[1]); }
  u32 old() const { return wave.scalar(from.destination.index); }
  u64 wide_old() const { return wave.scalar64(from.destination.index); }
  void set(u32 value) const { wave.set_scalar(from.destination.index, value); }
  void set(i32 value) const { set(static_cast<u32>(value)); }
  void set64(u64 value) const { wave.set_scalar64(from.destination.index, value); }
  // Sets the result, and SCC if it is not 0.
  void set_test(u32 value) const {
    set(value);
    wave.scc = value != 0;
  }
  void set_test64(u64 value) const {
    set64(value);
    wave.scc = value != 0;
  }
  void set_with(u32 value, bool scc) const {
    set(value);
    wave.scc = scc;
  }
};

template <auto F>
void run(Wave& wave, const Ins& ins) {
  F(Scalar{wave, *ins.from});
}

i32 as_signed(u32 value) { return static_cast<i32>(value); }
i64 as_signed(u64 value) { return static_cast<i64>(value); }

bool add_overflows(u32 a, u32 b, u32 sum) { return ((~(a ^ b)) & (a ^ sum)) >> 31 != 0; }
bool subtract_overflows(u32 a, u32 b, u32 difference) {
  return ((a ^ b) & (a ^ difference)) >> 31 != 0;
}

u64 reversed(u64 value) {
  u64 result = 0;
  for (unsigned i = 0; i < 64; ++i) result |= (value >> i & 1) << (63 - i);
  return result;
}

template <class T>
T extracted(T value, u32 field, unsigned offset_bits) {
  constexpr unsigned kBits = 8 * sizeof(T);
  const unsigned offset = field & ((1u << offset_bits) - 1);
  const unsigned width = std::min(field >> 16 & 0x7f, kBits);
  using Unsigned = std::make_unsigned_t<T>;
  const T shifted = static_cast<T>(value >> offset);
  if (width == 0) return 0;
  const unsigned unused = kBits - width;
  return static_cast<T>(static_cast<T>(static_cast<Unsigned>(shifted) << unused) >> unused);
}

// Bit i of the result is set if any of bits 4 i to 4 i + 3 is set.
u64 quads(u64 value) {
  u64 result = 0;
  for (unsigned i = 0; i < 16; ++i) result |= u64{(value >> (4 * i) & 15) != 0} << i;
  return result;
}
// Sets all bits of each quad that has a set bit.
u64 whole_quads(u64 value) {
  u64 result = 0;
  for (unsigned i = 0; i < 64; i += 4) result |= (value >> i & 15) != 0 ? u64{15} << i : 0;
  return result;
}
u64 replicated(u32 value) {
  u64 result = 0;
  for (unsigned i = 0; i < 32; ++i) result |= u64{(value >> i & 1) * 3} << (2 * i);
  return result;
}
template <class T>
i32 leading_sign_bits(T value) {
  const auto changes = static_cast<std::make_unsigned_t<T>>(value ^ (value >> (8 * sizeof(T) - 1)));
  return changes == 0 ? -1 : std::countl_zero(changes);
}

// Saves EXEC, then combines it with the operand. The 64-bit form includes EXEC's high half.
template <auto F>
void save_exec32(const Scalar& x) {
  const u32 old = x.wave.exec();
  const u32 result = F(x.a(), old);
  x.set(old);
  x.wave.exec() = result;
  x.wave.scc = result != 0;
}
template <auto F>
void save_exec64(const Scalar& x) {
  const u64 old = x.wave.scalar64(kExecLow);
  const u64 result = F(x.wide_a(), old);
  x.set64(old);
  x.wave.set_scalar64(kExecLow, result);
  x.wave.scc = result != 0;
}
template <auto F>
void write_exec32(const Scalar& x) {
  const u32 result = F(x.a(), x.wave.exec());
  x.wave.exec() = result;
  x.set(result);
  x.wave.scc = result != 0;
}
template <auto F>
void write_exec64(const Scalar& x) {
  const u64 result = F(x.wide_a(), x.wave.scalar64(kExecLow));
  x.wave.set_scalar64(kExecLow, result);
  x.set64(result);
  x.wave.scc = result != 0;
}

Handler arithmetic_handler(Opcode opcode) {
  switch (opcode) {
    case Opcode::s_add_u32:
      return run<[](Scalar x) {
        const u32 a = x.a(), sum = a + x.b();
        x.set_with(sum, sum < a);
      }>;
    case Opcode::s_sub_u32:
      return run<[](Scalar x) {
        const u32 a = x.a(), b = x.b();
        x.set_with(a - b, a < b);
      }>;
    case Opcode::s_add_i32:
    case Opcode::s_addk_i32:
      return run<[](Scalar x) {
        const u32 a = x.a(), b = x.b();
        x.set_with(a + b, add_overflows(a, b, a + b));
      }>;
    case Opcode::s_sub_i32:
      return run<[](Scalar x) {
        const u32 a = x.a(), b = x.b();
        x.set_with(a - b, subtract_overflows(a, b, a - b));
      }>;
    case Opcode::s_addc_u32:
      return run<[](Scalar x) {
        const u64 sum = u64{x.a()} + x.b() + u64{x.wave.scc};
        x.set_with(static_cast<u32>(sum), sum >> 32 != 0);
      }>;
    case Opcode::s_subb_u32:
      return run<[](Scalar x) {
        const i64 difference = i64{x.a()} - i64{x.b()} - i64{x.wave.scc};
        x.set_with(static_cast<u32>(difference), difference < 0);
      }>;
    case Opcode::s_absdiff_i32:
      return run<[](Scalar x) {
        const u32 difference = x.a() - x.b();
        x.set_test(as_signed(difference) < 0 ? 0 - difference : difference);
      }>;
    case Opcode::s_abs_i32:
      return run<[](Scalar x) { x.set_test(as_signed(x.a()) < 0 ? 0 - x.a() : x.a()); }>;
    case Opcode::s_min_i32:
      return run<[](Scalar x) {
        const i32 a = as_signed(x.a()), b = as_signed(x.b());
        x.set_with(static_cast<u32>(std::min(a, b)), a < b);
      }>;
    case Opcode::s_min_u32:
      return run<[](Scalar x) { x.set_with(std::min(x.a(), x.b()), x.a() < x.b()); }>;
    case Opcode::s_max_i32:
      return run<[](Scalar x) {
        const i32 a = as_signed(x.a()), b = as_signed(x.b());
        x.set_with(static_cast<u32>(std::max(a, b)), a >= b);
      }>;
    case Opcode::s_max_u32:
      return run<[](Scalar x) { x.set_with(std::max(x.a(), x.b()), x.a() >= x.b()); }>;
    case Opcode::s_mul_i32:
    case Opcode::s_mulk_i32:
      return run<[](Scalar x) { x.set(x.a() * x.b()); }>;
    case Opcode::s_mul_hi_u32:
      return run<[](Scalar x) { x.set(static_cast<u32>(u64{x.a()} * x.b() >> 32)); }>;
    case Opcode::s_mul_hi_i32:
      return run<[](Scalar x) {
        x.set(static_cast<u32>(i64{as_signed(x.a())} * as_signed(x.b()) >> 32));
      }>;
    default:
      return nullptr;
  }
}

template <unsigned kShift>
void shift_add(const Scalar& x) {
  const u64 sum = (u64{x.a()} << kShift) + x.b();
  x.set_with(static_cast<u32>(sum), sum >> 32 != 0);
}

Handler shift_handler(Opcode opcode) {
  switch (opcode) {
    case Opcode::s_lshl_b32:
      return run<[](Scalar x) { x.set_test(x.a() << (x.b() & 31)); }>;
    case Opcode::s_lshl_b64:
      return run<[](Scalar x) { x.set_test64(x.wide_a() << (x.b() & 63)); }>;
    case Opcode::s_lshr_b32:
      return run<[](Scalar x) { x.set_test(x.a() >> (x.b() & 31)); }>;
    case Opcode::s_lshr_b64:
      return run<[](Scalar x) { x.set_test64(x.wide_a() >> (x.b() & 63)); }>;
    case Opcode::s_ashr_i32:
      return run<[](Scalar x) { x.set_test(static_cast<u32>(as_signed(x.a()) >> (x.b() & 31))); }>;
    case Opcode::s_ashr_i64:
      return run<[](Scalar x) {
        x.set_test64(static_cast<u64>(as_signed(x.wide_a()) >> (x.b() & 63)));
      }>;
    case Opcode::s_lshl1_add_u32:
      return run<shift_add<1>>;
    case Opcode::s_lshl2_add_u32:
      return run<shift_add<2>>;
    case Opcode::s_lshl3_add_u32:
      return run<shift_add<3>>;
    case Opcode::s_lshl4_add_u32:
      return run<shift_add<4>>;
    case Opcode::s_bfe_u32:
      return run<[](Scalar x) { x.set_test(extracted<u32>(x.a(), x.b(), 5)); }>;
    case Opcode::s_bfe_i32:
      return run<[](Scalar x) {
        x.set_test(static_cast<u32>(extracted<i32>(as_signed(x.a()), x.b(), 5)));
      }>;
    case Opcode::s_bfe_u64:
      return run<[](Scalar x) { x.set_test64(extracted<u64>(x.wide_a(), x.b(), 6)); }>;
    case Opcode::s_bfe_i64:
      return run<[](Scalar x) {
        x.set_test64(static_cast<u64>(extracted<i64>(as_signed(x.wide_a()), x.b(), 6)));
      }>;
    case Opcode::s_bfm_b32:
      return run<[](Scalar x) { x.set(((1u << (x.a() & 31)) - 1) << (x.b() & 31)); }>;
    case Opcode::s_bfm_b64:
      return run<[](Scalar x) { x.set64(((u64{1} << (x.a() & 63)) - 1) << (x.b() & 63)); }>;
    case Opcode::s_pack_ll_b32_b16:
      return run<[](Scalar x) { x.set((x.a() & 0xffff) | x.b() << 16); }>;
    case Opcode::s_pack_lh_b32_b16:
      return run<[](Scalar x) { x.set((x.a() & 0xffff) | (x.b() & 0xffff0000u)); }>;
    case Opcode::s_pack_hh_b32_b16:
      return run<[](Scalar x) { x.set(x.a() >> 16 | (x.b() & 0xffff0000u)); }>;
    case Opcode::s_pack_hl_b32_b16:
      return run<[](Scalar x) { x.set(x.a() >> 16 | x.b() << 16); }>;
    default:
      return nullptr;
  }
}

// F combines two masks of 32 or 64 bits.
#define HALYARD_LOGIC(name, expression)         \
  case Opcode::s_##name##_b32:                  \
    return run<[](Scalar x) {                   \
      const u32 a = x.a(), b = x.b();           \
      x.set_test(expression);                   \
    }>;                                         \
  case Opcode::s_##name##_b64:                  \
    return run<[](Scalar x) {                   \
      const u64 a = x.wide_a(), b = x.wide_b(); \
      x.set_test64(expression);                 \
    }>
#define HALYARD_SAVE_EXEC(name, expression)                                             \
  case Opcode::s_##name##_saveexec_b32:                                                 \
    return run<save_exec32<[](u32 a, u32 e) { return static_cast<u32>(expression); }>>; \
  case Opcode::s_##name##_saveexec_b64:                                                 \
    return run<save_exec64<[](u64 a, u64 e) { return static_cast<u64>(expression); }>>
#define HALYARD_WRITE_EXEC(name, expression)                                             \
  case Opcode::s_##name##_wrexec_b32:                                                    \
    return run<write_exec32<[](u32 a, u32 e) { return static_cast<u32>(expression); }>>; \
  case Opcode::s_##name##_wrexec_b64:                                                    \
    return run<write_exec64<[](u64 a, u64 e) { return static_cast<u64>(expression); }>>

Handler logic_handler(Opcode opcode) {
  switch (opcode) {
    HALYARD_LOGIC(and, a & b);
    HALYARD_LOGIC(or, a | b);
    HALYARD_LOGIC(xor, a ^ b);
    HALYARD_LOGIC(nand, ~(a & b));
    HALYARD_LOGIC(nor, ~(a | b));
    HALYARD_LOGIC(xnor, ~(a ^ b));
    HALYARD_LOGIC(and_not1, a & ~b);
    HALYARD_LOGIC(or_not1, a | ~b);
    HALYARD_SAVE_EXEC(and, a & e);
    HALYARD_SAVE_EXEC(or, a | e);
    HALYARD_SAVE_EXEC(xor, a ^ e);
    HALYARD_SAVE_EXEC(nand, ~(a & e));
    HALYARD_SAVE_EXEC(nor, ~(a | e));
    HALYARD_SAVE_EXEC(xnor, ~(a ^ e));
    HALYARD_SAVE_EXEC(and_not0, ~a & e);
    HALYARD_SAVE_EXEC(or_not0, ~a | e);
    HALYARD_SAVE_EXEC(and_not1, a & ~e);
    HALYARD_SAVE_EXEC(or_not1, a | ~e);
    HALYARD_WRITE_EXEC(and_not0, ~a & e);
    HALYARD_WRITE_EXEC(and_not1, a & ~e);
    case Opcode::s_not_b32:
      return run<[](Scalar x) { x.set_test(~x.a()); }>;
    case Opcode::s_not_b64:
      return run<[](Scalar x) { x.set_test64(~x.wide_a()); }>;
    case Opcode::s_quadmask_b32:
      return run<[](Scalar x) { x.set_test(static_cast<u32>(quads(x.a()))); }>;
    case Opcode::s_quadmask_b64:
      return run<[](Scalar x) { x.set_test64(quads(x.wide_a())); }>;
    case Opcode::s_wqm_b32:
      return run<[](Scalar x) { x.set_test(static_cast<u32>(whole_quads(x.a()))); }>;
    case Opcode::s_wqm_b64:
      return run<[](Scalar x) { x.set_test64(whole_quads(x.wide_a())); }>;
    case Opcode::s_cselect_b32:
      return run<[](Scalar x) { x.set(x.wave.scc ? x.a() : x.b()); }>;
    case Opcode::s_cselect_b64:
      return run<[](Scalar x) { x.set64(x.wave.scc ? x.wide_a() : x.wide_b()); }>;
    default:
      return nullptr;
  }
}

Handler move_handler(Opcode opcode) {
  switch (opcode) {
    case Opcode::s_mov_b32:
    case Opcode::s_movk_i32:
      return run<[](Scalar x) { x.set(x.a()); }>;
    case Opcode::s_mov_b64:
      return run<[](Scalar x) { x.set64(x.wide_a()); }>;
    case Opcode::s_cmov_b32:
    case Opcode::s_cmovk_i32:
      return run<[](Scalar x) {
        if (x.wave.scc) x.set(x.a());
      }>;
    case Opcode::s_cmov_b64:
      return run<[](Scalar x) {
        if (x.wave.scc) x.set64(x.wide_a());
      }>;
    case Opcode::s_brev_b32:
      return run<[](Scalar x) { x.set(static_cast<u32>(reversed(x.a()) >> 32)); }>;
    case Opcode::s_brev_b64:
      return run<[](Scalar x) { x.set64(reversed(x.wide_a())); }>;
    case Opcode::s_ctz_i32_b32:
      return run<[](Scalar x) { x.set(x.a() == 0 ? -1 : std::countr_zero(x.a())); }>;
    case Opcode::s_ctz_i32_b64:
      return run<[](Scalar x) { x.set(x.wide_a() == 0 ? -1 : std::countr_zero(x.wide_a())); }>;
    case Opcode::s_clz_i32_u32:
      return run<[](Scalar x) { x.set(x.a() == 0 ? -1 : std::countl_zero(x.a())); }>;
    case Opcode::s_clz_i32_u64:
      return run<[](Scalar x) { x.set(x.wide_a() == 0 ? -1 : std::countl_zero(x.wide_a())); }>;
    case Opcode::s_cls_i32:
      return run<[](Scalar x) { x.set(leading_sign_bits(as_signed(x.a()))); }>;
    case Opcode::s_cls_i32_i64:
      return run<[](Scalar x) { x.set(leading_sign_bits(as_signed(x.wide_a()))); }>;
    case Opcode::s_sext_i32_i8:
      return run<[](Scalar x) { x.set(i32{static_cast<std::int8_t>(x.a())}); }>;
    case Opcode::s_sext_i32_i16:
      return run<[](Scalar x) { x.set(i32{static_cast<std::int16_t>(x.a())}); }>;
    case Opcode::s_bitset0_b32:
      return run<[](Scalar x) { x.set(x.old() & ~(1u << (x.a() & 31))); }>;
    case Opcode::s_bitset0_b64:
      return run<[](Scalar x) { x.set64(x.wide_old() & ~(u64{1} << (x.a() & 63))); }>;
    case Opcode::s_bitset1_b32:
      return run<[](Scalar x) { x.set(x.old() | 1u << (x.a() & 31)); }>;
    case Opcode::s_bitset1_b64:
      return run<[](Scalar x) { x.set64(x.wide_old() | u64{1} << (x.a() & 63)); }>;
    case Opcode::s_bitreplicate_b64_b32:
      return run<[](Scalar x) { x.set64(replicated(x.a())); }>;
    case Opcode::s_bcnt0_i32_b32:
      return run<[](Scalar x) { x.set_test(static_cast<u32>(std::popcount(~x.a()))); }>;
    case Opcode::s_bcnt0_i32_b64:
      return run<[](Scalar x) { x.set_test(static_cast<u32>(std::popcount(~x.wide_a()))); }>;
    case Opcode::s_bcnt1_i32_b32:
      return run<[](Scalar x) { x.set_test(static_cast<u32>(std::popcount(x.a()))); }>;
    case Opcode::s_bcnt1_i32_b64:
      return run<[](Scalar x) { x.set_test(static_cast<u32>(std::popcount(x.wide_a()))); }>;
    default:
      return nullptr;
  }
}

#define HALYARD_COMPARE(name, operation)                                                      \
  case Opcode::s_cmp_##name##_i32:                                                            \
  case Opcode::s_cmpk_##name##_i32:                                                           \
    return run<[](Scalar x) { x.wave.scc = (as_signed(x.a()) operation as_signed(x.b())); }>; \
  case Opcode::s_cmp_##name##_u32:                                                            \
  case Opcode::s_cmpk_##name##_u32:                                                           \
    return run<[](Scalar x) { x.wave.scc = (x.a() operation x.b()); }>

Handler compare_handler(Opcode opcode) {
  switch (opcode) {
    HALYARD_COMPARE(eq, ==);
    HALYARD_COMPARE(lg, !=);
    HALYARD_COMPARE(gt, >);
    HALYARD_COMPARE(ge, >=);
    HALYARD_COMPARE(lt, <);
    HALYARD_COMPARE(le, <=);
    case Opcode::s_cmp_eq_u64:
      return run<[](Scalar x) { x.wave.scc = x.wide_a() == x.wide_b(); }>;
    case Opcode::s_cmp_lg_u64:
      return run<[](Scalar x) { x.wave.scc = x.wide_a() != x.wide_b(); }>;
    case Opcode::s_bitcmp0_b32:
      return run<[](Scalar x) { x.wave.scc = (x.a() >> (x.b() & 31) & 1) == 0; }>;
    case Opcode::s_bitcmp1_b32:
      return run<[](Scalar x) { x.wave.scc = (x.a() >> (x.b() & 31) & 1) != 0; }>;
    case Opcode::s_bitcmp0_b64:
      return run<[](Scalar x) { x.wave.scc = (x.wide_a() >> (x.b() & 63) & 1) == 0; }>;
    case Opcode::s_bitcmp1_b64:
      return run<[](Scalar x) { x.wave.scc = (x.wide_a() >> (x.b() & 63) & 1) != 0; }>;
    default:
      return nullptr;
  }
}

}  // namespace

std::uint64_t Wave::read_special(const Operand& operand) const {
  switch (static_cast<Special>(operand.index)) {
    case Special::kSharedBase:
      return kSharedAperture;
    case Special::kSharedLimit:
      return kSharedAperture | 0xffffffffu;
    case Special::kPrivateBase:
      return kPrivateAperture;
    case Special::kPrivateLimit:
      return kPrivateAperture | 0xffffffffu;
    case Special::kVccz:
      return s[kVccLow] == 0;
    case Special::kExecz:
      return s[kExecLow] == 0;
    case Special::kScc:
      return scc;
  }
  return 0;
}

Handler scalar_handler(const Instruction& instruction) {
  const Opcode opcode = instruction.opcode;
  if (Handler handler = arithmetic_handler(opcode)) return handler;
  if (Handler handler = shift_handler(opcode)) return handler;
  if (Handler handler = logic_handler(opcode)) return handler;
  if (Handler handler = move_handler(opcode)) return handler;
  if (Handler handler = compare_handler(opcode)) return handler;
  return control_handler(instruction);  // s_getpc_b64, s_getreg_b32, s_setreg_*
}

}  // namespace halyard::inline v0::sim::gfx
