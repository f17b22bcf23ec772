// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Evaluates random kernels: group by group, block by block, item by item. Values are 64 bits: an
// integer extended by its sign or by zeros, a float's or a double's bits.
#include <bit>
#include <cmath>
#include <cstring>

#include "base/format.h"
#include "kernel/half_values.h"
#include "kernel/random_kernel.h"

namespace halyard::testing::random_kernel {
namespace {

using Value = std::uint64_t;

float float_of(Value v) { return std::bit_cast<float>(static_cast<std::uint32_t>(v)); }
double double_of(Value v) { return std::bit_cast<double>(v); }
Value value_of(float x) { return std::bit_cast<std::uint32_t>(x); }
Value value_of(double x) { return std::bit_cast<std::uint64_t>(x); }

// The low bits, extended as the integer type requires.
Value integer(Type type, Value v) {
  if (type == Type::kInt) {
    return static_cast<Value>(static_cast<std::int64_t>(static_cast<std::int32_t>(v)));
  }
  return type == Type::kUint ? static_cast<std::uint32_t>(v) : v;
}

double number_of(Type type, Value v) { return type == Type::kFloat ? float_of(v) : double_of(v); }

bool is_true(Type type, Value v) { return is_float(type) ? number_of(type, v) != 0 : v != 0; }

double half(double x) { return value_of_half(nearest_half(x)); }

Value convert(Type from, Type to, Value v) {
  if (from == to) return v;
  if (is_float(from)) {
    const double x = number_of(from, v);
    if (to == Type::kDouble) return value_of(x);
    if (to == Type::kFloat) return value_of(static_cast<float>(x));
    const bool fits = to == Type::kInt    ? x > -2147483649.0 && x < 2147483648.0
                      : to == Type::kUint ? x > -1 && x < 4294967296.0
                      : to == Type::kLong ? x >= -0x1p63 && x < 0x1p63
                                          : x > -1 && x < 0x1p64;
    if (!fits) return 3;
    return is_signed(to) ? static_cast<Value>(static_cast<std::int64_t>(x))
                         : static_cast<Value>(x > 0 ? x : 0);
  }
  if (!is_float(to)) return integer(to, v);
  if (is_signed(from)) {
    const auto i = static_cast<std::int64_t>(v);
    return to == Type::kFloat ? value_of(static_cast<float>(i)) : value_of(static_cast<double>(i));
  }
  return to == Type::kFloat ? value_of(static_cast<float>(v)) : value_of(static_cast<double>(v));
}

Value narrowed(Element narrow, Type from, Value v) {
  switch (narrow) {
    case Element::kBool:
      return is_true(from, v) ? 1 : 0;
    case Element::kChar:
      return static_cast<Value>(static_cast<std::int64_t>(static_cast<std::int8_t>(v)));
    case Element::kUchar:
      return static_cast<std::uint8_t>(v);
    case Element::kShort:
      return static_cast<Value>(static_cast<std::int64_t>(static_cast<std::int16_t>(v)));
    case Element::kUshort:
      return static_cast<std::uint16_t>(v);
    default:
      return value_of(static_cast<float>(half(number_of(from, v))));
  }
}

template <class T>
Value arithmetic(Op op, T a, T b) {
  switch (op) {
    case Op::kAdd:
      return value_of(a + b);
    case Op::kSubtract:
      return value_of(a - b);
    case Op::kMultiply:
      return value_of(a * b);
    case Op::kDivide:
      return value_of(a / b);
    case Op::kMin:
      return value_of(a < b ? a : b);
    case Op::kMax:
      return value_of(a > b ? a : b);
    case Op::kCopySign:
      return value_of(std::copysign(a, b == b ? b : T{1}));
    case Op::kLess:
      return a < b;
    case Op::kLessEqual:
      return a <= b;
    case Op::kGreater:
      return a > b;
    case Op::kGreaterEqual:
      return a >= b;
    case Op::kEqual:
      return a == b;
    default:
      return a != b;
  }
}

// T has 64 bits.
template <class T>
Value whole(Op op, T a, T b, unsigned bits) {
  const auto x = static_cast<Value>(a), y = static_cast<Value>(b);
  switch (op) {
    case Op::kAdd:
      return x + y;
    case Op::kSubtract:
      return x - y;
    case Op::kMultiply:
      return x * y;
    case Op::kDivide:
      return static_cast<Value>(a / b);
    case Op::kRemainder:
      return static_cast<Value>(a % b);
    case Op::kAnd:
      return x & y;
    case Op::kOr:
      return x | y;
    case Op::kXor:
      return x ^ y;
    case Op::kLeft:
      return x << (y % bits);
    case Op::kRight:
      return static_cast<Value>(a >> (y % bits));
    case Op::kLess:
      return a < b;
    case Op::kLessEqual:
      return a <= b;
    case Op::kGreater:
      return a > b;
    case Op::kGreaterEqual:
      return a >= b;
    case Op::kEqual:
      return a == b;
    case Op::kUnequal:
      return a != b;
    case Op::kMin:
      return static_cast<Value>(a < b ? a : b);
    case Op::kMax:
      return static_cast<Value>(a > b ? a : b);
    default:  // kMulHigh, of uints
      return x * y >> 32;
  }
}

struct Place {
  std::uint32_t group = 0, x = 0, y = 0;
};

class Evaluator {
 public:
  Evaluator(const Kernel& kernel, std::vector<Buffer>& buffers)
      : kernel_(kernel), buffers_(buffers), variables_(kernel.variables.size()) {
    for (const std::uint32_t size : kernel.array_sizes) arrays_.emplace_back(size);
  }

