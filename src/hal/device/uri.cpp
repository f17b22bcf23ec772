// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hal/device/uri.h"

#include "base/format.h"

namespace halyard::inline v0::hal {
namespace {

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool in_driver(char c) { return is_lower(c) || is_digit(c) || c == '_' || c == '-'; }
bool in_key(char c) { return is_lower(c) || is_digit(c) || c == '_'; }
bool in_value(char c) {
  return is_lower(c) || is_digit(c) || (c >= 'A' && c <= 'Z') ||
         std::string_view("._:/-").find(c) != std::string_view::npos;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<Uri> parse() {
    Uri uri;
    uri.driver = take(in_driver);
    if (uri.driver.empty() || !is_lower(uri.driver[0])) {
      at_ = 0;
      return wrong("a driver's name, in lower case,");
    }
    if (!skip("://")) return wrong("'://'");
    uri.path = take(in_value);
    if (at_ == text_.size()) return uri;
    if (!skip("?")) return wrong("'?' or the end");
    do {
      HALYARD_RETURN_IF_ERROR(parse_option(uri));
    } while (skip("&"));
    if (at_ != text_.size()) return wrong("'&' or the end");
    return uri;
  }

 private:
  Status parse_option(Uri& uri) {
    const std::size_t start = at_;
    std::string key = take(in_key);
    if (key.empty() || !is_lower(key[0])) {
      at_ = start;
      return wrong("an option's name");
    }
    if (!skip("=")) return wrong("'='");
    std::string value = take(in_value);
    if (value.empty()) return wrong("a value");
    if (!uri.options.emplace(std::move(key), std::move(value)).second) {
      at_ = start;
      return wrong("each option only once");
    }
    return {};
  }

  std::string take(bool (*allowed)(char)) {
    const std::size_t start = at_;
    while (at_ < text_.size() && allowed(text_[at_])) ++at_;
    return std::string(text_.substr(start, at_ - start));
  }
  bool skip(std::string_view token) {
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }
  Status wrong(std::string_view expected) const {
    return error(StatusCode::kInvalidArgument,
                 "URI {:?}: expected {} at character {}, as in cpu://0?workers=2", text_, expected,
                 at_ + 1);
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

std::vector<std::string_view> split_uris(std::string_view text) {
  std::vector<std::string_view> uris;
  for (std::size_t comma = text.find(','); comma != text.npos; comma = text.find(',')) {
    uris.push_back(text.substr(0, comma));
    text.remove_prefix(comma + 1);
  }
  uris.push_back(text);
  return uris;
}

Result<Uri> parse_uri(std::string_view text) {
  if (text.size() > kMaxUriLength) {
    return error(StatusCode::kInvalidArgument, "URI of {} characters: at most {} are allowed",
                 text.size(), kMaxUriLength);
  }
  return Parser(text).parse();
}

}  // namespace halyard::inline v0::hal
