// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <string_view>

namespace halyard::inline v0::sim::ptx {

struct Token {
  enum class Kind : std::uint8_t {
    kEnd,
    kWord,        // a name, with its % or $
    kDotWord,     // ".u32", ".shared::cta"
    kNumber,      // its text; see parse_number()
    kString,      // without its quotes
    kPunctuation  // one character, or << >> <= >= == != && ||
  };
  Kind kind = Kind::kEnd;
  std::uint32_t line = 1;
  std::string_view text;
};

// Splits a text into tokens and drops comments.
class Lexer {
 public:
  explicit Lexer(std::string_view text) : rest_(text) {}
  Token next();
  void skip_line();

 private:
  void skip_blank();
  void drop(std::size_t count);

  std::string_view rest_;
  std::uint32_t line_ = 1;
};

}  // namespace halyard::inline v0::sim::ptx
