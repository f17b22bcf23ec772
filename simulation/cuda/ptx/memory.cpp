// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ld, st and similar instructions.
#include <algorithm>
#include <array>
#include <utility>

#include "simulation/cuda/ptx/access.h"
#include "simulation/cuda/ptx/lowering.h"
#include "simulation/cuda/ptx/shared_checks.h"

namespace halyard::inline v0::sim::ptx {
namespace {

// Bits of Ins::flags, in addition to those of addresses.
constexpr std::uint8_t kStrong = 0x10;  // volatile, relaxed, acquire, release

Slot data_slot(const Warp& warp, const Ins& ins, unsigned i) {
  return ins.count == 1 ? ins.d : warp.program->slots[ins.extra + i];
}

// The bytes of all lanes if they are contiguous, starting with lane 0; otherwise null.
template <class M>
std::byte* find_row(Warp& warp, const Ins& ins, const Addresses& addresses, bool is_write) {
  if (warp.exec != kAllLanes || ins.count != 1 || ins.space == MemorySpace::kLocal) return nullptr;
  const std::uint64_t first = addresses.at[0];
  // Lanes do not share local memory.
  if (ins.space == MemorySpace::kGeneric && first >= kLocalWindow) return nullptr;
  std::uint64_t differences = first & (sizeof(M) - 1);
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    differences |= addresses.at[lane] ^ (first + lane * sizeof(M));
  }
  if (differences != 0 || warp.block->checks != nullptr) return nullptr;
  return find_in_space(warp, ins.space, first, kLanes * sizeof(M), is_write, 0);
}

// The bytes that a lane accesses, or null after a failure.
inline std::byte* find_lane(Warp& warp, const Ins& ins, std::uint64_t address, std::uint32_t size,
                            Warp::Access access, unsigned lane) {
  if ((address & (size - 1)) == 0 && warp.block->checks == nullptr) [[likely]] {
    std::byte* const bytes =
        find_in_space(warp, ins.space, address, size, access != Warp::Access::kRead, lane);
    if (bytes != nullptr) [[likely]]
      return bytes;
  }
  return warp.resolve(ins, ins.space, address, size, access, lane);
}

template <class M, class R>
void load(Warp& warp, const Ins& ins) {
  Addresses addresses;
  compute_addresses(warp, ins, addresses);
  if (ins.count == 1) {
    R* const d = warp.at<R>(ins.d);
    if (addresses.is_uniform && ins.space != MemorySpace::kLocal) {
      const auto lane = static_cast<unsigned>(std::countr_zero(warp.exec));
      const std::byte* const bytes =
          find_lane(warp, ins, addresses.at[0], sizeof(M), Warp::Access::kRead, lane);
      if (bytes == nullptr) return;
      M value;
      std::memcpy(&value, bytes, sizeof(M));
      each_lane(warp, d, [&](unsigned) { return static_cast<R>(value); });
      return;
    }
    if (const std::byte* const row = find_row<M>(warp, ins, addresses, false)) {
      M values[kLanes];
      std::memcpy(values, row, sizeof(values));
      for (unsigned lane = 0; lane < kLanes; ++lane) d[lane] = static_cast<R>(values[lane]);
      return;
    }
    for (LaneMask mask = warp.exec; mask != 0; mask &= mask - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(mask));
      const std::byte* const bytes =
          find_lane(warp, ins, addresses.at[lane], sizeof(M), Warp::Access::kRead, lane);
      if (bytes == nullptr) return;
      M value;
      std::memcpy(&value, bytes, sizeof(M));
      d[lane] = static_cast<R>(value);
    }
    return;
  }
  for (LaneMask mask = warp.exec; mask != 0; mask &= mask - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(mask));
    const std::byte* const bytes =
        find_lane(warp, ins, addresses.at[lane], static_cast<std::uint32_t>(sizeof(M)) * ins.count,
                  Warp::Access::kRead, lane);
    if (bytes == nullptr) return;
    for (unsigned i = 0; i < ins.count; ++i) {
      M value;
      std::memcpy(&value, bytes + i * sizeof(M), sizeof(M));
      warp.at<R>(warp.program->slots[ins.extra + i])[lane] = static_cast<R>(value);
    }
  }
}

