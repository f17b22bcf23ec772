// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/cuda/ptx/constant_expression.h"

#include <array>
#include <bit>
#include <charconv>
#include <cstdlib>
#include <utility>

namespace halyard::inline v0::sim::ptx {
namespace {

// Parentheses and unary operators may nest this deep; the parser recurses for each.
constexpr int kMostDepth = 200;

struct Operator {
  std::string_view text;
  int precedence;
};
constexpr std::array<Operator, 18> kOperators = {{{"||", 1},
                                                  {"&&", 2},
                                                  {"|", 3},
                                                  {"^", 4},
                                                  {"&", 5},
                                                  {"==", 6},
                                                  {"!=", 6},
                                                  {"<", 7},
                                                  {">", 7},
                                                  {"<=", 7},
                                                  {">=", 7},
                                                  {"<<", 8},
                                                  {">>", 8},
                                                  {"+", 9},
                                                  {"-", 9},
                                                  {"*", 10},
                                                  {"/", 10},
                                                  {"%", 10}}};

std::uint64_t compute(std::string_view op, std::uint64_t a, std::uint64_t b, bool is_unsigned,
                      bool& is_valid) {
  const auto sa = static_cast<std::int64_t>(a);
  const auto sb = static_cast<std::int64_t>(b);
  const auto less = [&] { return is_unsigned ? a < b : sa < sb; };
  if (op == "||") return (a != 0 || b != 0) ? 1 : 0;
  if (op == "&&") return (a != 0 && b != 0) ? 1 : 0;
  if (op == "|") return a | b;
  if (op == "^") return a ^ b;
  if (op == "&") return a & b;
  if (op == "==") return a == b ? 1 : 0;
  if (op == "!=") return a != b ? 1 : 0;
  if (op == "<") return less() ? 1 : 0;
  if (op == ">=") return less() ? 0 : 1;
  if (op == ">") return less() || a == b ? 0 : 1;
  if (op == "<=") return less() || a == b ? 1 : 0;
  if (op == "<<") return b < 64 ? a << b : 0;
  if (op == ">>") {
    if (is_unsigned) return b < 64 ? a >> b : 0;
    return static_cast<std::uint64_t>(sa >> (b < 63 ? b : 63));
  }
  if (op == "+") return a + b;
  if (op == "-") return a - b;
  if (op == "*") return a * b;
  // INT64_MIN / -1 does not fit.
  is_valid = b != 0 && (is_unsigned || sb != -1 || sa != INT64_MIN);
  if (!is_valid) return 0;
  if (op == "/") return is_unsigned ? a / b : static_cast<std::uint64_t>(sa / sb);
  return is_unsigned ? a % b : static_cast<std::uint64_t>(sa % sb);
}

// "12", "0x1FU", "017", "0b101", "1.5e3", "0f3F800000", "0d3FF0000000000000"
bool parse_number(std::string_view text, Constant& result) {
  const auto integer = [&](std::string_view digits, int base) {
    if (digits.ends_with('U') || digits.ends_with('u')) {
      digits.remove_suffix(1);
      result.is_unsigned = true;
    }
    const auto [end, code] =
        std::from_chars(digits.data(), digits.data() + digits.size(), result.bits, base);
    if (result.bits > INT64_MAX) result.is_unsigned = true;
    return code == std::errc() && end == digits.data() + digits.size();
  };
  if (text.size() > 2 && text[0] == '0') {
    const char kind = text[1];
    const std::string_view digits = text.substr(2);
    if (kind == 'x' || kind == 'X') return integer(digits, 16);
    if (kind == 'f' || kind == 'F') {
      result.number = Number::kFloat;
      return digits.size() == 8 && integer(digits, 16);
    }
    if (kind == 'd' || kind == 'D') {
      result.number = Number::kDouble;
      return digits.size() == 16 && integer(digits, 16);
    }
    if (kind == 'b' || kind == 'B') return integer(digits, 2);
  }
  if (text.find_first_of(".eE") != text.npos) {
    double value = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    result.number = Number::kDouble;
    result.bits = std::bit_cast<std::uint64_t>(value);
    return code == std::errc() && end == text.data() + text.size();
  }
  return integer(text, text.size() > 1 && text[0] == '0' ? 8 : 10);
}

}  // namespace

void TokenStream::fail(std::string message) const {
  throw SyntaxError{token_.line, std::move(message)};
}

void TokenStream::unexpected() const {
  if (token_.kind == Token::Kind::kEnd) fail("Parsing error near end of input: syntax error");
  fail("Parsing error near '" + std::string(token_.text.substr(0, 40)) + "': syntax error");
}

void TokenStream::expect(std::string_view text) {
  if (!skip(text)) unexpected();
}

std::string_view TokenStream::expect_word() {
  if (token_.kind != Token::Kind::kWord) unexpected();
  return take().text;
}

void TokenStream::skip_line() {
  lexer_.skip_line();
  take();
}

Constant TokenStream::primary() {
  if (skip("(")) {
    // Casts: (.s64) and (.u64).
    if (at(".s64") || at(".u64")) {
      const bool is_unsigned = take().text == ".u64";
      expect(")");
      Constant value = unary();
      value.is_unsigned = is_unsigned;
      return value;
    }
    const Constant value = binary(1);
    expect(")");
    return value;
  }
  if (token_.kind == Token::Kind::kWord && token_.text == "WARP_SZ") {
    take();
    return {Number::kInteger, 32, false};
  }
  if (token_.kind != Token::Kind::kNumber) unexpected();
  Constant value;
  if (!parse_number(token_.text, value)) unexpected();
  take();
  return value;
}

Constant TokenStream::unary() {
  if (++depth_ > kMostDepth) fail("Expression too deep");
  Constant value;
  if (skip("-")) {
    value = unary();
    switch (value.number) {
      case Number::kInteger:
        value.bits = 0 - value.bits;
        break;
      case Number::kFloat:
        value.bits ^= 0x80000000;
        break;
      case Number::kDouble:
        value.bits ^= std::uint64_t{1} << 63;
        break;
    }
  } else if (skip("+")) {
    value = unary();
  } else if (skip("!")) {
    value = unary();
    value.bits = value.bits == 0 ? 1 : 0;
  } else if (skip("~")) {
    value = unary();
    value.bits = ~value.bits;
  } else {
    value = primary();
  }
  --depth_;
  return value;
}

Constant TokenStream::binary(int lowest) {
  Constant left = unary();
  for (;;) {
    int precedence = 0;
    if (token_.kind == Token::Kind::kPunctuation) {
      for (const Operator& each : kOperators) {
        if (each.text == token_.text) precedence = each.precedence;
      }
    }
    if (precedence < lowest || precedence == 0) return left;
    const std::string_view op = take().text;
    const Constant right = binary(precedence + 1);
    if (left.number != Number::kInteger || right.number != Number::kInteger) {
      fail("Arithmetic on floating-point constants is not supported");
    }
    bool is_valid = true;
    left.is_unsigned = left.is_unsigned || right.is_unsigned;
    left.bits = compute(op, left.bits, right.bits, left.is_unsigned, is_valid);
    if (!is_valid) fail("Division by zero in a constant expression");
  }
}

Constant TokenStream::constant() {
  Constant value = binary(1);
  if (skip("?")) {
    const Constant first = binary(1);
    expect(":");
    const Constant second = binary(1);
    value = value.bits != 0 ? first : second;
  }
  return value;
}

std::uint64_t TokenStream::integer() {
  const Constant value = constant();
  if (value.number != Number::kInteger) fail("Integer constant expected");
  return value.bits;
}

std::uint32_t TokenStream::range() {
  const Constant value = primary();
  if (value.number != Number::kInteger || value.bits >= UINT32_MAX) fail("Invalid range");
  return static_cast<std::uint32_t>(value.bits);
}

std::uint32_t TokenStream::small_integer(std::uint32_t most) {
  const std::uint64_t value = integer();
  if (value > most) fail("Value out of range, expected at most " + std::to_string(most));
  return static_cast<std::uint32_t>(value);
}

}  // namespace halyard::inline v0::sim::ptx
