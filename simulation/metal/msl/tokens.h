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
  std::string_view space;  // the text before it
  std::string_view text;
  Kind kind = Kind::kEnd;
  // `out` replaces the text; `before` and `after` are written directly around it.
  std::string before, out, after;
  bool is(std::string_view t) const noexcept { return text == t; }
};

// The last token is kEnd. Each character of punctuation is a separate token, except "::". `text`
// must outlive the tokens.
std::vector<Token> tokenize(std::string_view text);
std::string write(const std::vector<Token>& tokens);

// The index of the bracket that closes the (, [ or { at `open`; the last index if there is none.
std::size_t closing(const std::vector<Token>& tokens, std::size_t open);
// The index after the > that closes the < at `open`, if the tokens between them can be template
// arguments; otherwise `open`.
std::size_t behind_angles(const std::vector<Token>& tokens, std::size_t open);

}  // namespace halyard::inline v0::sim::msl
