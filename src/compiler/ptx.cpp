// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/ptx.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/format.h"

namespace halyard::inline v0::compiler {
namespace {

// PTX ISA 8.1, "Kernel function parameter attributes": 32764 bytes for sm_70 and above.
constexpr std::uint32_t kMaxParameterBytes = 32764;

// Functions that the CUDA driver provides.
constexpr std::array<std::string_view, 4> kSystemCalls = {"vprintf", "malloc", "free",
                                                          "__assertfail"};

struct Parameter {
  std::string type;  // "u64", or "b8[16]"
  bool is_struct = false;
  std::uint32_t offset = 0;
  std::uint32_t size = 0;
};

struct Entry {
  std::string_view name;
  std::vector<Parameter> parameters;
  std::vector<std::uint32_t> required_items;  // .reqntid, or empty
  std::vector<std::uint32_t> most_items;      // .maxntid, or empty
};

struct Declared {
  std::vector<Entry> entries;
  std::vector<std::string_view> missing;  // functions
};

// Words, ".words", numbers, and single characters, without comments. Empty at the end.
class Tokens {
 public:
  explicit Tokens(std::string_view text) : rest_(text) { next(); }

  std::string_view current() const { return token_; }
  bool at_end() const { return token_.empty(); }
  std::string_view take() {
    const std::string_view token = token_;
    next();
    return token;
  }
  bool skip(std::string_view token) {
    if (token_ != token) return false;
    next();
    return true;
  }
  void skip_to(std::string_view token) {
    while (!at_end() && !skip(token)) next();
  }
  std::optional<std::uint32_t> take_number() {
    const std::string_view token = take();
    std::uint32_t value = 0;
    const auto [stop, code] = std::from_chars(token.data(), token.data() + token.size(), value);
    if (code != std::errc() || stop != token.data() + token.size()) return std::nullopt;
    return value;
  }

 private:
  static bool is_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '%';
  }

  void next() {
    skip_blank();
    std::size_t length = rest_.empty() ? 0 : 1;
    if (length != 0 && (is_word(rest_[0]) || rest_[0] == '.')) {
      while (length < rest_.size() && is_word(rest_[length])) ++length;
    }
    token_ = rest_.substr(0, length);
    rest_.remove_prefix(length);
  }

  void skip_blank() {
    for (;;) {
      while (!rest_.empty() && std::isspace(static_cast<unsigned char>(rest_[0])) != 0) {
        rest_.remove_prefix(1);
      }
      const std::string_view end = rest_.starts_with("//")   ? "\n"
                                   : rest_.starts_with("/*") ? "*/"
                                                             : "";
      if (end.empty()) return;
      const std::size_t at = rest_.find(end, 2);
      rest_.remove_prefix(at == rest_.npos ? rest_.size() : at + end.size());
    }
  }

  std::string_view rest_;
  std::string_view token_;
};

// Bytes of "u32", "b8", ...; 0 if it is not the type of a parameter.
std::uint32_t size_of_type(std::string_view type) {
  if (type == "f16x2" || type == "bf16x2") return 4;
  const std::size_t digits = type.find_first_of("0123456789");
  if (digits == type.npos || (digits != 1 && type.substr(0, digits) != "bf") ||
      std::string_view("bufs").find(type[0]) == std::string_view::npos) {
    return 0;
  }
  for (const auto& [bits, bytes] :
       {std::pair("8", 1), {"16", 2}, {"32", 4}, {"64", 8}, {"128", 16}}) {
    if (type.substr(digits) == bits) return static_cast<std::uint32_t>(bytes);
  }
  return 0;
}

class Reader {
 public:
  explicit Reader(std::string_view ptx) : tokens_(ptx) {}

  // Nothing if the text cannot be parsed.
  std::optional<Declared> read() {
    while (!tokens_.at_end()) {
      if (tokens_.skip(".entry")) {
        if (!read_entry()) return std::nullopt;
      } else if (tokens_.skip(".extern")) {
        read_extern();
      } else {
        tokens_.take();
      }
    }
    return std::move(module_);
  }