// Accesses that other threads may race with, by atomic operations of the host.
template <class M, class R>
void load_strong(Warp& warp, const Ins& ins) {
  Addresses addresses;
  compute_addresses(warp, ins, addresses);
  each_active(warp.exec, [&](unsigned lane) {
    const std::byte* const bytes = warp.resolve(
        ins, ins.space, addresses.at[lane], static_cast<std::uint32_t>(sizeof(M)) * ins.count,
        ins.count == 1 ? Warp::Access::kAtomic : Warp::Access::kRead, lane);
    if (bytes == nullptr) return;
    for (unsigned i = 0; i < ins.count; ++i) {
      const M value = __atomic_load_n(reinterpret_cast<const M*>(bytes) + i, __ATOMIC_ACQUIRE);
      warp.at<R>(data_slot(warp, ins, i))[lane] = static_cast<R>(value);
    }
  });
}

template <class M, class R>
void store(Warp& warp, const Ins& ins) {
  Addresses addresses;
  compute_addresses(warp, ins, addresses);
  if (std::byte* const row = find_row<M>(warp, ins, addresses, true)) {
    const R* const d = warp.in<R>(ins.d);
    M values[kLanes];
    for (unsigned lane = 0; lane < kLanes; ++lane) values[lane] = static_cast<M>(d[lane]);
    std::memcpy(row, values, sizeof(values));
    return;
  }
  for (LaneMask mask = warp.exec; mask != 0; mask &= mask - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(mask));
    std::byte* const bytes =
        find_lane(warp, ins, addresses.at[lane], static_cast<std::uint32_t>(sizeof(M)) * ins.count,
                  Warp::Access::kWrite, lane);
    if (bytes == nullptr) return;
    for (unsigned i = 0; i < ins.count; ++i) {
      const auto value = static_cast<M>(warp.in<R>(data_slot(warp, ins, i))[lane]);
      std::memcpy(bytes + i * sizeof(M), &value, sizeof(M));
    }
  }
}

template <class M, class R>
void store_strong(Warp& warp, const Ins& ins) {
  Addresses addresses;
  compute_addresses(warp, ins, addresses);
  each_active(warp.exec, [&](unsigned lane) {
    std::byte* const bytes = warp.resolve(
        ins, ins.space, addresses.at[lane], static_cast<std::uint32_t>(sizeof(M)) * ins.count,
        ins.count == 1 ? Warp::Access::kAtomic : Warp::Access::kWrite, lane);
    if (bytes == nullptr) return;
    for (unsigned i = 0; i < ins.count; ++i) {
      const auto value = static_cast<M>(warp.in<R>(data_slot(warp, ins, i))[lane]);
      __atomic_store_n(reinterpret_cast<M*>(bytes) + i, value, __ATOMIC_RELEASE);
    }
  });
}

// Handlers for a type in memory and the width of a register.
template <template <class, class> class Handlers, class M>
Handler choose_register(std::uint32_t width, bool is_strong) {
  switch (width) {
    case 2:
      if constexpr (sizeof(M) <= 2) return Handlers<M, std::uint16_t>::choose(is_strong);
      break;
    case 4:
      if constexpr (sizeof(M) <= 4) return Handlers<M, std::uint32_t>::choose(is_strong);
      break;
    case 8:
      return Handlers<M, std::uint64_t>::choose(is_strong);
  }
  return nullptr;
}

template <template <class, class> class Handlers>
Handler choose_handler(Type type, std::uint32_t width, bool is_strong) {
  const bool is_signed = type.is_signed();
  switch (type.bytes) {
    case 1:
      return is_signed ? choose_register<Handlers, std::int8_t>(width, is_strong)
                       : choose_register<Handlers, std::uint8_t>(width, is_strong);
    case 2:
      return is_signed ? choose_register<Handlers, std::int16_t>(width, is_strong)
                       : choose_register<Handlers, std::uint16_t>(width, is_strong);
    case 4:
      return is_signed ? choose_register<Handlers, std::int32_t>(width, is_strong)
                       : choose_register<Handlers, std::uint32_t>(width, is_strong);
    case 8:
      return choose_register<Handlers, std::uint64_t>(width, is_strong);
  }
  return nullptr;
}

template <class M, class R>
struct Load {
  static Handler choose(bool is_strong) { return is_strong ? load_strong<M, R> : load<M, R>; }
};
template <class M, class R>
struct Store {
  static Handler choose(bool is_strong) { return is_strong ? store_strong<M, R> : store<M, R>; }
};

