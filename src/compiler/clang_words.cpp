// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/clang_words.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <utility>
#include <vector>

#include "base/format.h"

namespace halyard::inline v0::compiler {
namespace {

constexpr std::string_view kWrongInvocation =
    "arguments provided to function-like macro invocation";

// A part of clang's message, and its meaning; {} stands for the text in quotes.
struct Meaning {
  std::string_view words;
  std::string_view sentence;
};

constexpr std::array kMeanings = {
    Meaning{"'break' statement cannot be used in OpenMP",
            "break leaves a block; `continue` ends one item's part (rule 1)"},
    Meaning{"cannot return from OpenMP region",
            "return leaves a block; `continue` ends one item's part (rule 1)"},
    Meaning{"use of undeclared label",
            "no label '{}' here: no goto leaves or enters a block (rule 1)"},
    Meaning{"statement not in switch statement",
            "'{}' outside its switch: a switch around a block cannot enter it (rule 1)"},
    Meaning{"unknown type name 'HY_FIELD_",
            "unknown kind of parameter; halyard/kernel.h and halyard/kernel/tensor.h define them"},
    Meaning{"read-only variable is not assignable",
            "this is a constant: inputs and scalars are never written (rule 3)"},
    Meaning{"with const-qualified type",
            "'{}' is a constant: inputs and scalars are never written (rule 3)"},
    Meaning{"drops const qualifier", "this drops const: inputs are never written (rule 3)"},
    Meaning{"discards qualifiers", "this drops const: inputs are never written (rule 3)"},
    Meaning{"variable length array used", "the length of an array must be a constant"},
    Meaning{"attempt to use a poisoned identifier",
            "reserved for the header: a source is the same for all targets"},
    Meaning{"cannot have __fp16 type",
            "half is for elements and variables; a function takes and returns float"},
    Meaning{
        "hy_takes_no_double",
        "hy_exp, hy_log and hy_tanh have the accuracy of a float: a double must be cast to one"},
    Meaning{"call to undeclared function",
            "no function '{}'; there is no library but halyard/kernel/math.h"},
};

std::string_view quoted(std::string_view text) {
  const std::size_t begin = text.find('\'');
  if (begin == text.npos) return {};
  text.remove_prefix(begin + 1);
  return text.substr(0, text.find('\''));
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// The macro by which the source declares a parameter: "HY_PRIVATE" for HY_PRIVATE(T, name); empty
// if no macro declares it.
std::string_view declared_by(std::string_view source, std::string_view name) {
  for (std::size_t at = source.find("HY_"); at != source.npos; at = source.find("HY_", at + 3)) {
    std::size_t end = at;
    while (end < source.size() && is_word(source[end])) ++end;
    const std::string_view macro = source.substr(at, end - at);
    if (end == source.size() || source[end] != '(') continue;
    std::size_t begin = source.find_first_of(",)", end);
    if (begin == source.npos || source[begin] == ')') continue;
    begin = source.find_first_not_of(" \n\t", begin + 1);
    if (begin == source.npos || !source.substr(begin).starts_with(name)) continue;
    const std::size_t behind = begin + name.size();
    if (behind < source.size() && is_word(source[behind])) continue;
    if (macro.starts_with("HY_PRIVATE") || macro.find("_TENSOR") != macro.npos ||
        macro.find("_TILE") != macro.npos) {
      return macro;
    }
  }
  return {};
}

// The meaning of an undeclared name.
std::string meaning_of(std::string_view name, std::string_view source) {
  const auto is_axis = [&](std::string_view before) {
    return name.size() == before.size() + 1 && name.starts_with(before) &&
           std::string_view("xyz").find(name.back()) != std::string_view::npos;
  };
  if (is_axis("hy_")) {
    return "item indices and HY_MY exist only in HY_ITEMS, HY_ITEMS_BELOW and HY_ITEMS_FIRST "
           "(rule 2)";
  }
  if (is_axis("hy_n") || is_axis("hy_g") || is_axis("hy_c")) {
    return "blocks and group indices exist only in the body of a kernel (rule 2)";
  }
  for (const auto& [prefix, what] :
       {std::pair("hy_in", "input tensor"), std::pair("hy_out", "output tensor")}) {
    if (!name.starts_with(prefix) || name.find('_', 3) == name.npos) continue;
    const std::size_t end = name.find('_', 3);
    return fmt::format("'{}' is not an {} of rank {}", name.substr(end + 1), what, name[end - 1]);
  }
  if (name.starts_with("hy_t_")) return fmt::format("'{}' is not a tensor", name.substr(5));
  if (name.starts_with("hy_my_")) {
    return fmt::format("'{}' is neither HY_PRIVATE nor HY_PRIVATE_ARRAY", name.substr(6));
  }
  const std::string_view macro = declared_by(source, name);
  if (macro.starts_with("HY_PRIVATE")) {
    return fmt::format("'{}' has a value per item: use HY_MY({}), in a block", name, name);
  }
  if (!macro.empty()) {
    return fmt::format("'{}' is a tensor: HY_AT or HY_Y, with its rank, gives an element", name);
  }
  return {};
}

// The parts of `text` between its '$'.
std::vector<std::string_view> parts_of(std::string_view text) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find('$');
    parts.push_back(text.substr(0, end));
    if (end == text.npos) return parts;
    text.remove_prefix(end + 1);
  }
}

// The meaning of an enumerator that is defined twice: hy$<key>$<kernel>$<parameter>, or an
// enumerator of a statement (kernel.h, kernel/tensor.h).
std::string meaning_of_second(std::string_view enumerator) {
  const std::vector<std::string_view> parts = parts_of(enumerator);
  if (parts.size() < 3 || parts[0] != "hy") return {};
  if (parts[1] == "may_overlap") return "a second HY_MAY_OVERLAP";
  if (parts.size() < 4) return {};
  if (parts[1] == "same_shape" && parts.size() == 5) {
    return fmt::format("a second HY_SAME_SHAPE({}, {})", parts[3], parts[4]);
  }
  if (parts[1] == "same_size" && parts.size() == 7) {
    return fmt::format("a second HY_SAME_SIZE({}, {}, {}, {})", parts[5], parts[3], parts[6],
                       parts[4]);
  }
  return fmt::format("a second parameter '{}'", parts[3]);
}

// The meaning of an operand with none of the types that the header selects among.
std::string meaning_of_type(std::string_view type) {
  constexpr std::array<std::string_view, 9> kOfElements = {
      "char",   "signed char", "unsigned char", "short", "unsigned short",
      "__fp16", "uchar",       "ushort",        "half"};
  if (std::ranges::find(kOfElements, type) != kOfElements.end()) {
    return fmt::format(
        "'{}' is for elements of buffers and tensors; other parameters are float, int, uint or "
        "double",
        type);
  }
  if (type.ends_with('*')) return "an atomic needs a writable element of int or uint";
  return fmt::format(
      "'{}' is not an element type; float, int, uint and double are, and half, char, uchar, short "
      "and ushort in buffers and tensors",
      type);
}

// The meaning of a macro with too few or too many arguments; its definition follows the message.
std::string meaning_of_invocation(std::string_view message, std::string_view behind) {
  constexpr std::string_view kDefine = "#define ";
  const std::string_view amount = message.substr(0, message.find(" arguments"));
  const std::size_t define = behind.substr(0, behind.find(": error: ")).find(kDefine);
  if (define == behind.npos) return fmt::format("a macro with {} arguments", amount);
  const std::string_view macro = behind.substr(define + kDefine.size());
  return fmt::format("{} arguments for {}", amount, macro.substr(0, macro.find(')') + 1));
}

std::string meaning_of_message(std::string_view message, std::string_view source) {
  if (message.starts_with("use of undeclared identifier")) {
    return meaning_of(quoted(message), source);
  }
  constexpr std::string_view kSecondKernel = "redefinition of 'hy_constants_";
  if (message.starts_with(kSecondKernel)) {
    return fmt::format("a second kernel '{}'", quoted(message).substr(std::size("hy_constants")));
  }
  if (message.starts_with("controlling expression type") &&
      message.find("not compatible") != message.npos) {
    return meaning_of_type(quoted(message));
  }
  for (const Meaning& meaning : kMeanings) {
    if (message.find(meaning.words) == message.npos) continue;
    std::string sentence(meaning.sentence);
    const std::size_t gap = sentence.find("{}");
    if (gap != sentence.npos) sentence.replace(gap, 2, quoted(message));
    return sentence;
  }
  return {};
}

// A message of clang. `place` is "file:line:column".
struct Message {
  std::string_view place;
  std::string_view words;
  std::string_view excerpt;  // of the source, with its mark
};

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

// The lines of clang's excerpt of a source, at the head of `rest`: "   12 | text" and "      | ^".
std::string_view excerpt_of(std::string_view rest) {
  std::size_t end = 0;
  while (end < rest.size()) {
    std::size_t at = rest.find_first_not_of(' ', end);
    while (at < rest.size() && is_digit(rest[at])) ++at;
    at = rest.find_first_not_of(' ', at);
    if (at == rest.npos || rest[at] != '|') break;
    end = std::min(rest.find('\n', at), rest.size() - 1) + 1;
  }
  return rest.substr(0, end);
}

// Whether `place` ends with a line and a column: a linker's messages do not.
bool is_in_a_source(std::string_view place) {
  for (int i = 0; i < 2; ++i) {
    const std::size_t colon = place.rfind(':');
    if (colon == place.npos || colon + 1 == place.size() ||
        !std::ranges::all_of(place.substr(colon + 1), is_digit)) {
      return false;
    }
    place = place.substr(0, colon);
  }
  return true;
}

// Removes the next error with a place, and all before it, from `diagnostics`.
std::optional<Message> next_error(std::string_view& diagnostics) {
  constexpr std::string_view kError = "error: ";
  while (!diagnostics.empty()) {
    const std::string_view line = diagnostics.substr(0, diagnostics.find('\n'));
    diagnostics.remove_prefix(std::min(diagnostics.size(), line.size() + 1));
    const std::size_t at = line.find(kError);
    if (at == line.npos) continue;
    std::string_view place = line.substr(0, at);
    if (place.ends_with(" fatal ")) place.remove_suffix(6);
    if (!place.ends_with(": ")) continue;
    place.remove_suffix(2);
    if (!is_in_a_source(place)) continue;
    return Message{place, line.substr(at + kError.size()), excerpt_of(diagnostics)};
  }
  return std::nullopt;
}

// The line of a place, and the text before it.
std::pair<std::string_view, int> file_and_line(std::string_view place) {
  place = place.substr(0, place.rfind(':'));
  const std::size_t colon = place.rfind(':');
  int line = 0;
  for (const char c : place.substr(colon + 1)) line = line * 10 + (c - '0');
  return {place.substr(0, colon), line};
}

bool is_on_an_earlier_line(const Message& a, const Message& b) {
  const auto [file, line] = file_and_line(a.place);
  const auto [other_file, other_line] = file_and_line(b.place);
  return file == other_file && line < other_line;
}

// The rule of the language that the error breaks, or empty; `rest` are the messages after it.
std::string meaning_of_error(const Message& message, std::string_view rest,
                             std::string_view source) {
  if (message.words.ends_with(kWrongInvocation)) return meaning_of_invocation(message.words, rest);
  if (message.words.starts_with("declaration shadows a local variable")) {
    // Notes up to the next error name the origin of the shadowing variable: HY_LOOP for a block's.
    const std::string_view notes = rest.substr(0, rest.find(": error: "));
    return notes.find("macro 'HY_LOOP'") != notes.npos
               ? "a block is inside another (rule 2)"
               : "this hides a variable of the same name, which not every target supports";
  }
  if (message.words.starts_with("redefinition of enumerator")) {
    return meaning_of_second(quoted(message.words));
  }
  // The macros' recursion ends before all entries are counted.
  if (message.words.starts_with("type name requires") && rest.find("HY_EACH_AGAIN") != rest.npos) {
    return "more than 40 parameters and statements";
  }
  return meaning_of_message(message.words, source);
}

std::string error_text(const Message& message, std::string_view words) {
  return fmt::format("{}: error: {}\n{}", message.place, words, message.excerpt);
}

}  // namespace

std::string first_error(std::string_view diagnostics) {
  std::string_view rest = diagnostics;
  const std::optional<Message> first = next_error(rest);
  return first ? error_text(*first, first->words) : std::string(diagnostics);
}

std::string in_our_words(std::string_view diagnostics, std::string_view source) {
  std::string_view rest = diagnostics;
  std::optional<Message> first, chosen;
  std::string sentence;
  while (const std::optional<Message> message = next_error(rest)) {
    if (!first) first = message;
    // Clang's other messages follow from a macro's arguments.
    const bool is_cause = message->words.ends_with(kWrongInvocation);
    if (chosen && !is_cause) continue;
    std::string meaning = meaning_of_error(*message, rest, source);
    if (meaning.empty()) continue;
    chosen = message;
    sentence = std::move(meaning);
    if (is_cause) return error_text(*chosen, sentence);
  }
  if (!chosen || is_on_an_earlier_line(*first, *chosen)) return first_error(diagnostics);
  return error_text(*chosen, sentence);
}

}  // namespace halyard::inline v0::compiler
