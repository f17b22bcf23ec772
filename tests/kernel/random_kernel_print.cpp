// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random kernels as text.
#include <bit>
#include <cmath>
#include <limits>

#include "base/format.h"
#include "kernel/random_kernel.h"

namespace halyard::testing::random_kernel {
namespace {

const char* name_of(Type type) {
  static constexpr const char* kNames[] = {"int",       "uint",  "hyk_long",
                                           "hyk_ulong", "float", "double"};
  return kNames[static_cast<int>(type)];
}

const char* name_of(Element element) {
  static constexpr const char* kNames[] = {"_Bool", "char", "uchar", "short", "ushort",
                                           "half",  "int",  "uint",  "float", "double"};
  return kNames[static_cast<int>(element)];
}

std::string literal(const Expression& e) {
  const auto value = static_cast<std::int64_t>(e.value);
  switch (e.type) {
    case Type::kInt:
      if (value == std::numeric_limits<std::int32_t>::min()) return "(-2147483647 - 1)";
      return value < 0 ? fmt::format("({})", value) : fmt::format("{}", value);
    case Type::kUint:
      return fmt::format("{}u", e.value);
    case Type::kLong:
      if (value == std::numeric_limits<std::int64_t>::min()) return "(-9223372036854775807ll - 1)";
      return value < 0 ? fmt::format("({}ll)", value) : fmt::format("{}ll", value);
    case Type::kUlong:
      return fmt::format("{}ull", e.value);
    case Type::kFloat: {
      const auto bits = static_cast<std::uint32_t>(e.value);
      const auto number = std::bit_cast<float>(bits);
      if (!std::isnormal(number)) return fmt::format("hy_uint_as_float(0x{:08x}u)", bits);
      std::string text = fmt::format("{}", number);
      if (text.find_first_of(".e") == text.npos) text += ".0";
      return number < 0 ? fmt::format("({}f)", text) : text + "f";
    }
    case Type::kDouble: {
      const auto number = std::bit_cast<double>(e.value);
      if (!std::isnormal(number)) return fmt::format("hyk_of_bits(0x{:016x}ull)", e.value);
      std::string text = fmt::format("{}", number);
      if (text.find_first_of(".e") == text.npos) text += ".0";
      return number < 0 ? fmt::format("({})", text) : text;
    }
  }
  return {};
}

const char* sign_of(Op op) {
  switch (op) {
    case Op::kAdd:
      return "+";
    case Op::kSubtract:
      return "-";
    case Op::kMultiply:
      return "*";
    case Op::kDivide:
      return "/";
    case Op::kRemainder:
      return "%";
    case Op::kAnd:
      return "&";
    case Op::kOr:
      return "|";
    case Op::kXor:
      return "^";
    case Op::kLeft:
      return "<<";
    case Op::kRight:
      return ">>";
    case Op::kLess:
      return "<";
    case Op::kLessEqual:
      return "<=";
    case Op::kGreater:
      return ">";
    case Op::kGreaterEqual:
      return ">=";
    case Op::kEqual:
      return "==";
    case Op::kUnequal:
      return "!=";
    case Op::kBoth:
      return "&&";
    case Op::kEither:
      return "||";
    default:
      return nullptr;
  }
}

constexpr const char* kInputNames[] = {"a", "b", "c", "d", "e"};
constexpr const char* kOutputNames[] = {"p", "q", "r", "s", "t"};
constexpr const char* kScalarNames[] = {"one", "n", "m", "f", "g"};

class Printer {
 public:
  explicit Printer(const Kernel& kernel) : kernel_(kernel) {}

  std::string run() {
    for (std::size_t i = 0; i < kernel_.functions.size(); ++i) function(i);
    parameters();
    indent_ = 1;
    for (const Statement& statement : kernel_.body) print(statement);
    return text_ + "}\n";
  }

 private:
  std::string text(const E& e) const { return text(*e); }