  void run() {
    for (at_.group = 0; at_.group < kernel_.groups; ++at_.group) {
      for (std::uint32_t i = 0; i < kShared; ++i) {
        shared_[i].assign(i + 1 == kShared ? kBins : kernel_.shared_count, 0);
      }
      own_.assign(kernel_.items() * kernel_.private_count, 0);
      run_group(kernel_.body);
    }
  }

 private:
  enum class Flow { kNext, kBreak, kContinue, kReturn };

  void run_group(const std::vector<Statement>& body) {
    for (const Statement& s : body) {
      if (s.kind == Kind::kFor) {
        const Value count = eval(s.e[0]);
        for (Value i = 0; i < count; ++i) {
          variables_[s.id] = i;
          run_group(s.bodies[0]);
        }
      } else if (s.kind == Kind::kIf) {
        run_group(s.bodies[is_true(s.e[0]->type, eval(s.e[0])) ? 0 : 1]);
      } else {
        run_block(s);
      }
    }
  }

  void run_block(const Statement& s) {
    const Value limit = s.e.empty() ? ~Value{0} : eval(s.e[0]);
    for (at_.y = 0; at_.y < kernel_.ny; ++at_.y) {
      for (at_.x = 0; at_.x < kernel_.nx; ++at_.x) {
        const Value index = s.kind == Kind::kItemsBelow ? at_.group * kernel_.nx + at_.x : at_.x;
        if (index < limit) run_all(s.bodies[0]);
      }
    }
  }

  Value item() const { return at_.y * kernel_.nx + at_.x; }
  Value global() const { return at_.group * kernel_.items() + item(); }
  Value& own(Value i) { return own_[item() * kernel_.private_count + i]; }

  Flow run_all(const std::vector<Statement>& body) {
    for (const Statement& s : body) {
      if (const Flow flow = run(s); flow != Flow::kNext) return flow;
    }
    return Flow::kNext;
  }

