// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/shader_language.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "base/format.h"

namespace halyard::inline v0::compiler {
namespace {

struct Named {
  std::string_view name;
  std::string_view text;
};

std::string_view find(std::span<const Named> table, std::string_view name) {
  for (const Named& entry : table) {
    if (entry.name == name) return entry.text;
  }
  return {};
}

std::string find_all(std::span<const Named> helpers, std::string_view text) {
  std::string result;
  for (const Named& helper : helpers) {
    if (text.find(helper.name) != std::string_view::npos) result += helper.text;
  }
  return result;
}

class Glsl final : public ShaderLanguage {
 public:
  std::string_view target() const override { return "spirv-1.5"; }
  std::string_view prologue() const override {
    return "#version 450\n"
           "#extension GL_GOOGLE_cpp_style_line_directive : require\n"
           "#extension GL_EXT_control_flow_attributes : require\n"
           "#extension GL_EXT_buffer_reference : require\n";
  }
  std::string helpers_of(std::string_view text) const override {
    static constexpr std::array<Named, 5> kHelpers = {{
        // GLSL's own % is undefined for negative numbers.
        {"hy_remainder(", "int hy_remainder(int a, int b) { return a - a / b * b; }\n"},
        {"hy_copysign(",
         "float hy_copysign(float x, float y) {\n"
         "  return uintBitsToFloat((floatBitsToUint(x) & 0x7fffffffu) |\n"
         "                         (floatBitsToUint(y) & 0x80000000u));\n"
         "}\n"},
        // Convert between a half's bits and a float, in integers: devices may lack 16-bit floats,
        // flush their denormals, or round differently. A denormal half is a normal float.
        {"hy_float(",
         "float hy_float(uint bits) {\n"
         "  const uint magnitude = bits & 0x7fffu;\n"
         "  uint result = (magnitude << 13) + 0x38000000u;\n"
         "  if (magnitude < 0x400u) result = floatBitsToUint(float(magnitude) * "
         "5.9604644775390625e-8);\n"
         "  if (magnitude >= 0x7c00u) result = 0x7f800000u | magnitude << 13;\n"
         "  if (magnitude > 0x7c00u) result |= 0x400000u;\n"
         "  return uintBitsToFloat(result | (bits & 0x8000u) << 16);\n"
         "}\n"},
        {"hy_half(",
         "uint hy_half(float value) {\n"
         "  const uint bits = floatBitsToUint(value);\n"
         "  const uint magnitude = bits & 0x7fffffffu;\n"
         "  uint result = (magnitude - 0x38000000u + 0xfffu + (magnitude >> 13 & 1u)) >> 13;\n"
         "  if (magnitude < 0x38800000u) {\n"
         "    const uint drop = min(126u - (magnitude >> 23), 31u);\n"
         "    const uint significand = (magnitude & 0x7fffffu) | 0x800000u;\n"
         "    const uint kept = significand >> drop;\n"
         "    const uint rest = significand & ((1u << drop) - 1u);\n"
         "    const uint middle = 1u << (drop - 1u);\n"
         "    result = kept + uint(rest > middle || (rest == middle && (kept & 1u) != 0u));\n"
         "  }\n"
         "  if (magnitude >= 0x477ff000u) result = 0x7c00u;\n"
         "  if (magnitude > 0x7f800000u) result = 0x7e00u | (magnitude >> 13 & 0x3ffu);\n"
         "  return result | bits >> 16 & 0x8000u;\n"
         "}\n"},
    }};
    return find_all(kHelpers, text);
  }

  std::string_view function_prefix() const override { return ""; }
  std::string_view barrier() const override { return "barrier()"; }
  std::string_view unroll() const override { return "[[unroll]]"; }
  std::string_view local() const override { return "gl_LocalInvocationID"; }
  std::string_view group() const override { return "gl_WorkGroupID"; }
  std::string_view groups() const override { return "gl_NumWorkGroups"; }
  std::string_view float_from_bits() const override { return "uintBitsToFloat"; }
  std::string_view bits_from_float() const override { return "floatBitsToUint"; }