void lower_access(Lowering& lowering, bool is_load) {
  constexpr std::string_view kStrongWords[] = {"relaxed", "acquire", "release", "volatile", "mmio"};
  constexpr std::string_view kIgnored[] = {"weak",
                                           "cta",
                                           "cluster",
                                           "gpu",
                                           "sys",
                                           "ca",
                                           "cg",
                                           "cs",
                                           "lu",
                                           "cv",
                                           "wb",
                                           "wt",
                                           "nc",
                                           "L1::evict_normal",
                                           "L1::evict_unchanged",
                                           "L1::evict_first",
                                           "L1::evict_last",
                                           "L1::no_allocate",
                                           "L2::64B",
                                           "L2::128B",
                                           "L2::256B",
                                           "L2::evict_last",
                                           "L2::evict_normal",
                                           "L2::evict_first"};
  const bool is_strong = lowering.take_any(kStrongWords).has_value();
  while (lowering.take_any(kIgnored)) {
  }
  const bool has_hint = lowering.take("L2::cache_hint");
  const std::optional<MemorySpace> space = take_space(lowering);
  std::uint32_t count = 1;
  if (lowering.take("v2")) count = 2;
  if (lowering.take("v4")) count = 4;
  if (lowering.take("v8")) count = 8;
  const Type type = lowering.take_type();
  if (type.bytes == 0 || type.bytes == 16 || type.kind == Kind::kPredicate ||
      count * type.bytes > 32) {
    lowering.fail_modifier();
  }
  lowering.expect_operands(2, has_hint ? 3 : 2);
  const Operand& data = lowering.operand(is_load ? 0 : 1);
  Ins ins;
  lowering.address(lowering.operand(is_load ? 1 : 0), ins, space);
  const bool is_vector = data.kind == Operand::Kind::kVector;
  if ((is_vector ? data.elements.size() : 1) != count) {
    lowering.fail("Arguments mismatch for instruction '" + std::string(lowering.opcode()) + "'");
  }
  ins.count = static_cast<std::uint8_t>(count);
  std::uint32_t width = type.bytes == 1 ? 2 : type.bytes;
  std::vector<Slot> slots;
  // All registers of a vector must have one width.
  const auto find_width = [&](const Operand& each) {
    if (each.kind == Operand::Kind::kName) {
      const Type found = lowering.register_type(each);
      width = std::max<std::uint32_t>(width, found.bytes);
    }
  };
  const auto add = [&](const Operand& each) {
    if (is_load) {
      slots.push_back(lowering.target(each, type, true));
    } else {
      Type wide = type;
      if (each.kind == Operand::Kind::kNumber) wide.bytes = static_cast<std::uint8_t>(width);
      slots.push_back(lowering.source(each, wide, true));
    }
    if (each.kind == Operand::Kind::kName &&
        std::max<std::uint32_t>(lowering.register_type(each).bytes, 2) != width) {
      lowering.fail("Arguments mismatch for instruction '" + std::string(lowering.opcode()) + "'");
    }
  };
  if (is_vector) {
    for (const Operand& each : data.elements) find_width(each);
    for (const Operand& each : data.elements) add(each);
  } else {
    find_width(data);
    add(data);
  }
  if (count == 1) {
    ins.d = slots[0];
  } else {
    ins.extra = lowering.append_slots(slots);
  }
  if (is_strong) ins.flags |= kStrong;
  ins.run = is_load ? choose_handler<Load>(type, width, is_strong)
                    : choose_handler<Store>(type, width, is_strong);
  if (ins.run == nullptr) lowering.fail_modifier();
  lowering.emit(ins);
}

void nothing(Warp&, const Ins&) {}

template <bool ToSpace>
void convert_address(Warp& warp, const Ins& ins) {
  const auto* const a = warp.in<std::uint64_t>(ins.a);
  const auto window = static_cast<std::uint64_t>(ins.imm);
  each_lane(warp, warp.at<std::uint64_t>(ins.d),
            [&](unsigned lane) { return ToSpace ? a[lane] - window : a[lane] + window; });
}

void is_in_space(Warp& warp, const Ins& ins) {
  const auto* const a = warp.in<std::uint64_t>(ins.a);
  LaneMask result = 0;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const std::uint64_t window = a[lane] & ~(kWindowBytes - 1);
    if (window == static_cast<std::uint64_t>(ins.imm)) result |= LaneMask{1} << lane;
  }
  warp.set_predicate(ins.d, result);
}

std::uint64_t window_of(MemorySpace space) {
  switch (space) {
    case MemorySpace::kShared:
      return kSharedWindow;
    case MemorySpace::kLocal:
      return kLocalWindow;
    case MemorySpace::kParameter:
      return kParameterWindow;
    default:
      return 0;
  }
}