 private:
  void read_extern() {
    if (!tokens_.skip(".func")) return;
    if (tokens_.skip("(")) tokens_.skip_to(")");
    const std::string_view name = tokens_.take();
    if (std::ranges::find(kSystemCalls, name) == kSystemCalls.end()) {
      module_.missing.push_back(name);
    }
  }

  bool read_entry() {
    Entry entry;
    entry.name = tokens_.take();
    if (tokens_.skip("(")) {
      std::uint32_t end = 0;
      while (!tokens_.skip(")")) {
        if (tokens_.at_end() || !read_parameter(end, entry)) return false;
        tokens_.skip(",");
      }
    }
    // The directives of an entry, up to its body.
    while (!tokens_.at_end() && tokens_.current() != "{" && tokens_.current() != ";") {
      const std::string_view directive = tokens_.take();
      if (directive != ".reqntid" && directive != ".maxntid") continue;
      std::vector<std::uint32_t>& items =
          directive == ".reqntid" ? entry.required_items : entry.most_items;
      do {
        const auto number = tokens_.take_number();
        if (!number || items.size() == 3) return false;
        items.push_back(*number);
      } while (tokens_.skip(","));
    }
    module_.entries.push_back(std::move(entry));
    return true;
  }

  // .param .align 4 .b8 name[16], or .param .u64 .ptr .global .align 4 name
  bool read_parameter(std::uint32_t& end, Entry& entry) {
    if (!tokens_.skip(".param")) return false;
    Parameter parameter;
    std::uint32_t alignment = 0;
    bool of_pointee = false;
    while (tokens_.current().starts_with('.')) {
      const std::string_view word = tokens_.take().substr(1);
      if (word == "align") {
        const auto number = tokens_.take_number();
        if (!number || *number == 0 || *number > 128) return false;
        if (!of_pointee) alignment = *number;
      } else if (word == "ptr") {
        of_pointee = true;
      } else if (const std::uint32_t size = size_of_type(word); size != 0) {
        parameter.type = word;
        parameter.size = size;
      }
    }
    if (parameter.size == 0) return false;
    if (alignment == 0) alignment = parameter.size;
    tokens_.take();  // its name
    if (tokens_.skip("[")) {
      const auto count = tokens_.take_number();
      if (!count || *count > kMaxParameterBytes || !tokens_.skip("]")) return false;
      parameter.type += fmt::format("[{}]", *count);
      parameter.is_struct = true;
      parameter.size *= *count;
    }
    parameter.offset = (end + alignment - 1) / alignment * alignment;
    end = parameter.offset + parameter.size;
    entry.parameters.push_back(std::move(parameter));
    return end <= kMaxParameterBytes;
  }

  Tokens tokens_;
  Declared module_;
};

bool is_floating(kernel::ElementType type) {
  return type == kernel::ElementType::kFloat32 || type == kernel::ElementType::kFloat64;
}

// Compares one kernel with its entry.
class Fit {
 public:
  Fit(const Entry& entry, Kernel& kernel) : entry_(entry), kernel_(kernel) {}

  Status check() {
    HALYARD_RETURN_IF_ERROR(check_items());
    HALYARD_RETURN_IF_ERROR(check_addresses());
    return check_constants();
  }

 private:
  template <class... Args>
  static Status wrong(fmt::format_string<Args...> format, Args&&... args) {
    return error(StatusCode::kInvalidArgument, format, std::forward<Args>(args)...);
  }

  Status check_items() const {
    std::array<std::uint32_t, 3> required = {1, 1, 1};
    std::ranges::copy(entry_.required_items, required.begin());
    if (!entry_.required_items.empty() && required != kernel_.workgroup_size) {
      return wrong("workgroup_size is {}, the entry requires {}",
                   fmt::join(kernel_.workgroup_size, " x "), fmt::join(required, " x "));
    }
    std::uint64_t most = 1;
    for (const std::uint32_t items : entry_.most_items) most *= items;
    const auto& size = kernel_.workgroup_size;
    if (entry_.most_items.empty() || std::uint64_t{size[0]} * size[1] * size[2] <= most) return {};
    return wrong("workgroup_size is {}, the entry allows {} items", fmt::join(size, " x "), most);
  }

