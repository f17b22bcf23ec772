// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/metal_text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <span>
#include <utility>

#include "base/format.h"
#include "kernel/device_abi.h"

namespace halyard::inline v0::compiler {
namespace {

using kernel::Access;
using kernel::ElementType;

bool is_word_part(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

using MetalTokens = std::span<const std::string_view>;

// Words, numbers, and single characters. "[[" and "]]" are two characters each.
std::vector<std::string_view> tokens_of(std::string_view text) {
  std::vector<std::string_view> tokens;
  bool begins_line = true;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '\n') begins_line = true;
    if (std::isspace(static_cast<unsigned char>(c)) != 0) {
      ++at;
      continue;
    }
    std::size_t end = at + 1;
    if (c == '#' && begins_line) {  // to the end of the line that no backslash continues
      do {
        end = std::min(text.find('\n', end), text.size());
      } while (end < text.size() && text[end - 1] == '\\' && ++end != 0);
      at = end;
      continue;
    }
    begins_line = false;
    if (text.substr(at, 2) == "//") {
      at = std::min(text.find('\n', at), text.size());
      continue;
    }
    if (text.substr(at, 2) == "/*") {
      const std::size_t close = text.find("*/", at + 2);
      at = close == text.npos ? text.size() : close + 2;
      continue;
    }
    if (c == '"' || c == '\'') {
      while (end < text.size() && text[end] != c) end += text[end] == '\\' ? 2 : 1;
      end = std::min(end + 1, text.size());
    } else if (is_word_part(c)) {
      while (end < text.size() && is_word_part(text[end])) ++end;
    }
    tokens.push_back(text.substr(at, end - at));
    at = end;
  }
  return tokens;
}

bool is_name(std::string_view token) {
  return is_word_part(token[0]) && std::isdigit(static_cast<unsigned char>(token[0])) == 0;
}

std::optional<std::uint32_t> number_of(std::string_view token) {
  const std::string text(token);
  char* end = nullptr;
  const unsigned long value = std::strtoul(text.c_str(), &end, 0);
  if (end == text.c_str() || value > 0xffff'ffff) return std::nullopt;
  return static_cast<std::uint32_t>(value);
}

// The token after the bracket that `tokens[at]` opens.
std::size_t behind(MetalTokens tokens, std::size_t at) {
  int depth = 0;
  for (; at < tokens.size(); ++at) {
    const char c = tokens[at][0];
    if (c == '(' || c == '[' || c == '{') ++depth;
    if (c == ')' || c == ']' || c == '}') --depth;
    if (depth == 0) return at + 1;
  }
  return at;
}

// The tokens [begin, end). Empty if end < begin, as in a text that ends early.
MetalTokens between(MetalTokens tokens, std::size_t begin, std::size_t end) {
  end = std::min(end, tokens.size());
  return begin < end ? tokens.subspan(begin, end - begin) : MetalTokens();
}

bool opens_attribute(MetalTokens tokens, std::size_t at) {
  return at + 1 < tokens.size() && tokens[at] == "[" && tokens[at + 1] == "[";
}

// [[name(value), name]]; `inside` is what the two brackets enclose.
void add_attributes(MetalTokens inside, std::vector<MetalVariable::Attribute>& to) {
  for (std::size_t at = 0; at < inside.size(); ++at) {
    if (!is_name(inside[at])) continue;
    MetalVariable::Attribute attribute{.name = std::string(inside[at]), .value = {}};
    if (at + 2 < inside.size() && inside[at + 1] == "(") {
      attribute.value = number_of(inside[at + 2]);
      at = behind(inside, at + 1) - 1;
    }
    to.push_back(std::move(attribute));
  }
}

// The parts of `tokens` between `separator`s that no bracket encloses.
std::vector<MetalTokens> parts_of(MetalTokens tokens, std::string_view separator) {
  std::vector<MetalTokens> parts;
  std::size_t begin = 0;
  int angles = 0;
  for (std::size_t at = 0; at <= tokens.size(); ++at) {
    if (at == tokens.size() || (tokens[at] == separator && angles == 0)) {
      if (at != begin) parts.push_back(tokens.subspan(begin, at - begin));
      begin = at + 1;
      continue;
    }
    const char c = tokens[at][0];
    if (c == '<') ++angles;
    if (c == '>') --angles;
    if (c == '(' || c == '[' || c == '{') at = behind(tokens, at) - 1;
  }
  return parts;
}

MetalVariable variable_of(MetalTokens tokens) {
  static constexpr std::string_view kQualifiers[] = {"const",      "volatile",     "restrict",
                                                     "__restrict", "__restrict__", "struct",
                                                     "coherent",   "alignas"};
  static constexpr std::string_view kSpaces[] = {"device", "constant", "threadgroup", "thread"};
  MetalVariable variable;
  std::vector<std::string_view> words;
  for (std::size_t at = 0; at < tokens.size(); ++at) {
    const std::string_view token = tokens[at];
    if (opens_attribute(tokens, at)) {
      const std::size_t end = behind(tokens, at);
      add_attributes(between(tokens, at + 2, end - 2), variable.attributes);
      at = end - 1;
    } else if (token == "[") {
      if (at + 1 < tokens.size()) variable.extent = number_of(tokens[at + 1]).value_or(0);
      at = behind(tokens, at) - 1;
    } else if (token == "<") {  // of a template: another type than the word before it
      words.push_back("<>");
      while (at + 1 < tokens.size() && tokens[at] != ">") ++at;
    } else if (token == "(") {
      at = behind(tokens, at) - 1;
    } else if (token == "*") {
      variable.is_pointer = true;
    } else if (token == "&") {
      variable.is_reference = true;
    } else if (std::ranges::find(kSpaces, token) != std::end(kSpaces)) {
      variable.space = token;
    } else if (token == "const" && !variable.is_pointer) {
      variable.is_const = true;
    } else if (is_name(token) && std::ranges::find(kQualifiers, token) == std::end(kQualifiers)) {
      words.push_back(token);
    }
  }
  if (!words.empty()) variable.name = words.back();
  if (words.size() > 1) variable.type = words[words.size() - 2];
  return variable;
}

// ---- Types of numbers ------------------------------------------------------------------------

struct NumberType {
  ElementType type = ElementType::kUint8;
  std::uint32_t count = 0;  // 0: the type is not known
  std::uint32_t size = 0;   // bytes
  std::uint32_t alignment = 1;
};

// "float", "uint3", "packed_float3": section 2.
NumberType numbers_of(std::string_view name) {
  using enum ElementType;
  static constexpr std::pair<std::string_view, ElementType> kScalars[] = {
      {"float", kFloat32},    {"int", kInt32},          {"uint", kUint32},
      {"half", kFloat16},     {"short", kInt16},        {"ushort", kUint16},
      {"char", kInt8},        {"uchar", kUint8},        {"long", kInt64},
      {"ulong", kUint64},     {"int32_t", kInt32},      {"uint32_t", kUint32},
      {"int16_t", kInt16},    {"uint16_t", kUint16},    {"int8_t", kInt8},
      {"uint8_t", kUint8},    {"int64_t", kInt64},      {"uint64_t", kUint64},
      {"atomic_int", kInt32}, {"atomic_uint", kUint32}, {"atomic_float", kFloat32},
  };
  const bool packed = name.starts_with("packed_");
  if (packed) name.remove_prefix(7);
  NumberType result;
  const auto find = [&](std::string_view scalar) {
    const auto* const found =
        std::ranges::find(kScalars, scalar, &std::pair<std::string_view, ElementType>::first);
    if (found == std::end(kScalars)) return false;
    result.type = found->second;
    return true;
  };
  if (find(name)) {
    result.count = 1;
  } else if (name.size() > 1 && name.back() >= '2' && name.back() <= '4' &&
             find(name.substr(0, name.size() - 1))) {
    result.count = static_cast<std::uint32_t>(name.back() - '0');
  }
  if (result.count == 0) return result;
  const auto element = static_cast<std::uint32_t>(kernel::size_of(result.type));
  const std::uint32_t slots = result.count == 3 && !packed ? 4 : result.count;
  result.size = slots * element;
  result.alignment = packed ? element : result.size;
  return result;
}

struct NumberField {
  ElementType type;
  std::uint32_t offset;
  friend bool operator==(const NumberField&, const NumberField&) = default;
};

// ---- One kernel against its description --------------------------------------------------------

class KernelFit {
 public:
  KernelFit(const MetalText& text, const Kernel& stated, const MetalKernel& kernel)
      : text_(text), stated_(stated), kernel_(kernel) {}

  // Why the kernel does not fit; empty if it fits.
  std::string problem() {
    const MetalVariable* buffers[2] = {};
    for (const MetalVariable& argument : kernel_.arguments) {
      if (std::string text = place(argument, buffers); !text.empty()) return text;
    }
    if (std::string text = bindings(buffers[kernel::kMetalBindingsBuffer]); !text.empty()) {
      return text;
    }
    if (std::string text = constants(buffers[kernel::kMetalConstantsBuffer]); !text.empty()) {
      return text;
    }
    for (const MetalVariable::Attribute& each : kernel_.attributes) {
      const auto& [x, y, z] = stated_.workgroup_size;
      if (each.name == "max_total_threads_per_threadgroup" && each.value &&
          *each.value < x * y * z) {
        return fmt::format("a workgroup has {} items; the text allows {}", x * y * z, *each.value);
      }
    }
    return {};
  }

 private:
  std::string place(const MetalVariable& argument, const MetalVariable* (&buffers)[2]) const {
    if (const auto* const buffer = argument.attribute("buffer")) {
      if (!buffer->value || *buffer->value >= std::size(buffers)) {
        return fmt::format(
            "argument {} is [[buffer({})]]; there are buffers 0 (bindings) and 1 "
            "(constants)",
            argument.name, buffer->value.value_or(0));
      }
      if (argument.space != "constant" && !(argument.space == "device" && argument.is_const)) {
        return fmt::format("argument {} of [[buffer({})]] is not in the address space 'constant'",
                           argument.name, *buffer->value);
      }
      buffers[*buffer->value] = &argument;
      return {};
    }
    for (const char* const other : {"texture", "sampler", "threadgroup", "stage_in"}) {
      if (argument.attribute(other) != nullptr) {
        return fmt::format("argument {} is [[{}]], which no launch passes", argument.name, other);
      }
    }
    if (argument.is_pointer || argument.is_reference) {
      return fmt::format("argument {} has no [[buffer(n)]]", argument.name);
    }
    return {};
  }

  const MetalStruct* find(std::string_view name) const {
    const auto found = std::ranges::find(text_.structs, name, &MetalStruct::name);
    return found == text_.structs.end() ? nullptr : &*found;
  }

  // The type of the elements of an array of `type`, if it is known.
  std::optional<ElementType> element(std::string_view type) const {
    for (int depth = 0; depth < 8; ++depth) {
      if (const NumberType numbers = numbers_of(type); numbers.count != 0) return numbers.type;
      const MetalStruct* const structure = find(type);
      if (structure == nullptr || structure->members.size() != 1) return std::nullopt;
      type = structure->members[0].type;
    }
    return std::nullopt;
  }

  std::string bindings(const MetalVariable* buffer) const {
    const std::size_t count = stated_.bindings.size();
    if (buffer == nullptr) {
      return count == 0 ? "" : "it has no argument buffer, [[buffer(0)]], for its bindings";
    }
    if (count == 0)
      return fmt::format("argument {} is [[buffer(0)]] without bindings", buffer->name);
    const MetalStruct* const structure = find(buffer->type);
    if (structure == nullptr) {
      return fmt::format("the argument buffer's type '{}' is no struct of this text", buffer->type);
    }
    std::vector<const MetalVariable*> members(count, nullptr);
    for (const MetalVariable& member : structure->members) {
      const auto* const id = member.attribute("id");
      if (id == nullptr || !id->value) {
        return fmt::format("member {} of the argument buffer has no [[id(n)]]", member.name);
      }
      if (*id->value >= count) {
        return fmt::format("member {} of the argument buffer is [[id({})]]; the bindings are {}",
                           member.name, *id->value, count);
      }
      if (!member.is_pointer || member.space != "device" || member.extent) {
        return fmt::format("member {} of the argument buffer is no pointer to device memory",
                           member.name);
      }
      if (std::exchange(members[*id->value], &member) != nullptr) {
        return fmt::format("two members of the argument buffer are [[id({})]]", *id->value);
      }
    }
    for (std::size_t i = 0; i < count; ++i) {
      const Binding& binding = stated_.bindings[i];
      if (members[i] == nullptr) {
        return fmt::format("binding {} ({}) is not in the argument buffer: no [[id({})]]", i,
                           binding.name, i);
      }
      const bool is_read = binding.access == Access::kRead;
      if (is_read && !members[i]->is_const) {
        return fmt::format("binding {} is stated to be read; the pointer {} is not const",
                           binding.name, members[i]->name);
      }
      const auto type = element(members[i]->type);
      // A binding of bytes may hold elements of several types.
      if (type && *type != binding.type && binding.type != ElementType::kUint8) {
        return fmt::format("binding {} is stated to have elements of {}; the pointer's are {}",
                           binding.name, to_string(binding.type), to_string(*type));
      }
    }
    return {};
  }

  // False if the layout is not known.
  bool add_fields(std::string_view type, std::vector<NumberField>& fields) const {
    if (const NumberType one = numbers_of(type); one.count != 0) {
      for (std::uint32_t i = 0; i < one.count; ++i) {
        fields.push_back({one.type, i * static_cast<std::uint32_t>(kernel::size_of(one.type))});
      }
      return true;
    }
    const MetalStruct* const structure = find(type);
    if (structure == nullptr) return false;
    std::uint32_t at = 0;
    for (const MetalVariable& member : structure->members) {
      const NumberType numbers = numbers_of(member.type);
      if (numbers.count == 0 || member.is_pointer || member.is_reference || member.type == "<>") {
        return false;
      }
      at = (at + numbers.alignment - 1) / numbers.alignment * numbers.alignment;
      const auto element = static_cast<std::uint32_t>(kernel::size_of(numbers.type));
      for (std::uint32_t k = 0; k < member.extent.value_or(1); ++k, at += numbers.size) {
        if (element < 4) continue;  // padding: no constant is that small
        for (std::uint32_t i = 0; i < numbers.count; ++i) {
          fields.push_back({numbers.type, at + i * element});
        }
      }
    }
    return true;
  }

  std::string constants(const MetalVariable* buffer) const {
    if (buffer == nullptr) {
      return stated_.constants.empty() ? "" : "it has no [[buffer(1)]] for its constants";
    }
    if (stated_.constants.empty()) {
      return fmt::format("argument {} is [[buffer(1)]], but there are no constants", buffer->name);
    }
    std::vector<NumberField> fields;
    if (buffer->name == kUnusedConstants || !add_fields(buffer->type, fields)) return {};
    if (fields.size() != stated_.constants.size()) {
      return fmt::format("{} stated, the struct {} has {}",
                         base::counted(stated_.constants.size(), "constant"), buffer->type,
                         fields.size());
    }
    for (std::size_t i = 0; i < fields.size(); ++i) {
      const Constant& constant = stated_.constants[i];
      if (fields[i] == NumberField{constant.type, constant.offset}) continue;
      return fmt::format("constant {} is {} at byte {}; the struct's is {} at byte {}",
                         constant.name, to_string(constant.type), constant.offset,
                         to_string(fields[i].type), fields[i].offset);
    }
    return {};
  }

  const MetalText& text_;
  const Kernel& stated_;
  const MetalKernel& kernel_;
};

bool occurs(std::string_view text, std::string_view word) {
  for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !is_word_part(text[at - 1])) &&
        (end == text.size() || !is_word_part(text[end]))) {
      return true;
    }
  }
  return false;
}

}  // namespace