  std::string text(const Expression& e) const {
    const auto at = [&](std::size_t i) { return text(e.of[i]); };
    switch (e.op) {
      case Op::kLiteral:
        return literal(e);
      case Op::kVariable:
        return fmt::format("v{}", e.id);
      case Op::kScalar:
        return kScalarNames[e.id];
      case Op::kGlobal:
        return "(uint)(HY_GX * HY_NX * HY_NY + HY_L)";
      case Op::kItem:
        return "(uint)HY_L";
      case Op::kGroup:
        return "(uint)HY_GX";
      case Op::kInput:
        return fmt::format("{}[{}]", kInputNames[e.id], at(0));
      case Op::kShared:
        return fmt::format("w{}[{}]", e.id, at(0));
      case Op::kPrivate:
        return fmt::format("HY_MY(keep, {})", at(0));
      case Op::kArray:
        return fmt::format("x{}[{}]", e.id, at(0));
      case Op::kOutput:
        return fmt::format("{}[{}]", kOutputNames[e.id], own(e.of[0]));
      case Op::kNegate:
        return e.wraps ? as_unsigned(e.type, "-" + unsigned_of(e.of[0]))
                       : fmt::format("(-{})", at(0));
      case Op::kComplement:
        return fmt::format("(~{})", at(0));
      case Op::kNot:
        return fmt::format("(!{})", at(0));
      case Op::kConvert:
        return conversion(e.of[0]->type, e.type, at(0));
      case Op::kNarrow:
        if (e.narrow == Element::kHalf) {
          const bool twice = e.of[0]->type == Type::kDouble;
          return fmt::format("hyk_half{}({})", twice ? "_double" : "", at(0));
        }
        return fmt::format("(({})({}))", name_of(e.narrow), at(0));
      case Op::kBits:
        return fmt::format("hyk_bits{}({})", e.type == Type::kUlong ? "_double" : "", at(0));
      case Op::kOfBits:
        return fmt::format("{}({})", e.type == Type::kDouble ? "hyk_of_bits" : "hy_uint_as_float",
                           at(0));
      case Op::kOpaque:
        return fmt::format("hyk_opaque({}, one)", at(0));
      case Op::kAbs:
        return fmt::format("hy_abs({})", at(0));
      case Op::kFloor:
        return fmt::format("hy_floor({})", at(0));
      case Op::kSqrt:
        return fmt::format("hy_sqrt({})", at(0));
      case Op::kPopcount:
        return fmt::format("__builtin_popcount({})", at(0));
      case Op::kMin:
        return fmt::format("hy_min({}, {})", at(0), at(1));
      case Op::kMax:
        return fmt::format("hy_max({}, {})", at(0), at(1));
      case Op::kMulHigh:
        return fmt::format("hy_mul_high({}, {})", at(0), at(1));
      case Op::kCopySign:
        return e.type == Type::kFloat
                   ? fmt::format("__builtin_copysignf({}, hyk_number({}))", at(0), at(1))
                   : fmt::format("__builtin_copysign({}, hyk_number_double({}))", at(0), at(1));
      case Op::kSelect:
        return fmt::format("({} ? {} : {})", at(0), at(1), at(2));
      case Op::kCall: {
        std::string all;
        for (const E& each : e.of) all += (all.empty() ? "" : ", ") + text(each);
        return fmt::format("f{}_{}({})", kernel_.seed, e.id, all);
      }
      default:
        break;
    }
    if (e.divisor == Divisor::kOdd) {
      return fmt::format("({} {} ({} | 1{}))", at(0), sign_of(e.op), at(1),
                         is_signed(e.type) ? "" : "u");
    }
    if (e.divisor == Divisor::kChecked) {
      return fmt::format("({0} != 0 ? {1} {2} {0} : {3})", at(1), at(0), sign_of(e.op), at(2));
    }
    if (e.wraps && e.op == Op::kLeft) {
      return as_unsigned(e.type, fmt::format("{} << {}", unsigned_of(e.of[0]), at(1)));
    }
    if (e.wraps) {
      return as_unsigned(e.type, fmt::format("{} {} {}", unsigned_of(e.of[0]), sign_of(e.op),
                                             unsigned_of(e.of[1])));
    }
    return fmt::format("({} {} {})", at(0), sign_of(e.op), at(1));
  }

