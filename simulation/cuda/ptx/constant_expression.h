// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A token stream with a token of look-ahead, and the evaluation of constant expressions in it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "simulation/cuda/ptx/lexer.h"
#include "simulation/cuda/ptx/syntax.h"

namespace halyard::inline v0::sim::ptx {

struct Constant {
  Number number = Number::kInteger;
  std::uint64_t bits = 0;
  bool is_unsigned = false;
};

class TokenStream {
 public:
  explicit TokenStream(std::string_view text) : lexer_(text), token_(lexer_.next()) {}

  const Token& current() const { return token_; }
  std::uint32_t line() const { return token_.line; }
  bool at(std::string_view text) const {
    return token_.text == text && token_.kind != Token::Kind::kString;
  }
  bool at_kind(Token::Kind kind) const { return token_.kind == kind; }
  Token take() {
    const Token token = token_;
    token_ = lexer_.next();
    return token;
  }
  bool skip(std::string_view text) {
    if (!at(text)) return false;
    take();
    return true;
  }
  void expect(std::string_view text);
  std::string_view expect_word();
  // Drops the rest of the line of the token that the caller looked at last.
  void skip_line();

  [[noreturn]] void fail(std::string message) const;
  [[noreturn]] void unexpected() const;

  // A constant expression: C's operators on 64-bit integers, or a single floating-point number.
  Constant constant();
  std::uint64_t integer();
  std::uint32_t small_integer(std::uint32_t most);
  std::uint32_t range();  // one number, before ">"

 private:
  Constant primary();
  Constant binary(int lowest);
  Constant unary();

  Lexer lexer_;
  Token token_;
  int depth_ = 0;
};

}  // namespace halyard::inline v0::sim::ptx