const MetalVariable::Attribute* MetalVariable::attribute(std::string_view wanted) const noexcept {
  const auto found = std::ranges::find(attributes, wanted, &Attribute::name);
  return found == attributes.end() ? nullptr : &*found;
}

MetalText read_metal(std::string_view text) {
  const std::vector<std::string_view> all = tokens_of(text);
  const MetalTokens tokens = all;
  MetalText result;
  std::vector<MetalVariable::Attribute> attributes;  // those before the next declaration
  for (std::size_t at = 0; at < tokens.size(); ++at) {
    if (opens_attribute(tokens, at)) {
      const std::size_t end = behind(tokens, at);
      add_attributes(between(tokens, at + 2, end - 2), attributes);
      at = end - 1;
      continue;
    }
    const std::string_view token = tokens[at];
    if (token == "template") {  // a kernel of a template has no name of its own
      while (at + 1 < tokens.size() && tokens[at + 1] != "{" && tokens[at + 1] != ";") ++at;
    }
    if (token == ";" || token == "}" || token == "{") attributes.clear();
    if (token == "struct" && at + 2 < tokens.size() && is_name(tokens[at + 1]) &&
        tokens[at + 2] == "{") {
      const std::size_t end = behind(tokens, at + 2);
      MetalStruct structure{.name = std::string(tokens[at + 1]), .members = {}};
      for (const MetalTokens member : parts_of(between(tokens, at + 3, end - 1), ";")) {
        structure.members.push_back(variable_of(member));
      }
      result.structs.push_back(std::move(structure));
      at = end - 1;
      attributes.clear();
      continue;
    }
    const bool marked = std::ranges::find(attributes, "kernel", &MetalVariable::Attribute::name) !=
                        attributes.end();
    if (token != "kernel" && !(marked && token == "void")) continue;
    std::size_t open = at + 1;
    while (open < tokens.size() && tokens[open] != "(" && tokens[open] != ";" &&
           tokens[open] != "{") {
      if (opens_attribute(tokens, open)) {
        const std::size_t end = behind(tokens, open);
        add_attributes(between(tokens, open + 2, end - 2), attributes);
        open = end;
      } else {
        ++open;
      }
    }
    if (open >= tokens.size() || tokens[open] != "(" || !is_name(tokens[open - 1])) continue;
    const std::size_t end = behind(tokens, open);
    MetalKernel kernel{.name = std::string(tokens[open - 1]),
                       .attributes = std::exchange(attributes, {}),
                       .arguments = {}};
    for (const MetalTokens argument : parts_of(between(tokens, open + 1, end - 1), ",")) {
      kernel.arguments.push_back(variable_of(argument));
    }
    result.kernels.push_back(std::move(kernel));
    at = end - 1;
  }
  return result;
}