  Flow run(const Statement& s) {
    switch (s.kind) {
      case Kind::kDeclare:
      case Kind::kAssign:
        variables_[s.id] = eval(s.e[0]);
        return Flow::kNext;
      case Kind::kDeclareArray:
        for (std::size_t i = 0; i < s.e.size(); ++i) arrays_[s.id][i] = eval(s.e[i]);
        return Flow::kNext;
      case Kind::kCompound:
        variables_[s.id] = binary(s.op, s.type, variables_[s.id], eval(s.e[0]));
        return Flow::kNext;
      case Kind::kStoreArray:
        arrays_[s.id][eval(s.e[0])] = eval(s.e[1]);
        return Flow::kNext;
      case Kind::kStorePrivate:
        own(eval(s.e[0])) = eval(s.e[1]);
        return Flow::kNext;
      case Kind::kStoreShared:
        if (item() < shared_[s.id].size()) shared_[s.id][item()] = eval(s.e[0]);
        return Flow::kNext;
      case Kind::kExchange: {
        const Value next = eval(s.e[0]);
        variables_[s.id] = std::exchange(shared_[0][item()], next);
        return Flow::kNext;
      }
      case Kind::kStoreOutput: {
        const Value slot = eval(s.e[0]);
        store(buffers_[first_output(kernel_) + s.id], global() * kSlots + slot, eval(s.e[1]));
        return Flow::kNext;
      }
      case Kind::kAtomicShared: {
        Value& counter = shared_[kShared - 1][eval(s.e[0])];
        counter = binary(s.op, s.type, counter, eval(s.e[1]));
        return Flow::kNext;
      }
      case Kind::kAtomicBuffer: {
        Buffer& bins = buffers_.back();
        const Value i = eval(s.e[0]);
        store(bins, i, binary(s.op, Type::kUint, load(bins, i), eval(s.e[1])));
        return Flow::kNext;
      }
      case Kind::kIf:
        return run_all(s.bodies[is_true(s.e[0]->type, eval(s.e[0])) ? 0 : 1]);
      case Kind::kFor:
        for (variables_[s.id] = 0; variables_[s.id] < eval(s.e[0]); ++variables_[s.id]) {
          const Flow flow = run_all(s.bodies[0]);
          if (flow == Flow::kReturn) return flow;
          if (flow == Flow::kBreak) break;
        }
        return Flow::kNext;
      case Kind::kWhile:
        variables_[s.id] = eval(s.e[0]);
        while (variables_[s.id] != 0) {
          --variables_[s.id];
          const Flow flow = run_all(s.bodies[0]);
          if (flow == Flow::kReturn) return flow;
          if (flow == Flow::kBreak) break;
        }
        return Flow::kNext;
      case Kind::kDo:
        variables_[s.id] = eval(s.e[0]);
        do {
          const Flow flow = run_all(s.bodies[0]);
          if (flow == Flow::kReturn) return flow;
          if (flow == Flow::kBreak) break;
        } while (variables_[s.id]-- != 0);
        return Flow::kNext;
      case Kind::kSwitch: {
        std::size_t i = std::min<std::size_t>(eval(s.e[0]), s.bodies.size() - 1);
        for (; i < s.bodies.size(); ++i) {
          // A flow other than kNext is that of an enclosing loop or function: cases contain no
          // break of the switch.
          if (const Flow flow = run_all(s.bodies[i]); flow != Flow::kNext) return flow;
          if ((s.falls_through >> i & 1) == 0) break;
        }
        return Flow::kNext;
      }
      case Kind::kBreakIf:
        return is_true(s.e[0]->type, eval(s.e[0])) ? Flow::kBreak : Flow::kNext;
      case Kind::kContinueIf:
        return is_true(s.e[0]->type, eval(s.e[0])) ? Flow::kContinue : Flow::kNext;
      case Kind::kReturnIf:
        if (!is_true(s.e[0]->type, eval(s.e[0]))) return Flow::kNext;
        result_ = eval(s.e[1]);
        return Flow::kReturn;
      default:
        return Flow::kNext;  // blocks are run by run_group()
    }
  }

