// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Atomic operations on global memory, buffers and LDS. Operations on memory that host threads share
// are atomic on the host; LDS belongs to a single thread.
#include <algorithm>
#include <atomic>
#include <cstring>

#include "simulation/hip/gfx/memory.h"

namespace halyard::inline v0::sim::gfx {
namespace {

template <class T>
T read_rows(const std::uint32_t* rows, unsigned lane) {
  if constexpr (sizeof(T) == 8) {
    return std::bit_cast<T>(rows[lane] | std::uint64_t{rows[kLanes + lane]} << 32);
  } else {
    return std::bit_cast<T>(rows[lane]);
  }
}
template <class T>
void put_rows(std::uint32_t* rows, unsigned lane, T value) {
  if constexpr (sizeof(T) == 8) {
    const auto bits = std::bit_cast<std::uint64_t>(value);
    rows[lane] = static_cast<std::uint32_t>(bits);
    rows[kLanes + lane] = static_cast<std::uint32_t>(bits >> 32);
  } else {
    rows[lane] = std::bit_cast<std::uint32_t>(value);
  }
}

template <class T, class F>
T exchange(std::byte* bytes, bool is_shared, F update) {
  using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  if (!is_shared) {
    T old;
    std::memcpy(&old, bytes, sizeof(T));
    const T value = update(old);
    std::memcpy(bytes, &value, sizeof(T));
    return old;
  }
  std::atomic_ref<Bits> word(*reinterpret_cast<Bits*>(bytes));
  Bits old = word.load(std::memory_order_relaxed);
  while (!word.compare_exchange_weak(old, std::bit_cast<Bits>(update(std::bit_cast<T>(old))),
                                     std::memory_order_acq_rel, std::memory_order_relaxed)) {
  }
  return std::bit_cast<T>(old);
}

// For memory, the value to compare with is in the high half of the operand; for LDS, it is a
// separate operand.
template <class Places, class T, auto kUpdate>
void run_atomic(Wave& wave, const Ins& ins) {
  const Instruction& from = *ins.from;
  Places places(wave, ins);
  const std::uint32_t* const data = wave.row(from.sources[1].index);
  const std::uint32_t* second = data + sizeof(T) / 4 * kLanes;
  if constexpr (std::is_same_v<Places, LdsPlaces>) {
    if (from.sources[2]) second = wave.row(from.sources[2].index);
  }
  std::uint32_t* const d = from.destination ? wave.row(from.destination.index) : nullptr;
  for (std::uint32_t left = wave.exec(); left != 0; left &= left - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(left));
    std::byte* const bytes = places.find(lane, sizeof(T), LdsAccess::kAtomic);
    if (bytes == nullptr) return;
    if ((reinterpret_cast<std::uintptr_t>(bytes) & (sizeof(T) - 1)) != 0 && places.is_shared()) {
      fail_alignment(wave, from, lane, reinterpret_cast<std::uintptr_t>(bytes), sizeof(T));
      return;
    }
    const T value = read_rows<T>(data, lane), other = read_rows<T>(second, lane);
    const T old = exchange<T>(bytes, places.is_shared(),
                              [&](T before) { return kUpdate(before, value, other); });
    if (d != nullptr) put_rows<T>(d, lane, old);
  }
}

template <class T>
struct Updates {
  static T swap(T, T data, T) { return data; }
  static T compare_swap(T old, T data, T second) { return old == second ? data : old; }
  static T add(T old, T data, T) { return static_cast<T>(old + data); }
  static T subtract(T old, T data, T) { return static_cast<T>(old - data); }
  static T reverse_subtract(T old, T data, T) { return static_cast<T>(data - old); }
  static T subtract_to_zero(T old, T data, T) { return old < data ? 0 : old - data; }
  static T least(T old, T data, T) { return data < old ? data : old; }
  static T most(T old, T data, T) { return data > old ? data : old; }
  static T bit_and(T old, T data, T) { return old & data; }
  static T bit_or(T old, T data, T) { return old | data; }
  static T bit_xor(T old, T data, T) { return old ^ data; }
  static T masked_or(T old, T data, T second) { return (old & ~data) | second; }
  static T increment(T old, T data, T) { return old >= data ? 0 : old + 1; }
  static T decrement(T old, T data, T) { return old == 0 || old > data ? data : old - 1; }
  static T wrap(T old, T data, T second) { return old >= data ? old - data : old + second; }
};
using U32 = Updates<std::uint32_t>;
using I32 = Updates<std::int32_t>;
using U64 = Updates<std::uint64_t>;
using I64 = Updates<std::int64_t>;
using F32 = Updates<float>;
using F64 = Updates<double>;

#define HALYARD_ATOMIC(name, T, update) \
  case Opcode::name:                    \
    return run_atomic<Places, T, update>

template <class Places>
Handler memory_atomic(Opcode opcode) {
  using std::int32_t, std::int64_t, std::uint32_t, std::uint64_t;
  switch (opcode) {
    HALYARD_ATOMIC(atomic_swap_b32, uint32_t, U32::swap);
    HALYARD_ATOMIC(atomic_cmpswap_b32, uint32_t, U32::compare_swap);
    HALYARD_ATOMIC(atomic_add_u32, uint32_t, U32::add);
    HALYARD_ATOMIC(atomic_sub_u32, uint32_t, U32::subtract);
    HALYARD_ATOMIC(atomic_csub_u32, uint32_t, U32::subtract_to_zero);
    HALYARD_ATOMIC(atomic_min_i32, int32_t, I32::least);
    HALYARD_ATOMIC(atomic_min_u32, uint32_t, U32::least);
    HALYARD_ATOMIC(atomic_max_i32, int32_t, I32::most);
    HALYARD_ATOMIC(atomic_max_u32, uint32_t, U32::most);
    HALYARD_ATOMIC(atomic_and_b32, uint32_t, U32::bit_and);
    HALYARD_ATOMIC(atomic_or_b32, uint32_t, U32::bit_or);
    HALYARD_ATOMIC(atomic_xor_b32, uint32_t, U32::bit_xor);
    HALYARD_ATOMIC(atomic_inc_u32, uint32_t, U32::increment);
    HALYARD_ATOMIC(atomic_dec_u32, uint32_t, U32::decrement);
    HALYARD_ATOMIC(atomic_swap_b64, uint64_t, U64::swap);
    HALYARD_ATOMIC(atomic_cmpswap_b64, uint64_t, U64::compare_swap);
    HALYARD_ATOMIC(atomic_add_u64, uint64_t, U64::add);
    HALYARD_ATOMIC(atomic_sub_u64, uint64_t, U64::subtract);
    HALYARD_ATOMIC(atomic_min_i64, int64_t, I64::least);
    HALYARD_ATOMIC(atomic_min_u64, uint64_t, U64::least);
    HALYARD_ATOMIC(atomic_max_i64, int64_t, I64::most);
    HALYARD_ATOMIC(atomic_max_u64, uint64_t, U64::most);
    HALYARD_ATOMIC(atomic_and_b64, uint64_t, U64::bit_and);
    HALYARD_ATOMIC(atomic_or_b64, uint64_t, U64::bit_or);
    HALYARD_ATOMIC(atomic_xor_b64, uint64_t, U64::bit_xor);
    HALYARD_ATOMIC(atomic_inc_u64, uint64_t, U64::increment);
    HALYARD_ATOMIC(atomic_dec_u64, uint64_t, U64::decrement);
    HALYARD_ATOMIC(atomic_cmpswap_f32, float, F32::compare_swap);
    HALYARD_ATOMIC(atomic_min_f32, float, F32::least);
    HALYARD_ATOMIC(atomic_max_f32, float, F32::most);
    HALYARD_ATOMIC(atomic_add_f32, float, F32::add);
    default:
      return nullptr;
  }
}

Handler lds_atomic(Opcode opcode) {
  using Places = LdsPlaces;
  using std::int32_t, std::int64_t, std::uint32_t, std::uint64_t;
  switch (opcode) {
    HALYARD_ATOMIC(ds_add_u32, uint32_t, U32::add);
    HALYARD_ATOMIC(ds_sub_u32, uint32_t, U32::subtract);
    HALYARD_ATOMIC(ds_rsub_u32, uint32_t, U32::reverse_subtract);
    HALYARD_ATOMIC(ds_inc_u32, uint32_t, U32::increment);
    HALYARD_ATOMIC(ds_dec_u32, uint32_t, U32::decrement);
    HALYARD_ATOMIC(ds_min_i32, int32_t, I32::least);
    HALYARD_ATOMIC(ds_max_i32, int32_t, I32::most);
    HALYARD_ATOMIC(ds_min_u32, uint32_t, U32::least);
    HALYARD_ATOMIC(ds_max_u32, uint32_t, U32::most);
    HALYARD_ATOMIC(ds_and_b32, uint32_t, U32::bit_and);
    HALYARD_ATOMIC(ds_or_b32, uint32_t, U32::bit_or);
    HALYARD_ATOMIC(ds_xor_b32, uint32_t, U32::bit_xor);
    HALYARD_ATOMIC(ds_mskor_b32, uint32_t, U32::masked_or);
    HALYARD_ATOMIC(ds_storexchg_b32, uint32_t, U32::swap);
    HALYARD_ATOMIC(ds_cmpstore_b32, uint32_t, U32::compare_swap);
    HALYARD_ATOMIC(ds_wrap_b32, uint32_t, U32::wrap);
    HALYARD_ATOMIC(ds_cmpstore_f32, float, F32::compare_swap);
    HALYARD_ATOMIC(ds_min_f32, float, F32::least);
    HALYARD_ATOMIC(ds_max_f32, float, F32::most);
    HALYARD_ATOMIC(ds_add_f32, float, F32::add);
    HALYARD_ATOMIC(ds_add_u64, uint64_t, U64::add);
    HALYARD_ATOMIC(ds_sub_u64, uint64_t, U64::subtract);
    HALYARD_ATOMIC(ds_rsub_u64, uint64_t, U64::reverse_subtract);
    HALYARD_ATOMIC(ds_inc_u64, uint64_t, U64::increment);
    HALYARD_ATOMIC(ds_dec_u64, uint64_t, U64::decrement);
    HALYARD_ATOMIC(ds_min_i64, int64_t, I64::least);
    HALYARD_ATOMIC(ds_max_i64, int64_t, I64::most);
    HALYARD_ATOMIC(ds_min_u64, uint64_t, U64::least);
    HALYARD_ATOMIC(ds_max_u64, uint64_t, U64::most);
    HALYARD_ATOMIC(ds_and_b64, uint64_t, U64::bit_and);
    HALYARD_ATOMIC(ds_or_b64, uint64_t, U64::bit_or);
    HALYARD_ATOMIC(ds_xor_b64, uint64_t, U64::bit_xor);
    HALYARD_ATOMIC(ds_mskor_b64, uint64_t, U64::masked_or);
    HALYARD_ATOMIC(ds_storexchg_b64, uint64_t, U64::swap);
    HALYARD_ATOMIC(ds_cmpstore_b64, uint64_t, U64::compare_swap);
    HALYARD_ATOMIC(ds_cmpstore_f64, double, F64::compare_swap);
    HALYARD_ATOMIC(ds_min_f64, double, F64::least);
    HALYARD_ATOMIC(ds_max_f64, double, F64::most);
    default:
      return nullptr;
  }
}

}  // namespace

Handler atomic_handler(const Instruction& instruction) {
  switch (instruction.segment) {
    case Segment::kFlat:
      return memory_atomic<AddressPlaces<true>>(instruction.opcode);
    case Segment::kGlobal:
      return memory_atomic<AddressPlaces<false>>(instruction.opcode);
    case Segment::kBuffer:
      return memory_atomic<BufferPlaces>(instruction.opcode);
    case Segment::kScratch:
      return nullptr;
    default:
      return lds_atomic(instruction.opcode);
  }
}

}  // namespace halyard::inline v0::sim::gfx
