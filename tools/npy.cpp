// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "npy.h"

#include <fmt/ranges.h>

#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <limits>
#include <new>
#include <optional>
#include <utility>

#include "base/format.h"
#include "file.h"

namespace halyard::inline v0::tools {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are copied as they are");

constexpr std::string_view kMagic = "\x93NUMPY";
// numpy.lib.format writes version 2 beyond this; 64 dimensions of 20 digits stay far below.
constexpr std::size_t kMaxHeaderV1 = 0xffff;

struct TypeName {
  std::string_view name;  // without the byte order
  ElementType type;
};
constexpr std::array<TypeName, 11> kTypes = {{{"f4", ElementType::kFloat32},
                                              {"i4", ElementType::kInt32},
                                              {"u4", ElementType::kUint32},
                                              {"f8", ElementType::kFloat64},
                                              {"i8", ElementType::kInt64},
                                              {"u8", ElementType::kUint64},
                                              {"f2", ElementType::kFloat16},
                                              {"i2", ElementType::kInt16},
                                              {"u2", ElementType::kUint16},
                                              {"i1", ElementType::kInt8},
                                              {"u1", ElementType::kUint8}}};

// '<', '=' or nothing before the name; '|', which means "not applicable", before one byte.
std::optional<ElementType> element_type(std::string_view descr) {
  const char order = descr.empty() ? '\0' : descr.front();
  if (order == '<' || order == '=' || order == '|') descr.remove_prefix(1);
  for (const TypeName& known : kTypes) {
    if (known.name != descr) continue;
    if (order == '|' && size_of(known.type) != 1) return std::nullopt;
    return known.type;
  }
  return std::nullopt;
}

std::string descr_of(ElementType type) {
  for (const TypeName& known : kTypes) {
    if (known.type == type) return fmt::format("{}{}", size_of(type) == 1 ? '|' : '<', known.name);
  }
  return {};
}

// The header: a Python dict of three known keys, in any order, each once.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, std::string_view name) : text_(text), name_(name) {}

  struct Header {
    ElementType element;
    std::vector<std::uint64_t> shape;
  };

  Result<Header> parse() {
    std::optional<std::string_view> descr;
    std::optional<bool> fortran_order;
    std::optional<std::vector<std::uint64_t>> shape;
    if (!take('{')) return damaged("no dict");
    while (!take('}')) {
      const auto key = string();
      if (!key || !take(':')) return damaged("a key and ':' expected");
      if (*key == "descr" && !descr) {
        // A list describes the fields of a record.
        if (peek() == '[') return unsupported("elements are records");
        descr = string();
        if (!descr) return damaged("'descr' is not a string");
      } else if (*key == "fortran_order" && !fortran_order) {
        fortran_order = boolean();
        if (!fortran_order) return damaged("'fortran_order' is neither True nor False");
      } else if (*key == "shape" && !shape) {
        shape = tuple();
        if (!shape) return damaged("'shape' is not a tuple of lengths");
      } else {
        return damaged("a repeated or unknown key");
      }
      if (!take(',') && peek() != '}') return damaged("',' or '}' expected");
    }
    skip_space();
    if (at_ != text_.size()) return damaged("text after the dict");
    if (!descr || !fortran_order || !shape) {
      return damaged("'descr', 'fortran_order' or 'shape' is missing");
    }
    const auto element = element_type(*descr);
    if (!element) return unsupported(fmt::format("element type '{}'", descr->substr(0, 32)));
    if (*fortran_order && shape->size() > 1) return unsupported("Fortran order");
    return Header{*element, *std::move(shape)};
  }

 private:
  Status damaged(std::string_view what) const {
    return error(StatusCode::kDataLoss, "{}: damaged .npy header, at character {}: {}", name_, at_,
                 what);
  }
  Status unsupported(std::string_view what) const {
    return error(StatusCode::kUnimplemented,
                 "{}: {} is not read; little-endian numbers in C order are", name_, what);
  }

  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  char peek() {
    skip_space();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  bool take_word(std::string_view word) {
    skip_space();
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  // A string in either quotes. Valid headers have no escapes.
  std::optional<std::string_view> string() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') return std::nullopt;
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view value = text_.substr(at_ + 1, end - at_ - 1);
    for (const char c : value) {
      if (c < ' ' || c > '~' || c == '\\') return std::nullopt;
    }
    at_ = end + 1;
    return value;
  }
  std::optional<bool> boolean() {
    if (take_word("True")) return true;
    if (take_word("False")) return false;
    return std::nullopt;
  }
  // (), (3,) or (3, 4): in Python (3) is a number.
  std::optional<std::vector<std::uint64_t>> tuple() {
    std::vector<std::uint64_t> values;
    if (!take('(')) return std::nullopt;
    bool comma = true;
    while (!take(')')) {
      if (!comma || values.size() == kMaxNpyDimensions) return std::nullopt;
      skip_space();
      std::uint64_t value = 0;
      const char* const end = text_.data() + text_.size();
      const auto [stop, code] = std::from_chars(text_.data() + at_, end, value);
      if (code != std::errc()) return std::nullopt;
      at_ = static_cast<std::size_t>(stop - text_.data());
      values.push_back(value);
      comma = take(',');
    }
    if (values.size() == 1 && !comma) return std::nullopt;
    return values;
  }

  std::string_view text_;
  std::string_view name_;
  std::size_t at_ = 0;
};

}  // namespace