  static Value load(const Buffer& buffer, Value i) {
    const auto read = [&]<class T>(T value) {
      std::memcpy(&value, buffer.bytes.data() + i * sizeof value, sizeof value);
      return value;
    };
    const auto whole_of = [](auto v) { return static_cast<Value>(static_cast<std::int64_t>(v)); };
    switch (buffer.element) {
      case Element::kChar:
        return whole_of(read(std::int8_t{}));
      case Element::kUchar:
        return read(std::uint8_t{});
      case Element::kShort:
        return whole_of(read(std::int16_t{}));
      case Element::kUshort:
        return read(std::uint16_t{});
      case Element::kHalf:
        return value_of(static_cast<float>(value_of_half(read(std::uint16_t{}))));
      case Element::kInt:
        return whole_of(read(std::int32_t{}));
      case Element::kDouble:
        return read(std::uint64_t{});
      default:
        return read(std::uint32_t{});
    }
  }

  static void store(Buffer& buffer, Value i, Value v) {
    const std::size_t size = buffer.bytes.size() / buffer.size();
    // The value of a half is a float or a double. Other narrow elements keep the low bits.
    const Value bits = buffer.element == Element::kHalf ? nearest_half(float_of(v)) : v;
    std::memcpy(buffer.bytes.data() + i * size, &bits, size);
  }

  Value binary(Op op, Type type, Value a, Value b) {
    if (type == Type::kFloat) return arithmetic(op, float_of(a), float_of(b));
    if (type == Type::kDouble) return arithmetic(op, double_of(a), double_of(b));
    const unsigned bits = is_long(type) ? 64 : 32;
    const Value result =
        is_signed(type)
            ? whole(op, static_cast<std::int64_t>(a), static_cast<std::int64_t>(b), bits)
            : whole(op, a, b, bits);
    return integer(type, result);
  }

  Value eval(const E& e) { return eval(*e); }

  Value eval(const Expression& e) {
    const auto at = [&](std::size_t i) { return eval(e.of[i]); };
    const Type from = e.of.empty() ? e.type : e.of[0]->type;
    switch (e.op) {
      case Op::kLiteral:
        return e.value;
      case Op::kVariable:
        return variables_[e.id];
      case Op::kScalar: {
        const Scalars& s = kernel_.scalars;
        const Value all[] = {s.one, s.n, static_cast<Value>(std::int64_t{s.m}), value_of(s.s),
                             value_of(s.d)};
        return all[e.id];
      }
      case Op::kGlobal:
        return global();
      case Op::kItem:
        return item();
      case Op::kGroup:
        return at_.group;
      case Op::kInput:
        return load(buffers_[e.id], at(0));
      case Op::kShared:
        return shared_[e.id][at(0)];
      case Op::kPrivate:
        return own(at(0));
      case Op::kArray:
        return arrays_[e.id][at(0)];
      case Op::kOutput:
        return load(buffers_[first_output(kernel_) + e.id], global() * kSlots + at(0));
      case Op::kNegate:
        if (e.type == Type::kFloat) return value_of(-float_of(at(0)));
        if (e.type == Type::kDouble) return value_of(-double_of(at(0)));
        return integer(e.type, 0 - at(0));
      case Op::kComplement:
        return integer(e.type, ~at(0));
      case Op::kNot:
        return is_true(from, at(0)) ? 0 : 1;
      case Op::kConvert:
        return convert(from, e.type, at(0));
      case Op::kNarrow:
        return narrowed(e.narrow, from, at(0));
      case Op::kBits: {
        const Value v = at(0);
        if (!std::isnan(number_of(from, v))) return v;
        return from == Type::kFloat ? 0x7fc00000u : 0x7ff8000000000000u;
      }
      case Op::kOfBits:
        return at(0);
      case Op::kOpaque:
        return at(0) | kernel_.scalars.one;
      case Op::kAbs:
        return e.type == Type::kFloat ? value_of(std::fabs(float_of(at(0))))
                                      : value_of(std::fabs(double_of(at(0))));
      case Op::kFloor:
        return e.type == Type::kFloat ? value_of(std::floor(float_of(at(0))))
                                      : value_of(std::floor(double_of(at(0))));
      case Op::kSqrt:
        return e.type == Type::kFloat ? value_of(std::sqrt(float_of(at(0))))
                                      : value_of(std::sqrt(double_of(at(0))));
      case Op::kPopcount:
        return static_cast<Value>(std::popcount(at(0)));
      case Op::kBoth:
        return is_true(from, at(0)) && is_true(e.of[1]->type, at(1));
      case Op::kEither:
        return is_true(from, at(0)) || is_true(e.of[1]->type, at(1));
      case Op::kSelect:
        return at(is_true(from, at(0)) ? 1 : 2);
      case Op::kCall:
        return call(e);
      default: {
        const Value a = at(0), b = at(1);
        if (e.divisor == Divisor::kChecked && b == 0) return at(2);
        return binary(e.op, from, a, e.divisor == Divisor::kOdd ? b | 1 : b);
      }
    }
  }