  static const char* unsigned_name(Type type) {
    return name_of(is_long(type) ? Type::kUlong : Type::kUint);
  }
  std::string unsigned_of(const E& e) const {
    return fmt::format("({}){}", unsigned_name(e->type), text(e));
  }
  static std::string as_unsigned(Type type, const std::string& value) {
    return fmt::format("(({})({}))", name_of(type), value);
  }

  static std::string conversion(Type from, Type to, const std::string& value) {
    if (is_float(from) && !is_float(to)) {
      static constexpr const char* kShort[] = {"int", "uint", "long", "ulong"};
      return fmt::format("hyk_{}_of_{}({})", kShort[static_cast<int>(to)], name_of(from), value);
    }
    if (is_signed(from) && is_float(to)) {
      return fmt::format("hyk_{}_of_{}({})", name_of(to), is_long(from) ? "long" : "int", value);
    }
    return fmt::format("({})({})", name_of(to), value);
  }

  std::string own(const E& slot) const {
    return fmt::format("({}) * {}u + {}", text(Expression{.op = Op::kGlobal, .of = {}}), kSlots,
                       text(slot));
  }

  void line(const std::string& content) {
    text_ += std::string(2 * indent_, ' ') + content + "\n";
  }

  void body(const std::vector<Statement>& statements) {
    ++indent_;
    for (const Statement& statement : statements) print(statement);
    --indent_;
  }

  void print(const Statement& s) {
    const auto at = [&](std::size_t i) { return text(s.e[i]); };
    static constexpr const char* kAtomics[] = {"add", "and", "or", "xor", "min", "max"};
    const auto atomic = [&](const char* array) {
      const char* const name = kAtomics[s.op == Op::kAdd   ? 0
                                        : s.op == Op::kAnd ? 1
                                        : s.op == Op::kOr  ? 2
                                        : s.op == Op::kXor ? 3
                                        : s.op == Op::kMin ? 4
                                                           : 5];
      line(fmt::format("hy_atomic_{}({}[{}], {});", name, array, at(0), at(1)));
    };
    switch (s.kind) {
      case Kind::kDeclare:
        return line(fmt::format("{} v{} = {};", name_of(s.type), s.id, at(0)));
      case Kind::kDeclareArray: {
        std::string all;
        for (const E& each : s.e) all += (all.empty() ? "" : ", ") + text(each);
        return line(fmt::format("{} x{}[{}] = {{{}}};", name_of(s.type), s.id, s.e.size(), all));
      }
      case Kind::kAssign:
        return line(fmt::format("v{} = {};", s.id, at(0)));
      case Kind::kCompound:
        return line(fmt::format("v{} {}= {};", s.id, sign_of(s.op), at(0)));
      case Kind::kStoreArray:
        return line(fmt::format("x{}[{}] = {};", s.id, at(0), at(1)));
      case Kind::kStorePrivate:
        return line(fmt::format("HY_MY(keep, {}) = {};", at(0), at(1)));
      case Kind::kStoreShared:
        return line(s.id + 1 == kShared
                        ? fmt::format("if (HY_L < {}) w{}[HY_L] = {};", kBins, s.id, at(0))
                        : fmt::format("w{}[HY_L] = {};", s.id, at(0)));
      case Kind::kExchange:
        return line(fmt::format("v{} = hy_atomic_exchange(w0[HY_L], {});", s.id, at(0)));
      case Kind::kStoreOutput:
        return line(fmt::format("{}[{}] = {};", kOutputNames[s.id], own(s.e[0]), at(1)));
      case Kind::kAtomicShared:
        return atomic(fmt::format("w{}", kShared - 1).c_str());
      case Kind::kAtomicBuffer:
        return atomic("bins");
      case Kind::kIf:
        line(fmt::format("if ({}) {{", at(0)));
        body(s.bodies[0]);
        if (!s.bodies[1].empty()) {
          line("} else {");
          body(s.bodies[1]);
        }
        return line("}");
      case Kind::kFor:
        line(fmt::format("for (uint v{0} = 0; v{0} < {1}; ++v{0}) {{", s.id, at(0)));
        body(s.bodies[0]);
        return line("}");
      case Kind::kWhile:
        line(fmt::format("uint v{} = {};", s.id, at(0)));
        line(fmt::format("while (v{} != 0u) {{", s.id));
        line(fmt::format("  --v{};", s.id));
        body(s.bodies[0]);
        return line("}");
      case Kind::kDo:
        line(fmt::format("uint v{} = {};", s.id, at(0)));
        line("do {");
        body(s.bodies[0]);
        return line(fmt::format("}} while (v{}-- != 0u);", s.id));
      case Kind::kSwitch:
        line(fmt::format("switch ({}) {{", at(0)));
        for (std::size_t i = 0; i < s.bodies.size(); ++i) {
          line(i + 1 == s.bodies.size() ? "default: {" : fmt::format("case {}: {{", i));
          body(s.bodies[i]);
          line("}");
          if ((s.falls_through >> i & 1) == 0) line("break;");
        }
        return line("}");
      case Kind::kBreakIf:
        return line(fmt::format("if ({}) break;", at(0)));
      case Kind::kContinueIf:
        return line(fmt::format("if ({}) continue;", at(0)));
      case Kind::kReturnIf:
        return line(fmt::format("if ({}) return {};", at(0), at(1)));
      case Kind::kItems:
        line("HY_ITEMS {");
        body(s.bodies[0]);
        return line("}");
      case Kind::kItemsBelow:
        line(fmt::format("HY_ITEMS_BELOW({}) {{", at(0)));
        body(s.bodies[0]);
        return line("}");
      case Kind::kItemsFirst:
        line(fmt::format("HY_ITEMS_FIRST({}) {{", at(0)));
        body(s.bodies[0]);
        return line("}");
    }
  }