void lower_cvta(Lowering& lowering) {
  const bool is_to = lowering.take("to");
  MemorySpace space = take_space(lowering).value_or(MemorySpace::kGeneric);
  if (space == MemorySpace::kGeneric) lowering.fail_modifier();
  // Parameters of functions are in local memory.
  if (space == MemorySpace::kParameter && !lowering.is_in_entry()) space = MemorySpace::kLocal;
  const Type type = lowering.take_type();
  if (type != kU64) lowering.fail_modifier();
  lowering.expect_operands(2, 2);
  Slot a = kNoSlot;
  if (lowering.operand(1).kind == Operand::Kind::kName &&
      !lowering.is_register(lowering.operand(1))) {
    a = lowering.temporary(kLanes * 8);
    lowering.emit_symbol_address(a, lowering.operand(1), 8);
  } else {
    a = lowering.source(lowering.operand(1), type);
  }
  Ins& ins = lowering.emit(is_to ? convert_address<true> : convert_address<false>,
                           lowering.target(lowering.operand(0), type), a);
  ins.imm = static_cast<std::int64_t>(window_of(space));
}

}  // namespace

std::optional<MemorySpace> take_space(Lowering& lowering) {
  struct Named {
    std::string_view name;
    MemorySpace space;
  };
  constexpr Named kSpaces[] = {
      {"global", MemorySpace::kGlobal},          {"const", MemorySpace::kGlobal},
      {"shared", MemorySpace::kShared},          {"shared::cta", MemorySpace::kShared},
      {"shared::cluster", MemorySpace::kShared}, {"local", MemorySpace::kLocal},
      {"param", MemorySpace::kParameter},        {"param::entry", MemorySpace::kParameter},
      {"param::func", MemorySpace::kLocal}};
  for (const Named& each : kSpaces) {
    if (lowering.take(each.name)) return each.space;
  }
  return std::nullopt;
}

bool lower_memory(Lowering& lowering) {
  const std::string_view opcode = lowering.opcode();
  if (opcode == "ld" || opcode == "ldu") {
    lower_access(lowering, true);
  } else if (opcode == "st") {
    lower_access(lowering, false);
  } else if (opcode == "cvta") {
    lower_cvta(lowering);
  } else if (opcode == "isspacep") {
    const auto space = take_space(lowering);
    if (!space) lowering.fail_modifier();
    lowering.expect_operands(2, 2);
    Ins& ins = lowering.emit(is_in_space, lowering.predicate_target(lowering.operand(0)),
                             lowering.source(lowering.operand(1), kU64));
    ins.imm = static_cast<std::int64_t>(window_of(*space));
  } else if (opcode == "prefetch" || opcode == "prefetchu" || opcode == "discard" ||
             opcode == "applypriority") {
    // Hints. discard makes the bytes undefined, so it need not change them.
    constexpr std::string_view kWords[] = {"global",    "local",          "L1",
                                           "L2",        "param",          "const",
                                           "tensormap", "L2::evict_last", "L2::evict_normal"};
    while (lowering.take_any(kWords)) {
    }
    lowering.emit(nothing);
  } else if (opcode == "createpolicy") {
    constexpr std::string_view kWords[] = {"fractional",
                                           "range",
                                           "global",
                                           "b64",
                                           "L2::evict_last",
                                           "L2::evict_normal",
                                           "L2::evict_first",
                                           "L2::evict_unchanged",
                                           "cvt",
                                           "L2"};
    while (lowering.take_any(kWords)) {
    }
    lowering.target(lowering.operand(0), {Kind::kBits, 8});
    lowering.emit(nothing);
  } else if (opcode == "membar" || opcode == "fence") {
    constexpr std::string_view kWords[] = {"sc",
                                           "acq_rel",
                                           "acquire",
                                           "release",
                                           "cta",
                                           "cluster",
                                           "gpu",
                                           "sys",
                                           "gl",
                                           "proxy",
                                           "alias",
                                           "async",
                                           "async::global",
                                           "async::generic",
                                           "tensormap::generic",
                                           "generic",
                                           "mbarrier_init",
                                           "sync_restrict::shared::cta",
                                           "sync_restrict::shared::cluster",
                                           "async.global",
                                           "async::shared::cta",
                                           "global",
                                           "shared::cta"};
    while (lowering.take_any(kWords)) {
    }
    lowering.emit([](Warp&, const Ins&) { __atomic_thread_fence(__ATOMIC_SEQ_CST); });
  } else {
    return false;
  }
  return true;
}

}  // namespace halyard::inline v0::sim::ptx