std::set<std::string, std::less<>> file_scope_names(std::string_view text) {
  const std::vector<std::string_view> all = tokens_of(text);
  const MetalTokens tokens = all;
  std::set<std::string, std::less<>> names;
  for (std::size_t at = 0; at + 1 < tokens.size(); ++at) {
    const std::string_view next = tokens[at + 1];
    if (tokens[at] == "<") {  // the parameters of a template
      while (at + 1 < tokens.size() && tokens[at] != ">") ++at;
    } else if (tokens[at] == "using" || tokens[at] == "operator") {
      while (at + 1 < tokens.size() && tokens[at] != ";" && tokens[at] != "(") ++at;
      --at;
    } else if (tokens[at].starts_with("__")) {  // of the compiler: __attribute__((always_inline))
      if (next == "(") at = behind(tokens, at + 1) - 1;
    } else if (tokens[at] == "struct" && is_name(next)) {
      names.emplace(next);
      ++at;
    } else if (is_name(tokens[at]) && (next == "(" || next == "=" || next == "[" || next == ";")) {
      names.emplace(tokens[at]);
    } else if (tokens[at] == "=") {  // a value, to the end of the declaration
      while (at + 1 < tokens.size() && tokens[at + 1] != ";") ++at;
    } else if (tokens[at] == "(" || tokens[at] == "[" || tokens[at] == "{") {
      at = behind(tokens, at) - 1;
    }
  }
  return names;
}