  void function(std::size_t i) {
    const Function& function = kernel_.functions[i];
    std::string parameters;
    for (const std::uint32_t id : function.parameters) {
      parameters += fmt::format("{}{} v{}", parameters.empty() ? "" : ", ",
                                name_of(kernel_.variables[id]), id);
    }
    line(fmt::format("HY_FN {} f{}_{}({}) {{", name_of(function.type), kernel_.seed, i,
                     parameters));
    body(function.body);
    line(fmt::format("  return {};", text(function.result)));
    line("}");
  }

  void parameters() {
    const Kernel& k = kernel_;
    line(fmt::format("HY_KERNEL(k{}, {}, {}, 1, HY_IN(uint, a), HY_IN(int, b), HY_IN(float, c), "
                     "HY_IN({}, d),",
                     k.seed, k.nx, k.ny, name_of(k.narrow_in)));
    if (k.wide) line("          HY_IN(double, e),");
    line(fmt::format("          HY_OUT(uint, p), HY_OUT(int, q), HY_OUT(float, r), HY_OUT({}, s),",
                     name_of(k.narrow_out)));
    if (k.wide) line("          HY_OUT(double, t), HY_SCALAR(double, g),");
    line("          HY_INOUT(uint, bins), HY_SCALAR(uint, one), HY_SCALAR(uint, n),");
    line("          HY_SCALAR(int, m), HY_SCALAR(float, f),");
    for (std::uint32_t i = 0; i < kShared; ++i) {
      line(fmt::format("          HY_SHARED({}, w{}, {}),", name_of(k.shared_types[i]), i,
                       i + 1 == kShared ? kBins : k.shared_count));
    }
    line(fmt::format("          HY_PRIVATE_ARRAY({}, keep, {})) {{", name_of(k.private_type),
                     k.private_count));
  }