Result<std::size_t> npy_bytes(ElementType element, std::span<const std::uint64_t> shape) {
  constexpr std::uint64_t kLimit = std::numeric_limits<std::int64_t>::max();
  std::uint64_t bytes = size_of(element);
  bool too_large = false;
  // A zero makes the array empty, whatever the other dimensions are.
  for (const std::uint64_t length : shape) {
    if (length == 0) return std::size_t{0};
    too_large = too_large || bytes > kLimit / length;
    if (!too_large) bytes *= length;
  }
  if (too_large) {
    return error(StatusCode::kOutOfRange, "an array of ({}) {} has more than 2^63 bytes",
                 fmt::join(shape, ", "), to_string(element));
  }
  return static_cast<std::size_t>(bytes);
}

Result<NpyArray> parse_npy(std::vector<std::byte> file, std::string_view name) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  if (!text.starts_with(kMagic)) {
    return error(StatusCode::kDataLoss, "{}: not a .npy file: it does not begin with \\x93NUMPY",
                 name);
  }
  // Magic, version (major, minor), length of the header: 2 bytes in version 1, then 4.
  const std::size_t length_at = kMagic.size() + 2;
  const unsigned version = text.size() < length_at ? 0 : std::to_integer<unsigned>(file[6]);
  const std::size_t length_size = version == 1 ? 2 : 4;
  if (text.size() < length_at + length_size) {
    return error(StatusCode::kDataLoss, "{}: truncated after {} bytes, in the header", name,
                 text.size());
  }
  if (version < 1 || version > 3) {
    return error(StatusCode::kDataLoss, "{}: .npy version {}; there are 1, 2 and 3", name, version);
  }
  std::uint32_t length = 0;
  std::memcpy(&length, text.data() + length_at, length_size);
  const std::size_t header_at = length_at + length_size;
  if (length > text.size() - header_at) {
    return error(StatusCode::kDataLoss, "{}: truncated: its header has {} bytes, the file {} more",
                 name, length, text.size() - header_at);
  }
  const std::string_view header = text.substr(header_at, length);
  if (!header.ends_with('\n')) {
    return error(StatusCode::kDataLoss, "{}: damaged .npy header: it does not end its line", name);
  }
  HALYARD_ASSIGN_OR_RETURN(auto parsed, HeaderParser(header, name).parse());

  const std::size_t data_at = header_at + length;
  const std::size_t available = file.size() - data_at;
  const auto needed = npy_bytes(parsed.element, parsed.shape);
  if (!needed.ok() || *needed != available) {
    return error(StatusCode::kDataLoss, "{}: ({}) {} need {} bytes, the file has {}", name,
                 fmt::join(parsed.shape, ", "), to_string(parsed.element),
                 needed.ok() ? fmt::to_string(*needed) : "more than 2^63", available);
  }
  file.erase(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(data_at));
  return NpyArray{parsed.element, std::move(parsed.shape), std::move(file)};
}

Result<NpyArray> read_npy(const std::string& path) {
  HALYARD_ASSIGN_OR_RETURN(auto file, read_file(path));
  return parse_npy(std::move(file), path);
}

Result<std::string> npy_head(const NpyArray& array, std::string_view name) {
  const auto needed = npy_bytes(array.element, array.shape);
  if (!needed.ok() || *needed != array.bytes.size() || array.shape.size() > kMaxNpyDimensions) {
    return error(StatusCode::kInvalidArgument, "{}: {} bytes do not fill ({}) {}", name,
                 array.bytes.size(), fmt::join(array.shape, ", "), to_string(array.element));
  }
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}",
                                   descr_of(array.element), fmt::join(array.shape, ", "),
                                   array.shape.size() == 1 ? "," : "");
  const std::size_t start = kMagic.size() + 4;
  header.append(kNpyAlignment - 1 - (start + header.size()) % kNpyAlignment, ' ').push_back('\n');
  static_assert(kMaxNpyDimensions * 22 + 128 < kMaxHeaderV1);

  std::string head(kMagic);
  head +=
      {'\1', '\0', static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
  head += header;
  return head;
}

Status write_npy(const std::string& path, const NpyArray& array) {
  HALYARD_ASSIGN_OR_RETURN(const std::string head, npy_head(array, path));
  return write_file(path, {std::as_bytes(std::span(head)), array.bytes});
}

}  // namespace halyard::inline v0::tools