  std::string_view builtin(std::string_view name) const override {
    static constexpr std::array<Named, 7> kBuiltins = {{{"__builtin_fabsf", "abs"},
                                                        {"__builtin_sqrtf", "sqrt"},
                                                        {"__builtin_copysignf", "hy_copysign"},
                                                        {"__builtin_floorf", "floor"},
                                                        {"__builtin_ceilf", "ceil"},
                                                        {"__builtin_truncf", "trunc"},
                                                        {"__builtin_popcount", "bitCount"}}};
    return find(kBuiltins, name);
  }
  std::string_view operation(std::string_view opcode, Type::Base type) const override {
    return opcode == "%" && type == Type::Base::kInt ? "hy_remainder" : "";
  }

  std::string atomic(std::string_view operation, Type::Base, Space, std::string_view element,
                     std::string_view values) const override {
    static constexpr std::array<Named, 8> kFunctions = {{{"add", "atomicAdd"},
                                                         {"min", "atomicMin"},
                                                         {"max", "atomicMax"},
                                                         {"and", "atomicAnd"},
                                                         {"or", "atomicOr"},
                                                         {"xor", "atomicXor"},
                                                         {"exchange", "atomicExchange"},
                                                         {"compare_exchange", "atomicCompSwap"}}};
    return fmt::format("{}({}, {})", find(kFunctions, operation), element, values);
  }

  std::string aggregate(const Type& type, std::span<const std::string> members) const override {
    std::string name = type_name(type);
    for (const std::uint32_t extent : type.extents) name += fmt::format("[{}]", extent);
    return fmt::format("{}({})", name, fmt::join(members, ", "));
  }
  std::string_view constant() const override { return "const"; }

  // Halves are stored as their bits.
  std::string_view stored_name(const Type& type) const override {
    const bool is_signed = type.base == Type::Base::kInt;
    if (type.bits == 8) return is_signed ? "int8_t" : "uint8_t";
    return is_signed ? "int16_t" : "uint16_t";
  }
  std::string loaded(const Type& type, std::string_view element) const override {
    if (type.base == Type::Base::kFloat) return fmt::format("hy_float(uint({}))", element);
    return fmt::format("{}({})", type_name(type), element);
  }
  std::string stored(const Type& type, std::string_view value) const override {
    if (type.base == Type::Base::kFloat) return fmt::format("uint16_t(hy_half({}))", value);
    return fmt::format("{}({})", stored_name(type), value);
  }
  std::string narrowed(const Type& type, std::string_view value) const override {
    if (type.base == Type::Base::kFloat) return fmt::format("hy_float(hy_half({}))", value);
    // Uses operators, because constant expressions allow them.
    if (type.base == Type::Base::kUint) {
      return fmt::format("(({}) & 0x{:x}u)", value, (1u << type.bits) - 1);
    }
    return fmt::format("((({}) << {}) >> {})", value, 32 - type.bits, 32 - type.bits);
  }
};

class Msl final : public ShaderLanguage {
 public:
  std::string_view target() const override { return "msl-3.0"; }
  std::string_view prologue() const override {
    // Compilers before Metal 3.2 do not support math_mode; for those the driver sets it
    // (kernel/device_abi.h).
    return "#include <metal_stdlib>\n"
           "using namespace metal;\n"
           "#pragma METAL fp math_mode(safe)\n"
           "#pragma METAL fp contract(off)\n";
  }
  std::string helpers_of(std::string_view text) const override {
    // Metal has only the weak form, which may fail although the value is the expected one.
    static constexpr std::array<Named, 1> kHelpers = {
        {{"hy_compare_exchange(",
          "template <typename P, typename T>\n"
          "static T hy_compare_exchange(P element, T expected, T value) {\n"
          "  T was = expected;\n"
          "  while (!metal::atomic_compare_exchange_weak_explicit(\n"
          "             element, &was, value, metal::memory_order_relaxed,\n"
          "             metal::memory_order_relaxed) &&\n"
          "         was == expected) {\n"
          "  }\n"
          "  return was;\n"
          "}\n"}}};
    return find_all(kHelpers, text);
  }