  Value call(const Expression& e) {
    const Function& function = kernel_.functions[e.id];
    std::vector<Value> arguments;
    for (const E& each : e.of) arguments.push_back(eval(each));
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      variables_[function.parameters[i]] = arguments[i];
    }
    return run_all(function.body) == Flow::kReturn ? result_ : eval(function.result);
  }

  const Kernel& kernel_;
  std::vector<Buffer>& buffers_;
  Place at_;
  std::vector<Value> variables_;
  std::vector<std::vector<Value>> arrays_;
  std::array<std::vector<Value>, kShared> shared_;
  std::vector<Value> own_;  // private values, by item
  Value result_ = 0;        // of a function that returned early
};

bool is_nan(Element element, std::uint64_t bits) {
  if (element == Element::kHalf) return is_half_nan(static_cast<std::uint16_t>(bits));
  if (element == Element::kFloat) return std::isnan(float_of(bits));
  return element == Element::kDouble && std::isnan(double_of(bits));
}

}  // namespace

Range range_of(Type type) {
  switch (type) {
    case Type::kInt:
      return {-(Wide{1} << 31), (Wide{1} << 31) - 1};
    case Type::kUint:
      return {0, (Wide{1} << 32) - 1};
    case Type::kLong:
      return {-(Wide{1} << 63), (Wide{1} << 63) - 1};
    case Type::kUlong:
      return {0, (Wide{1} << 64) - 1};
    default:
      return {};
  }
}

Range range_of(Element element) {
  switch (element) {
    case Element::kBool:
      return {0, 1};
    case Element::kChar:
      return {-128, 127};
    case Element::kUchar:
      return {0, 255};
    case Element::kShort:
      return {-32768, 32767};
    case Element::kUshort:
      return {0, 65535};
    default:
      return {};
  }
}

std::size_t Buffer::size() const {
  static constexpr std::size_t kBytes[] = {1, 1, 1, 2, 2, 2, 4, 4, 4, 8};
  return bytes.size() / kBytes[static_cast<int>(element)];
}

void evaluate(const Kernel& kernel, std::vector<Buffer>& buffers) {
  Evaluator(kernel, buffers).run();
}

std::string compare(const Kernel& kernel, const std::vector<Buffer>& got,
                    const std::vector<Buffer>& want) {
  for (std::size_t b = first_output(kernel); b < got.size(); ++b) {
    const std::size_t size = got[b].bytes.size() / got[b].size();
    for (std::size_t i = 0; i < got[b].size(); ++i) {
      std::uint64_t a = 0, w = 0;
      std::memcpy(&a, got[b].bytes.data() + i * size, size);
      std::memcpy(&w, want[b].bytes.data() + i * size, size);
      if (a == w || (is_nan(got[b].element, a) && is_nan(got[b].element, w))) continue;
      return fmt::format("{}[{}] is {:0{}x}, not {:0{}x}", got[b].name, i, a, 2 * size, w,
                         2 * size);
    }
  }
  return {};
}

}  // namespace halyard::testing::random_kernel
