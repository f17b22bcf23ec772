// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <array>
#include <charconv>
#include <string>

#include "simulation/cuda/ptx/constant_expression.h"
#include "simulation/cuda/ptx/syntax.h"

namespace halyard::inline v0::sim::ptx {
namespace {

constexpr std::uint64_t kMostElements = std::uint64_t{1} << 32;
// ptxas has no documented nesting limit. Only vectors need a limit, because the parser recurses for
// them.
constexpr int kMostVectorDepth = 4;

class Parser {
 public:
  explicit Parser(std::string_view text) : in_(text) {}

  FileSyntax parse() {
    if (!in_.at(".version")) in_.fail("Missing .version directive at start of file");
    while (!in_.at_kind(Token::Kind::kEnd)) top_level();
    if (file_.target == 0) in_.fail("Missing .target directive");
    return std::move(file_);
  }

 private:
  struct Linkage {
    bool is_extern = false, is_visible = false, is_weak = false;
  };

  void top_level() {
    if (in_.skip(";")) return;
    if (in_.at("@")) {  // @@DWARF, of old compilers
      in_.skip_line();
    } else if (in_.skip(".version")) {
      version();
    } else if (in_.at(".target")) {
      target();
    } else if (in_.skip(".address_size")) {
      if (in_.small_integer(64) != 64) in_.fail("Only .address_size 64 is supported");
    } else if (!skip_debug()) {
      definition();
    }
  }

  void version() {
    const std::string_view text = in_.current().text;
    const std::size_t dot = text.find('.');
    std::uint32_t major = 0, minor = 0;
    const auto number = [](std::string_view digits, std::uint32_t& value) {
      const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
      return code == std::errc() && end == digits.data() + digits.size() && value < 1000;
    };
    if (dot == text.npos || !number(text.substr(0, dot), major) ||
        !number(text.substr(dot + 1), minor)) {
      in_.unexpected();
    }
    in_.take();
    file_.version = major * 10 + minor;
  }

  void target() {
    file_.target_line = in_.line();
    in_.take();
    do {
      const std::string_view name = in_.expect_word();
      if (name.starts_with("sm_")) {
        std::string_view digits = name.substr(3);
        if (digits.ends_with('a') || digits.ends_with('f')) digits.remove_suffix(1);
        const auto [end, code] =
            std::from_chars(digits.data(), digits.data() + digits.size(), file_.target);
        if (code != std::errc() || end != digits.data() + digits.size() || file_.target == 0) {
          in_.fail("Unknown target '" + std::string(name) + "'");
        }
      } else if (name != "debug" && name != "texmode_independent" && name != "texmode_unified" &&
                 name != "map_f64_to_f32") {
        in_.fail("Unknown target '" + std::string(name) + "'");
      }
    } while (in_.skip(","));
  }

  // Skips directives about the source text, and directives that only affect ptxas.
  bool skip_debug() {
    if (in_.at(".file")) {
      in_.take();
      in_.integer();
      in_.take();
      while (in_.skip(",")) in_.integer();
    } else if (in_.at(".loc")) {
      in_.take();
      for (int i = 0; i < 3; ++i) in_.small_integer(UINT32_MAX);
      while (in_.skip(",")) {
        if (in_.skip("function_name")) {
          in_.expect_word();
          if (in_.skip("+")) in_.integer();
        } else if (in_.skip("inlined_at")) {
          for (int i = 0; i < 3; ++i) in_.small_integer(UINT32_MAX);
        } else {
          in_.unexpected();
        }
      }
    } else if (in_.at(".pragma")) {
      while (!in_.at(";") && !in_.at_kind(Token::Kind::kEnd)) in_.take();
      in_.expect(";");
    } else if (in_.at(".section")) {
      in_.take();
      in_.take();
      in_.expect("{");
      while (!in_.at("}") && !in_.at_kind(Token::Kind::kEnd)) in_.take();
      in_.expect("}");
    } else {
      return false;
    }
    return true;
  }