  const Kernel& kernel_;
  std::string text_;
  std::size_t indent_ = 0;
};

}  // namespace

// In the order of their use by kernels: conversions of numbers that may be too large, NaNs that may
// have any bits, and half.
const char* const kPrelude = R"(
#ifdef __NVPTX__
/* clang 19 converts a truth value with a sign to 1 and not -1 there (LLVM pull request 110866). */
#define HYK_OF_SIGNED(T, U, x) ((x) < 0 ? -(T)(0 - (U)(x)) : (T)(U)(x))
#else
#define HYK_OF_SIGNED(T, U, x) ((T)(x))
#endif
HY_FN float hyk_float_of_int(int x) { return HYK_OF_SIGNED(float, uint, x); }
HY_FN uint hyk_bits(float x) { return x == x ? hy_float_as_uint(x) : 0x7fc00000u; }
HY_FN float hyk_number(float x) { return x == x ? x : 1.0f; }
HY_FN float hyk_opaque(float x, uint one) { return hy_uint_as_float(hy_float_as_uint(x) | one); }
/* clang 19 leaves out the conversion of a whole number to half and back if its significant bits are
 * few, also where it is infinite. */
HY_FN float hyk_half(float x) {
  half y = hy_abs(x) >= 65520.0f ? __builtin_copysignf(__builtin_inff(), x) : x;
  return y;
}
HY_FN int hyk_int_of_float(float x) {
  return (int)(x >= -2147483648.0f && x < 2147483648.0f ? x : 3.0f);
}
HY_FN uint hyk_uint_of_float(float x) {
  return (uint)(x > -1.0f && x < 4294967296.0f ? x : 3.0f);
}
)";
const char* const kWidePrelude = R"(
typedef long long hyk_long;
typedef unsigned long long hyk_ulong;
HY_FN float hyk_float_of_long(hyk_long x) { return HYK_OF_SIGNED(float, hyk_ulong, x); }
HY_FN double hyk_double_of_int(int x) { return HYK_OF_SIGNED(double, uint, x); }
HY_FN double hyk_double_of_long(hyk_long x) { return HYK_OF_SIGNED(double, hyk_ulong, x); }
HY_FN hyk_ulong hyk_bits_double(double x) {
  union {
    double x;
    hyk_ulong bits;
  } u = {x};
  return x == x ? u.bits : 0x7ff8000000000000ull;
}
HY_FN double hyk_of_bits(hyk_ulong bits) {
  union {
    hyk_ulong bits;
    double x;
  } u = {bits};
  return u.x;
}
HY_FN double hyk_number_double(double x) { return x == x ? x : 1.0; }
HY_FN float hyk_half_double(double x) {
  half y = hy_abs(x) >= 65520.0 ? __builtin_copysign(__builtin_inf(), x) : x;
  return y;
}
HY_FN hyk_long hyk_long_of_float(float x) {
  return (hyk_long)(x >= -0x1p63f && x < 0x1p63f ? x : 3.0f);
}
HY_FN hyk_ulong hyk_ulong_of_float(float x) {
  return (hyk_ulong)(x > -1.0f && x < 0x1p64f ? x : 3.0f);
}
HY_FN int hyk_int_of_double(double x) {
  return (int)(x > -2147483649.0 && x < 2147483648.0 ? x : 3.0);
}
HY_FN uint hyk_uint_of_double(double x) {
  return (uint)(x > -1.0 && x < 4294967296.0 ? x : 3.0);
}
HY_FN hyk_long hyk_long_of_double(double x) {
  return (hyk_long)(x >= -0x1p63 && x < 0x1p63 ? x : 3.0);
}
HY_FN hyk_ulong hyk_ulong_of_double(double x) {
  return (hyk_ulong)(x > -1.0 && x < 0x1p64 ? x : 3.0);
}
)";

std::string print(const Kernel& kernel) { return Printer(kernel).run(); }

}  // namespace halyard::testing::random_kernel
