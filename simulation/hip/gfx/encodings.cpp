// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/hip/gfx/encodings.h"

#include <algorithm>
#include <iterator>

namespace halyard::inline v0::sim::gfx {
namespace {

constexpr EncodingEntry kEntries[] = {
#define HALYARD_GFX_ENCODING(encoding, number, opcode) {Encoding::encoding, number, Opcode::opcode},
#include "simulation/hip/gfx/encodings.def"
#undef HALYARD_GFX_ENCODING
};

struct NotBuilt {
  Encoding encoding;
  std::uint16_t number;
  std::string_view name;
};
constexpr NotBuilt kNotBuilt[] = {
#define HALYARD_GFX_ENCODING(encoding, number, opcode)
#define HALYARD_GFX_NOT_BUILT(encoding, number, name) {Encoding::encoding, number, #name},
#include "simulation/hip/gfx/encodings.def"
#undef HALYARD_GFX_ENCODING
};

constexpr unsigned kEncodings = static_cast<unsigned>(Encoding::kMubuf) + 1;
constexpr unsigned kNumbers = 1024;  // VOP3 has 10 bits

struct Tables {
  // 0 is none; otherwise the opcode plus 1.
  std::array<std::array<std::uint16_t, kNumbers>, kEncodings> opcodes{};
  std::array<std::array<std::int16_t, kOpcodes>, kEncodings> numbers{};

  constexpr Tables() {
    for (auto& of_encoding : numbers) of_encoding.fill(-1);
    for (const EncodingEntry& entry : kEntries) {
      const auto encoding = static_cast<unsigned>(entry.encoding);
      const auto opcode = static_cast<unsigned>(entry.opcode);
      opcodes[encoding][entry.number] = static_cast<std::uint16_t>(opcode + 1);
      // The first entry is the form that the assembler writes: DS lists the forms without a result
      // first.
      if (numbers[encoding][opcode] < 0) {
        numbers[encoding][opcode] = static_cast<std::int16_t>(entry.number);
      }
    }
  }
};

const Tables& tables() {
  static const Tables tables;
  return tables;
}

}  // namespace

std::optional<Opcode> opcode_of(Encoding encoding, unsigned number) {
  const unsigned found = tables().opcodes[static_cast<unsigned>(encoding)][number % kNumbers];
  if (found == 0) return std::nullopt;
  return static_cast<Opcode>(found - 1);
}

std::string_view name_of_not_built(Encoding encoding, unsigned number) {
  const auto found = std::ranges::find_if(kNotBuilt, [&](const NotBuilt& entry) {
    return entry.encoding == encoding && entry.number == number;
  });
  return found == std::end(kNotBuilt) ? std::string_view() : found->name;
}

std::span<const EncodingEntry> encoding_table() { return kEntries; }

int number_in(Encoding encoding, Opcode opcode) {
  return tables().numbers[static_cast<unsigned>(encoding)][static_cast<unsigned>(opcode)];
}

std::string_view to_string(Encoding encoding) {
  switch (encoding) {
    case Encoding::kSop1:
      return "SOP1";
    case Encoding::kSop2:
      return "SOP2";
    case Encoding::kSopk:
      return "SOPK";
    case Encoding::kSopc:
      return "SOPC";
    case Encoding::kSopp:
      return "SOPP";
    case Encoding::kSmem:
      return "SMEM";
    case Encoding::kVop1:
      return "VOP1";
    case Encoding::kVop2:
      return "VOP2";
    case Encoding::kVopc:
      return "VOPC";
    case Encoding::kVop3:
      return "VOP3";
    case Encoding::kVop3p:
      return "VOP3P";
    case Encoding::kVopdX:
    case Encoding::kVopdY:
      return "VOPD";
    case Encoding::kDs:
      return "DS";
    case Encoding::kFlat:
      return "FLAT";
    case Encoding::kGlobal:
      return "GLOBAL";
    case Encoding::kScratch:
      return "SCRATCH";
    case Encoding::kMubuf:
      return "MUBUF";
  }
  return "";
}

}  // namespace halyard::inline v0::sim::gfx
