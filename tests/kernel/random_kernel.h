// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random kernels: a seed gives a kernel as a tree, which is printed as text for the compiler and
// interpreted here for the values that every target must compute, bit for bit.
//
// Every kernel's results are defined: no int overflows, no shift is too long, no index is out of
// range, no item reads what another writes in the same block, and atomics add up in any order.
// A NaN has no defined bits, so kernels see only whether a value is one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace halyard::testing::random_kernel {

// Types of expressions and variables.
enum class Type : std::uint8_t { kInt, kUint, kLong, kUlong, kFloat, kDouble };
// Types of buffer elements. Reading the first six converts them to int or float.
enum class Element : std::uint8_t {
  kBool,  // of conversions only
  kChar,
  kUchar,
  kShort,
  kUshort,
  kHalf,
  kInt,
  kUint,
  kFloat,
  kDouble,
};

constexpr bool is_float(Type type) { return type == Type::kFloat || type == Type::kDouble; }
constexpr bool is_signed(Type type) { return type == Type::kInt || type == Type::kLong; }
constexpr bool is_long(Type type) { return type == Type::kLong || type == Type::kUlong; }

__extension__ using Wide = __int128;

struct Range {
  Wide least = 0, most = 0;
  bool holds(const Range& other) const { return least <= other.least && other.most <= most; }
};
Range range_of(Type type);
Range range_of(Element element);  // not of half or wider

enum class Op : std::uint8_t {
  // Leaves
  kLiteral,
  kVariable,
  kScalar,
  kGlobal,  // HY_GLOBAL_X, or the item's number in the grid
  kItem,    // HY_L
  kGroup,   // HY_GX
  // Loads, with an index
  kInput,
  kShared,
  kPrivate,
  kArray,
  kOutput,  // own element
  // One operand
  kNegate,
  kComplement,
  kNot,
  kConvert,
  kNarrow,  // to `narrow` and back
  kBits,    // of a float; those of a NaN are 7fc00000
  kOfBits,
  kOpaque,  // the float with its last bit set, at run time
  kAbs,
  kFloor,
  kSqrt,
  kPopcount,
  // Two
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,  // of integers by `divisor`, like kRemainder
  kRemainder,
  kAnd,
  kOr,
  kXor,
  kLeft,
  kRight,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kEqual,
  kUnequal,
  kBoth,
  kEither,
  kMin,
  kMax,
  kMulHigh,
  kCopySign,
  // More
  kSelect,
  kCall,
};

// The divisor of an integer, which is not 0. A single node, so that no edit separates its parts.
enum class Divisor : std::uint8_t {
  kLiteral,  // e1
  kOdd,      // e1 | 1
  kChecked,  // e1; the result is e2 where e1 is 0
};

struct Expression;
using E = std::shared_ptr<const Expression>;
struct Expression {
  Op op = Op::kLiteral;
  Type type = Type::kInt;
  Element narrow = Element::kBool;
  Divisor divisor = Divisor::kLiteral;
  bool wraps = false;       // a signed operation that may overflow: printed as an unsigned one
  std::uint32_t id = 0;     // of a variable, an array, a scalar, a buffer, a function
  std::uint64_t value = 0;  // as evaluate() returns it
  Range range;              // of integers
  std::vector<E> of;
};

enum class Kind : std::uint8_t {
  kDeclare,       // type vID = e0;
  kDeclareArray,  // type aID[] = {e...};
  kAssign,        // vID = e0;
  kCompound,      // vID op= e0;
  kStoreArray,    // aID[e0] = e1;
  kStorePrivate,  // HY_MY(.., e0) = e1;
  kStoreShared,   // own element = e0
  kExchange,      // vID = the own element's previous value, which becomes e0
  kStoreOutput,   // own element e0 of output `id` = e1
  kAtomicShared,  // op: element e0 of the shared counters by e1
  kAtomicBuffer,
  kIf,     // e0: bodies 0 and 1
  kFor,    // vID from 0 while < e0
  kWhile,  // vID = e0 down to 0
  kDo,     // vID = e0 down to 0, at least once
  kSwitch,
  kBreakIf,
  kContinueIf,
  kReturnIf,  // of a function: e0, e1
  // The group's
  kItems,
  kItemsBelow,
  kItemsFirst,
};

struct Statement {
  Kind kind = Kind::kAssign;
  std::uint32_t id = 0;
  Type type = Type::kInt;
  Op op = Op::kAdd;
  std::vector<E> e;
  std::vector<std::vector<Statement>> bodies;
  std::uint32_t falls_through = 0;  // bit i: case i of a switch has no break
};

struct Function {
  std::vector<std::uint32_t> parameters;  // variables
  Type type = Type::kInt;
  std::vector<Statement> body;
  E result;
};

// Fixed parts of every kernel. An input has kInputs elements; an output kSlots for each item.
inline constexpr std::uint32_t kInputs = 67, kSlots = 4, kBins = 8, kShared = 3;

struct Buffer {
  const char* name;
  Element element;
  std::vector<std::byte> bytes;
  std::size_t size() const;
};

// The kernel's scalars.
struct Scalars {
  std::uint32_t one = 1, n = 0;
  std::int32_t m = 0;
  float s = 0;
  double d = 0;  // of wide kernels
};

struct Kernel {
  std::uint64_t seed = 0;
  bool wide = false;  // with double and 64-bit integers, which shaders lack
  std::uint32_t nx = 1, ny = 1, groups = 1;
  std::uint32_t private_count = 1, shared_count = 1;
  Type private_type = Type::kUint;
  std::array<Type, kShared> shared_types{};  // the last one is of counters, kBins of them
  Element narrow_in = Element::kChar, narrow_out = Element::kChar;
  std::vector<Type> variables;
  std::vector<std::uint32_t> array_sizes;
  std::vector<Type> array_types;
  std::vector<Function> functions;
  std::vector<Statement> body;
  Scalars scalars;

  std::uint32_t items() const { return nx * ny; }
};

inline constexpr std::uint32_t kInputBuffers = 4;  // and one more of wide kernels
// The buffers of a launch in the order of the parameters, filled: inputs, outputs, bins.
std::vector<Buffer> buffers_of(const Kernel& kernel);
inline std::size_t first_output(const Kernel& kernel) { return kInputBuffers + kernel.wide; }

// Returns the same kernel each time. Another C++ compiler may evaluate arguments in another order
// and draw another kernel from the seed.
Kernel draw(std::uint64_t seed);

// The kernel k<seed> and its functions; kPrelude comes before.
std::string print(const Kernel& kernel);
extern const char* const kPrelude;
extern const char* const kWidePrelude;  // after it, for wide kernels

// Runs the kernel on the buffers.
void evaluate(const Kernel& kernel, std::vector<Buffer>& buffers);

// The first difference as text; empty if there is none. NaNs are equal.
std::string compare(const Kernel& kernel, const std::vector<Buffer>& got,
                    const std::vector<Buffer>& want);

}  // namespace halyard::testing::random_kernel
