// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/hip/gfx/decode.h"

#include <algorithm>
#include <utility>

#include "simulation/hip/gfx/decoder.h"
#include "simulation/hip/gfx/text.h"

namespace halyard::inline v0::sim::gfx {
namespace {

// Formats of gfx11 that compute kernels do not need.
std::string_view name_of_refused_format(std::uint32_t word) {
  switch (word >> 26) {
    case 0b110011:
      return field(word, 24, 2) == 1 ? "VINTERP" : "LDSDIR";
    case 0b111010:
      return "MTBUF";
    case 0b111100:
      return "MIMG";
    case 0b111110:
      return "EXP";
    default:
      return "of no known format";
  }
}

}  // namespace

bool Decoder::refuse(std::string reason) {
  if (error_.empty()) error_ = std::move(reason);
  return false;
}

bool Decoder::begin(Encoding encoding, unsigned number) {
  instruction_.encoding = encoding;
  const std::optional<Opcode> opcode = opcode_of(encoding, number);
  if (!opcode) {
    const std::string_view name = name_of_not_built(encoding, number);
    if (!name.empty()) return refuse(join(name, " is not built"));
    return refuse(join(to_string(encoding), " has no opcode ", number));
  }
  instruction_.opcode = *opcode;
  return true;
}

std::optional<std::uint32_t> Decoder::next_word() {
  if (used_ == words_.size()) {
    refuse("the code ends within the instruction");
    return std::nullopt;
  }
  return words_[used_++];
}

Decoded Decoder::decode() {
  if (words_.empty()) return {{}, 0, "no code"};
  const std::uint32_t word = words_[used_++];
  bool known = false;
  if (!bit(word, 31)) {
    known = vector_short();
  } else if (field(word, 30, 2) == 0b10) {
    if (field(word, 23, 9) == 0b101111111) {
      known = program_control();
    } else if (field(word, 28, 4) == 0b1011 && field(word, 23, 9) < 0b101111101) {
      known = constant_alu();
    } else {
      known = scalar_alu();
    }
  } else {
    switch (field(word, 26, 6)) {
      case 0b110010:
        known = dual();
        break;
      case 0b110011:
        known = field(word, 24, 2) == 0
                    ? packed()
                    : refuse(join(name_of_refused_format(word), " is not built"));
        break;
      case 0b110101:
        known = vector_long();
        break;
      case 0b110110:
        known = lds();
        break;
      case 0b110111:
        known = flat();
        break;
      case 0b111000:
        known = buffer();
        break;
      case 0b111101:
        known = scalar_memory();
        break;
      default:
        known = refuse(join("an instruction ", name_of_refused_format(word)));
        break;
    }
  }
  if (known) {
    if (result_.count == 0) {
      result_.instructions[0] = instruction_;
      result_.count = 1;
    }
    result_.instructions[0].size = static_cast<std::uint8_t>(used_ * 4);
    return result_;
  }
  std::string text;
  for (std::size_t i = 0; i < std::min<std::size_t>(words_.size(), std::max<std::size_t>(used_, 1));
       ++i) {
    text += join(i == 0 ? "" : " ", hex(words_[i], 8));
  }
  return {{}, 0, join(text, ": ", error_)};
}

Decoded decode(std::span<const std::uint32_t> words) { return Decoder(words).decode(); }

unsigned size_in_words(std::span<const std::uint32_t> words) {
  if (words.empty()) return 0;
  const std::uint32_t word = words[0];
  // Whether a literal or DPP word follows the one or two words of the encoding.
  const auto has_extra = [](unsigned code) {
    return code == kSourceLiteral || code == kSourceDpp16 || code == kSourceDpp8 ||
           code == kSourceDpp8FetchInactive;
  };
  unsigned size = 1;
  if (!bit(word, 31)) {
    size = has_extra(field(word, 0, 9)) ? 2 : 1;
  } else if (field(word, 30, 2) == 0b10) {
    const bool is_sopp = field(word, 23, 9) == 0b101111111;
    const bool is_sopk = field(word, 28, 4) == 0b1011 && field(word, 23, 9) < 0b101111101;
    const bool has_two = field(word, 23, 9) != 0b101111101;
    if (!is_sopp && !is_sopk) {
      size = has_extra(field(word, 0, 8)) || (has_two && has_extra(field(word, 8, 8))) ? 2 : 1;
    }
  } else {
    size = 2;
    if (words.size() > 1 && (field(word, 26, 6) == 0b110101 || field(word, 26, 6) == 0b110011)) {
      for (unsigned i = 0; i != 3; ++i) {
        if (has_extra(field(words[1], 9 * i, 9))) size = 3;
      }
    }
  }
  return std::min<unsigned>(size, static_cast<unsigned>(words.size()));
}

}  // namespace halyard::inline v0::sim::gfx