  std::string_view function_prefix() const override { return "static "; }
  std::string_view barrier() const override {
    return "metal::threadgroup_barrier(metal::mem_flags::mem_threadgroup)";
  }
  std::string_view unroll() const override { return "_Pragma(\"clang loop unroll(full)\")"; }
  std::string_view local() const override { return "hy_local"; }
  std::string_view group() const override { return "hy_group"; }
  std::string_view groups() const override { return "hy_groups"; }
  std::string_view float_from_bits() const override { return "as_type<float>"; }
  std::string_view bits_from_float() const override { return "as_type<uint>"; }

  std::string_view builtin(std::string_view name) const override {
    static constexpr std::array<Named, 7> kBuiltins = {{{"__builtin_fabsf", "metal::fabs"},
                                                        {"__builtin_sqrtf", "metal::precise::sqrt"},
                                                        {"__builtin_copysignf", "metal::copysign"},
                                                        {"__builtin_floorf", "metal::floor"},
                                                        {"__builtin_ceilf", "metal::ceil"},
                                                        {"__builtin_truncf", "metal::trunc"},
                                                        {"__builtin_popcount", "metal::popcount"}}};
    return find(kBuiltins, name);
  }
  std::string_view operation(std::string_view opcode, Type::Base type) const override {
    // The operator itself may be incorrectly rounded.
    return opcode == "/" && type == Type::Base::kFloat ? "metal::precise::divide" : "";
  }

  std::string atomic(std::string_view operation, Type::Base type, Space space,
                     std::string_view element, std::string_view values) const override {
    const std::string address =
        fmt::format("({} metal::atomic_{}*)&{}", space == Space::kShared ? "threadgroup" : "device",
                    type == Type::Base::kInt ? "int" : "uint", element);
    if (operation == "compare_exchange") {
      return fmt::format("hy_compare_exchange({}, {})", address, values);
    }
    return fmt::format("metal::atomic_{}{}_explicit({}, {}, metal::memory_order_relaxed)",
                       operation == "exchange" ? "" : "fetch_", operation, address, values);
  }

  std::string aggregate(const Type& type, std::span<const std::string> members) const override {
    return fmt::format("{}{{{}}}", type.is_array() ? "" : type_name(type),
                       fmt::join(members, ", "));
  }
  std::string_view constant() const override { return "constant"; }

  std::string_view stored_name(const Type& type) const override {
    if (type.base == Type::Base::kFloat) return "half";
    const bool is_signed = type.base == Type::Base::kInt;
    if (type.bits == 8) return is_signed ? "char" : "uchar";
    return is_signed ? "short" : "ushort";
  }
  std::string loaded(const Type& type, std::string_view element) const override {
    return fmt::format("{}({})", type_name(type), element);
  }
  std::string stored(const Type& type, std::string_view value) const override {
    return fmt::format("{}({})", stored_name(type), value);
  }
  std::string narrowed(const Type& type, std::string_view value) const override {
    return fmt::format("{}({}({}))", type_name(type), stored_name(type), value);
  }
};

}  // namespace

const ShaderLanguage& glsl() {
  static const Glsl language;
  return language;
}

const ShaderLanguage& msl() {
  static const Msl language;
  return language;
}

std::string type_name(const Type& type) {
  switch (type.base) {
    case Type::Base::kVoid:
      return "void";
    case Type::Base::kBool:
      return "bool";
    case Type::Base::kInt:
      return "int";
    case Type::Base::kUint:
      return "uint";
    case Type::Base::kFloat:
      return "float";
    case Type::Base::kRecord:
      return type.record->name;
  }
  return {};
}

std::string declare(const Type& type, std::string_view name) {
  std::string text = fmt::format("{} {}", type_name(type), name);
  for (const std::uint32_t extent : type.extents) text += fmt::format("[{}]", extent);
  return text;
}

}  // namespace halyard::inline v0::compiler