  void definition() {
    Linkage linkage;
    const std::uint32_t line = in_.line();
    for (;;) {
      if (in_.skip(".extern")) {
        linkage.is_extern = true;
      } else if (in_.skip(".visible")) {
        linkage.is_visible = true;
      } else if (in_.skip(".weak") || in_.skip(".common")) {
        linkage.is_weak = true;
      } else {
        break;
      }
    }
    if (in_.skip(".alias")) {
      const std::string_view name = in_.expect_word();
      in_.expect(",");
      file_.aliases.emplace_back(name, in_.expect_word());
      in_.expect(";");
    } else if (in_.at(".entry") || in_.at(".func")) {
      function(linkage, line);
    } else if (in_.at(".global") || in_.at(".const") || in_.at(".shared")) {
      declarations(linkage,
                   [&](Declaration&& each) { file_.variables.push_back(std::move(each)); });
    } else {
      unsupported();
    }
  }

  [[noreturn]] void unsupported() {
    if (in_.at_kind(Token::Kind::kDotWord)) {
      in_.fail("Unsupported directive '" + std::string(in_.current().text) + "'");
    }
    in_.unexpected();
  }

  static bool is_type(std::string_view word) {
    constexpr std::array<std::string_view, 23> kTypes = {
        "b8",  "b16", "b32", "b64", "b128",  "u8",   "u16",    "u32",  "u64",  "s8",   "s16", "s32",
        "s64", "f16", "f32", "f64", "f16x2", "bf16", "bf16x2", "tf32", "pred", "e4m3", "e5m2"};
    return std::ranges::find(kTypes, word) != kTypes.end();
  }

  // The words up to the name: space, alignment, vector, type.
  Declaration declaration_head() {
    Declaration result;
    result.line = in_.line();
    while (in_.at_kind(Token::Kind::kDotWord)) {
      const std::string_view word = in_.take().text.substr(1);
      if (word == "align") {
        result.alignment = in_.small_integer(1u << 20);
        if (result.alignment == 0 || (result.alignment & (result.alignment - 1)) != 0) {
          in_.fail("Alignment must be a power of two");
        }
      } else if (word == "v2") {
        result.vector = 2;
      } else if (word == "v4") {
        result.vector = 4;
      } else if (word == "ptr") {
        // The rest describes the memory that the pointer points to.
        while (in_.at_kind(Token::Kind::kDotWord)) {
          if (in_.take().text == ".align") in_.integer();
        }
      } else if (word == "attribute") {
        in_.expect("(");
        do {
          const Token token = in_.take();
          if (token.text == ".managed") result.is_managed = true;
          if (token.text == ".unified") {
            in_.expect("(");
            in_.integer();
            in_.expect(",");
            in_.integer();
            in_.expect(")");
          }
        } while (in_.skip(","));
        in_.expect(")");
      } else if (is_type(word)) {
        result.type = word;
      } else if (result.space.empty()) {
        result.space = word.substr(0, word.find("::"));
      } else {
        in_.fail("Unexpected '." + std::string(word) + "' in a declaration");
      }
    }
    if (result.type.empty()) in_.fail("Missing type in a declaration");
    return result;
  }

  void declaration_name(Declaration& result) {
    result.name = in_.expect_word();
    if (in_.skip("<")) {
      result.range = in_.range();
      in_.expect(">");
    }
    while (in_.skip("[")) {
      result.is_array = true;
      std::uint64_t count = 0;
      if (in_.at("]")) {
        result.is_unsized = true;
        count = 1;
      } else {
        count = in_.integer();
      }
      in_.expect("]");
      if (count > kMostElements || result.count > kMostElements ||
          result.count * count > kMostElements) {
        in_.fail("Array too large");
      }
      result.count *= count;
    }
  }

  void initial_values(Declaration& result) {
    if (in_.skip("{")) {
      if (in_.skip("}")) return;
      do {
        if (++depth_ > 64) in_.fail("Initializer too deep");
        initial_values(result);
        --depth_;
      } while (in_.skip(","));
      in_.expect("}");
      return;
    }
    Operand value;
    if (in_.at_kind(Token::Kind::kWord) && !in_.at("WARP_SZ")) {
      value.kind = Operand::Kind::kName;
      value.name = in_.take().text;
      if (value.name == "generic" && in_.skip("(")) {
        value.name = in_.expect_word();
        in_.expect(")");
      }
      if (in_.skip("+")) value.value = in_.integer();
    } else {
      const Constant constant = in_.constant();
      value.kind = Operand::Kind::kNumber;
      value.number = constant.number;
      value.value = constant.bits;
      if (in_.skip("(")) {
        value.kind = Operand::Kind::kName;
        value.mask = constant.bits;
        value.value = 0;
        value.name = in_.expect_word();
        if (value.name == "generic" && in_.skip("(")) {
          value.name = in_.expect_word();
          in_.expect(")");
        }
        if (in_.skip("+")) value.value = in_.integer();
        in_.expect(")");
      }
    }
    result.initial.push_back(std::move(value));
  }

