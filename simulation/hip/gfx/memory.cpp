// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loads and stores of lanes: global memory, scratch, buffers and LDS (manual, chapters 9 to 12).
// Addresses may be unaligned, as in the hardware mode that Linux sets.
#include "simulation/hip/gfx/memory.h"

#include <cstring>

namespace halyard::inline v0::sim::gfx {
namespace {

// The part of a register that is accessed.
enum class Part : std::uint8_t { kWhole, kLow, kHigh };

template <unsigned kSize, bool kSigned = false, Part kPart = Part::kWhole>
struct Load {
  static constexpr unsigned kBytes = kSize;
  static void put(std::uint32_t* d, unsigned lane, const std::byte* bytes) {
    if constexpr (kSize >= 4) {
      for (unsigned i = 0; i < kSize / 4; ++i) {
        std::memcpy(d + i * kLanes + lane, bytes + 4 * i, 4);
      }
    } else {
      std::uint32_t value = 0;
      std::memcpy(&value, bytes, kSize);
      if constexpr (kSigned) {
        constexpr unsigned kUnused = 32 - 8 * kSize;
        value = static_cast<std::uint32_t>(static_cast<std::int32_t>(value << kUnused) >> kUnused);
      }
      if constexpr (kPart == Part::kLow) value = (d[lane] & 0xffff0000u) | (value & 0xffffu);
      if constexpr (kPart == Part::kHigh) value = (d[lane] & 0xffffu) | value << 16;
      d[lane] = value;
    }
  }
};

template <unsigned kSize, Part kPart = Part::kWhole>
struct Store {
  static constexpr unsigned kBytes = kSize;
  static void get(const std::uint32_t* a, unsigned lane, std::byte* bytes) {
    if constexpr (kSize >= 4) {
      for (unsigned i = 0; i < kSize / 4; ++i) {
        std::memcpy(bytes + 4 * i, a + i * kLanes + lane, 4);
      }
    } else {
      const std::uint32_t value = kPart == Part::kHigh ? a[lane] >> 16 : a[lane];
      std::memcpy(bytes, &value, kSize);
    }
  }
};

template <class Places, class Form>
void run_load(Wave& wave, const Ins& ins) {
  Places places(wave, ins);
  std::uint32_t* const d = wave.row(ins.from->destination.index);
  // A register of the address may be written, for its own lane only.
  for (std::uint32_t left = wave.exec(); left != 0; left &= left - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(left));
    if constexpr (std::is_same_v<Places, BufferPlaces> && Form::kBytes > 4) {
      std::byte all[Form::kBytes];  // buffered, because a load may overwrite the lane's offset
      for (unsigned i = 0; i < Form::kBytes / 4; ++i) {
        const std::byte* const bytes = places.find(lane, 4, LdsAccess::kRead, 4 * i);
        if (bytes == nullptr) return;
        std::memcpy(all + 4 * i, bytes, 4);
      }
      Form::put(d, lane, all);
      continue;
    }
    const std::byte* const bytes = places.find(lane, Form::kBytes, LdsAccess::kRead);
    if (bytes == nullptr) [[unlikely]]
      return;
    Form::put(d, lane, bytes);
  }
}

template <class Places, class Form>
void run_store(Wave& wave, const Ins& ins) {
  Places places(wave, ins);
  const std::uint32_t* const a = wave.row(ins.from->sources[1].index);
  for (std::uint32_t left = wave.exec(); left != 0; left &= left - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(left));
    if constexpr (std::is_same_v<Places, BufferPlaces> && Form::kBytes > 4) {
      for (unsigned i = 0; i < Form::kBytes / 4; ++i) {
        std::byte* const bytes = places.find(lane, 4, LdsAccess::kWrite, 4 * i);
        if (bytes == nullptr) return;
        Store<4>::get(a + i * kLanes, lane, bytes);
      }
      continue;
    }
    std::byte* const bytes = places.find(lane, Form::kBytes, LdsAccess::kWrite);
    if (bytes == nullptr) [[unlikely]]
      return;
    Form::get(a, lane, bytes);
  }
}

