// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tokens of a preprocessed text in the Metal Shading Language. Blanks, comments and lines that
// begin with # are kept before the token that follows, so that the text can be written again with
// its lines unchanged.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace halyard::inline v0::sim::msl {

struct Token {
  enum class Kind : unsigned char { kWord, kNumber, kString, kPunctuation, kEnd };
  std::string_view space;  // what stands before it
  std::string_view text;
  Kind kind = Kind::kEnd;
  // What is written in its place; inserted texts stand right around it.
  std::string before, out, after;
  bool is(std::string_view t) const noexcept { return text == t; }
};

// The last token is kEnd. Each character of punctuation is a token of its own, but for "::".
// `text` must outlive the tokens.
std::vector<Token> tokenize(std::string_view text);
std::string write(const std::vector<Token>& tokens);

// The place of the bracket that closes the (, [ or { at `open`; the last place if there is none.
std::size_t closing(const std::vector<Token>& tokens, std::size_t open);
// The place behind the > that closes the < at `open` if what is between can be arguments of a
// template, otherwise `open`.
std::size_t behind_angles(const std::vector<Token>& tokens, std::size_t open);

}  // namespace halyard::inline v0::sim::msl