std::string rename_words(std::string_view text, const std::set<std::string, std::less<>>& words,
                         std::string_view suffix) {
  std::string result;
  const char* copied = text.data();
  std::string_view before;
  for (const std::string_view token : tokens_of(text)) {
    const char* const end = token.data() + token.size();
    if (before != "." && words.contains(token)) {
      result.append(copied, end);
      result += suffix;
      copied = end;
    }
    before = token;
  }
  return result.append(copied, text.data() + text.size());
}

Status fit_to_metal(std::string_view source, std::string_view text,
                    const std::vector<Kernel>& kernels) {
  const MetalText read = read_metal(text);
  for (const Kernel& kernel : kernels) {
    if (!occurs(text, kernel.name) || !occurs(text, "kernel")) {
      return error(StatusCode::kInvalidArgument, "{}: kernel {} is not in it", source, kernel.name);
    }
    const auto found = std::ranges::find(read.kernels, kernel.name, &MetalKernel::name);
    if (found == read.kernels.end()) continue;
    if (const std::string what = KernelFit(read, kernel, *found).problem(); !what.empty()) {
      return error(StatusCode::kInvalidArgument, "{}: kernel {}: {} (convention {})", source,
                   kernel.name, what, kernel::kMetalConvention);
    }
  }
  return {};
}

}  // namespace halyard::inline v0::compiler