template <class Places>
Handler handler_for(Opcode opcode) {
  switch (opcode) {
    case Opcode::load_u8:
    case Opcode::ds_load_u8:
      return run_load<Places, Load<1>>;
    case Opcode::load_i8:
    case Opcode::ds_load_i8:
      return run_load<Places, Load<1, true>>;
    case Opcode::load_u16:
    case Opcode::ds_load_u16:
      return run_load<Places, Load<2>>;
    case Opcode::load_i16:
    case Opcode::ds_load_i16:
      return run_load<Places, Load<2, true>>;
    case Opcode::load_b32:
    case Opcode::ds_load_b32:
      return run_load<Places, Load<4>>;
    case Opcode::load_b64:
    case Opcode::ds_load_b64:
      return run_load<Places, Load<8>>;
    case Opcode::load_b96:
    case Opcode::ds_load_b96:
      return run_load<Places, Load<12>>;
    case Opcode::load_b128:
    case Opcode::ds_load_b128:
      return run_load<Places, Load<16>>;
    case Opcode::load_d16_u8:
    case Opcode::ds_load_u8_d16:
      return run_load<Places, Load<1, false, Part::kLow>>;
    case Opcode::load_d16_i8:
    case Opcode::ds_load_i8_d16:
      return run_load<Places, Load<1, true, Part::kLow>>;
    case Opcode::load_d16_b16:
    case Opcode::ds_load_u16_d16:
      return run_load<Places, Load<2, false, Part::kLow>>;
    case Opcode::load_d16_hi_u8:
    case Opcode::ds_load_u8_d16_hi:
      return run_load<Places, Load<1, false, Part::kHigh>>;
    case Opcode::load_d16_hi_i8:
    case Opcode::ds_load_i8_d16_hi:
      return run_load<Places, Load<1, true, Part::kHigh>>;
    case Opcode::load_d16_hi_b16:
    case Opcode::ds_load_u16_d16_hi:
      return run_load<Places, Load<2, false, Part::kHigh>>;
    case Opcode::store_b8:
    case Opcode::ds_store_b8:
      return run_store<Places, Store<1>>;
    case Opcode::store_b16:
    case Opcode::ds_store_b16:
      return run_store<Places, Store<2>>;
    case Opcode::store_b32:
    case Opcode::ds_store_b32:
      return run_store<Places, Store<4>>;
    case Opcode::store_b64:
    case Opcode::ds_store_b64:
      return run_store<Places, Store<8>>;
    case Opcode::store_b96:
    case Opcode::ds_store_b96:
      return run_store<Places, Store<12>>;
    case Opcode::store_b128:
    case Opcode::ds_store_b128:
      return run_store<Places, Store<16>>;
    case Opcode::store_d16_hi_b8:
    case Opcode::ds_store_b8_d16_hi:
      return run_store<Places, Store<1, Part::kHigh>>;
    case Opcode::store_d16_hi_b16:
    case Opcode::ds_store_b16_d16_hi:
      return run_store<Places, Store<2, Part::kHigh>>;
    default:
      return nullptr;
  }
}

}  // namespace

Handler lds_access_handler(Opcode opcode) { return handler_for<LdsPlaces>(opcode); }

Handler memory_handler(const Instruction& instruction) {
  switch (instruction.segment) {
    case Segment::kFlat:
      return handler_for<AddressPlaces<true>>(instruction.opcode);
    case Segment::kGlobal:
      return handler_for<AddressPlaces<false>>(instruction.opcode);
    case Segment::kScratch:
      return handler_for<ScratchPlaces>(instruction.opcode);
    case Segment::kBuffer:
      return handler_for<BufferPlaces>(instruction.opcode);
    default:
      return nullptr;
  }
}

}  // namespace halyard::inline v0::sim::gfx