  template <class Add>
  void declarations(const Linkage& linkage, Add add) {
    const Declaration head = declaration_head();
    do {
      Declaration each = head;
      each.is_extern = linkage.is_extern;
      each.is_visible = linkage.is_visible;
      each.is_weak = linkage.is_weak;
      declaration_name(each);
      if (in_.skip("=")) {
        each.has_initial = true;
        initial_values(each);
        if (each.is_unsized) {
          each.count = each.initial.size();
          each.is_unsized = false;
        }
      }
      add(std::move(each));
    } while (in_.skip(","));
    in_.expect(";");
  }

  std::vector<Declaration> parameter_list() {
    std::vector<Declaration> result;
    if (!in_.skip("(")) return result;
    if (in_.skip(")")) return result;
    do {
      Declaration each = declaration_head();
      if (each.space != "param" && each.space != "reg") in_.fail("Parameter expected");
      // A prototype may name its parameters "_".
      declaration_name(each);
      result.push_back(std::move(each));
    } while (in_.skip(","));
    in_.expect(")");
    return result;
  }

  void extent(std::uint32_t (&values)[3]) {
    values[0] = values[1] = values[2] = 1;
    int i = 0;
    do {
      if (i == 3) in_.unexpected();
      values[i++] = in_.small_integer(UINT32_MAX);
    } while (in_.skip(","));
  }

  void function(const Linkage& linkage, std::uint32_t line) {
    FunctionSyntax result;
    result.line = line;
    result.is_entry = in_.take().text == ".entry";
    result.is_extern = linkage.is_extern;
    result.is_visible = linkage.is_visible || linkage.is_extern;
    result.is_weak = linkage.is_weak;
    if (in_.skip(".attribute")) {
      in_.expect("(");
      while (!in_.at("{") && !in_.at(";") && !in_.at_kind(Token::Kind::kEnd) && !in_.at(".param")) {
        const bool is_end = in_.at(")");
        in_.take();
        if (is_end && !in_.at(")")) break;
      }
    }
    if (!result.is_entry && in_.at("(")) result.results = parameter_list();
    result.name = in_.expect_word();
    result.parameters = parameter_list();
    for (;;) {
      if (in_.skip(".maxntid")) {
        extent(result.max_block);
      } else if (in_.skip(".reqntid")) {
        extent(result.required_block);
      } else if (in_.skip(".minnctapersm")) {
        result.min_blocks = in_.small_integer(UINT32_MAX);
      } else if (in_.skip(".maxnreg")) {
        result.max_registers = in_.small_integer(UINT32_MAX);
      } else if (in_.skip(".maxnctapersm") || in_.skip(".maxclusterrank") ||
                 in_.skip(".abi_preserve") || in_.skip(".abi_preserve_control")) {
        in_.small_integer(UINT32_MAX);
      } else if (in_.skip(".reqnctapercluster")) {
        std::uint32_t ignored[3];
        extent(ignored);
      } else if (in_.skip(".noreturn") || in_.skip(".explicitcluster")) {
      } else if (!in_.at(".section") && !in_.at(".file") && skip_debug()) {
      } else {
        break;
      }
    }
    if (!in_.skip(";")) {
      in_.expect("{");
      result.has_body = true;
      body(result);
    }
    file_.functions.push_back(std::move(result));
  }