  Status check_addresses() const {
    for (std::size_t i = 0; i < kernel_.bindings.size(); ++i) {
      const std::string& name = kernel_.bindings[i].name;
      if (i >= entry_.parameters.size()) {
        return wrong("binding {} has no parameter; the entry has {}", name,
                     entry_.parameters.size());
      }
      const Parameter& parameter = entry_.parameters[i];
      if (parameter.size != 8 || parameter.type == "f64" || parameter.offset != 8 * i) {
        return wrong("parameter {} is .{}; binding {} is an address of 8 bytes", i, parameter.type,
                     name);
      }
    }
    return {};
  }

  Status check_constants() const {
    const auto base = static_cast<std::uint32_t>(8 * kernel_.bindings.size());
    auto constant = kernel_.constants.begin();
    std::uint32_t end = 0;  // of the parameters, from the first constant
    for (std::size_t i = kernel_.bindings.size(); i < entry_.parameters.size(); ++i) {
      const Parameter& parameter = entry_.parameters[i];
      const std::uint32_t offset = parameter.offset - base;
      end = offset + parameter.size;
      const auto first = constant;
      while (constant != kernel_.constants.end() &&
             (parameter.is_struct ? constant->offset < end : constant == first)) {
        HALYARD_RETURN_IF_ERROR(check_constant(*constant, i, parameter, offset, end));
        ++constant;
      }
      if (constant == first)
        return wrong("parameter {}, .{}, is not a constant", i, parameter.type);
    }
    if (constant != kernel_.constants.end()) {
      return wrong("constant {} has no parameter; the entry has {}", constant->name,
                   entry_.parameters.size());
    }
    if (kernel_.constants_bytes > end) {
      return wrong("constants_bytes is {}, the entry takes {}", kernel_.constants_bytes, end);
    }
    kernel_.constants_bytes = end;
    return {};
  }

  static Status check_constant(const Constant& constant, std::size_t index,
                               const Parameter& parameter, std::uint32_t offset,
                               std::uint32_t end) {
    const auto size = static_cast<std::uint32_t>(size_of(constant.type));
    const char kind = parameter.type[0];
    const bool fits = parameter.is_struct
                          ? constant.offset >= offset && size <= end - constant.offset
                          : constant.offset == offset && size == parameter.size &&
                                (kind == 'b' || (kind == 'f') == is_floating(constant.type));
    if (fits) return {};
    return wrong("parameter {} is .{} at byte {}; constant {} is {} at byte {}", index,
                 parameter.type, offset, constant.name, to_string(constant.type), constant.offset);
  }

  const Entry& entry_;
  Kernel& kernel_;
};

}  // namespace

Status fit_to_ptx(std::string_view source, std::string_view ptx, std::vector<Kernel>& kernels) {
  const std::optional<Declared> module = Reader(ptx).read();
  if (!module) {
    return error(StatusCode::kInvalidArgument, "{}: PTX with an .entry that cannot be parsed",
                 source);
  }
  if (!module->missing.empty()) {
    return error(StatusCode::kInvalidArgument,
                 "{}: calls {}, which it does not define; a kernel is loaded without linking",
                 source, fmt::join(module->missing, ", "));
  }
  for (Kernel& kernel : kernels) {
    const auto entry = std::ranges::find(module->entries, kernel.name, &Entry::name);
    if (entry == module->entries.end()) {
      std::string names;
      for (const Entry& each : module->entries) {
        names.append(names.empty() ? "" : ", ").append(each.name);
      }
      return error(
          StatusCode::kInvalidArgument,
          "{}: kernel {} is not an .entry of its PTX, which has {}; a C++ function keeps its "
          "name as extern \"C\" __global__",
          source, kernel.name, names.empty() ? "none" : names);
    }
    if (const Status status = Fit(*entry, kernel).check(); !status.ok()) {
      return error(StatusCode::kInvalidArgument, "{}: kernel {}: {}", source, kernel.name,
                   status.message());
    }
  }
  return {};
}

}  // namespace halyard::inline v0::compiler