  void body(FunctionSyntax& function) {
    std::size_t depth = 1;
    while (depth != 0) {
      const auto add = [&](Item::Kind kind) -> Item& {
        Item& item = function.body.emplace_back();
        item.kind = kind;
        item.line = in_.line();
        return item;
      };
      if (in_.at("{")) {
        add(Item::Kind::kOpen);
        in_.take();
        ++depth;
      } else if (in_.at("}")) {
        --depth;
        if (depth != 0) add(Item::Kind::kClose);
        in_.take();
      } else if (in_.skip(";") || skip_debug()) {
      } else if (in_.at_kind(Token::Kind::kDotWord)) {
        declarations({}, [&](Declaration&& each) {
          add(Item::Kind::kDeclaration).declaration = std::move(each);
        });
      } else if (in_.at("@")) {
        instruction(add(Item::Kind::kInstruction).instruction, {});
      } else if (in_.at_kind(Token::Kind::kWord)) {
        const Token word = in_.take();
        if (!in_.skip(":")) {
          instruction(add(Item::Kind::kInstruction).instruction, word);
        } else if (in_.at(".branchtargets") || in_.at(".calltargets")) {
          Item& item = add(Item::Kind::kTargets);
          item.label = word.text;
          in_.take();
          do {
            item.names.push_back(in_.expect_word());
          } while (in_.skip(","));
          in_.expect(";");
        } else if (in_.skip(".callprototype")) {
          // The call itself determines how many bytes it passes.
          add(Item::Kind::kTargets).label = word.text;
          while (!in_.at(";") && !in_.at_kind(Token::Kind::kEnd)) in_.take();
          in_.expect(";");
        } else {
          add(Item::Kind::kLabel).label = word.text;
        }
      } else {
        in_.unexpected();
      }
    }
  }

  void instruction(Instruction& result, Token first) {
    result.line = first.text.empty() ? in_.line() : first.line;
    if (first.text.empty()) {
      in_.expect("@");
      result.guard_negated = in_.skip("!");
      result.guard = in_.expect_word();
      first = in_.take();
      if (first.kind != Token::Kind::kWord) in_.unexpected();
    }
    result.opcode = first.text;
    while (in_.at_kind(Token::Kind::kDotWord)) {
      result.modifiers.push_back(in_.take().text.substr(1));
    }
    if (in_.skip(";")) return;
    do {
      result.operands.push_back(operand(result.opcode == "call"));
    } while (in_.skip(","));
    in_.expect(";");
  }

  Operand operand(bool is_call) {
    Operand result = one_operand(is_call);
    if (result.kind == Operand::Kind::kName && in_.skip("|")) {
      Operand pair;
      pair.kind = Operand::Kind::kPair;
      pair.elements.push_back(std::move(result));
      pair.elements.push_back(one_operand(is_call));
      return pair;
    }
    return result;
  }

  Operand one_operand(bool is_call) {
    Operand result;
    if (in_.skip("!")) {
      result.negated = true;
      name(result);
    } else if (in_.at_kind(Token::Kind::kWord) && !in_.at("WARP_SZ")) {
      name(result);
      if (result.kind != Operand::Kind::kNone) element_or_offset(result);
    } else if (in_.skip("[")) {
      if (in_.at_kind(Token::Kind::kWord)) {
        name(result);
        offset(result);
      } else {
        result.value = in_.integer();
      }
      in_.expect("]");
      result.kind = Operand::Kind::kAddress;
    } else if (in_.at("{") || (is_call && in_.at("("))) {
      const bool is_vector = in_.take().text == "{";
      result.kind = is_vector ? Operand::Kind::kVector : Operand::Kind::kList;
      const std::string_view end = is_vector ? "}" : ")";
      if (in_.skip(end)) return result;
      if (++depth_ > kMostVectorDepth) in_.fail("Vector too deep");
      do {
        result.elements.push_back(one_operand(false));
      } while (in_.skip(","));
      --depth_;
      in_.expect(end);
    } else {
      const Constant value = in_.constant();
      result.kind = Operand::Kind::kNumber;
      result.number = value.number;
      result.value = value.bits;
    }
    return result;
  }

  void name(Operand& result) {
    result.name = in_.expect_word();
    result.kind = Operand::Kind::kName;
    if (result.name == "_") result.kind = Operand::Kind::kNone;
    if (in_.at_kind(Token::Kind::kDotWord)) result.component = in_.take().text.substr(1);
  }

  // PTX ISA, "Arrays as Operands": a[2]
  void element_or_offset(Operand& result) {
    if (!in_.skip("[")) return offset(result);
    if (in_.at_kind(Token::Kind::kWord) && !in_.at("WARP_SZ")) {
      in_.fail("An array's index must be constant");
    }
    result.is_element = true;
    result.value = in_.integer();
    in_.expect("]");
  }

  void offset(Operand& result) {
    if (in_.skip("+")) {
      result.value = in_.integer();
    } else if (in_.at("-")) {
      result.value = in_.integer();  // its sign is part of it
    }
  }

  TokenStream in_;
  FileSyntax file_;
  int depth_ = 0;
};

}  // namespace

FileSyntax parse_syntax(std::string_view text) { return Parser(text).parse(); }

}  // namespace halyard::inline v0::sim::ptx
