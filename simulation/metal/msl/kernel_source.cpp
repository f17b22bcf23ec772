// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/metal/msl/kernel_source.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

namespace halyard::inline v0::sim::msl {
namespace {

// Names by Input; Metal Shading Language Specification 3.2, table 5.8.
constexpr std::string_view kInputs[] = {
    "thread_position_in_grid",
    "thread_position_in_threadgroup",
    "threadgroup_position_in_grid",
    "threads_per_grid",
    "threads_per_threadgroup",
    "dispatch_threads_per_threadgroup",
    "threadgroups_per_grid",
    "thread_index_in_threadgroup",
    "thread_index_in_simdgroup",
    "simdgroup_index_in_threadgroup",
    "threads_per_simdgroup",
    "simdgroups_per_threadgroup",
    "dispatch_simdgroups_per_threadgroup",
    "quadgroup_index_in_threadgroup",
    "thread_index_in_quadgroup",
    "quadgroups_per_threadgroup",
    "dispatch_quadgroups_per_threadgroup",
    "grid_origin",
    "grid_size",
};

std::string number(std::size_t n) { return std::to_string(n); }

template <class T>
T bits_of(const ConstantValue& value, std::size_t element) {
  T t;
  std::memcpy(&t, value.bytes.data() + element * sizeof(T), sizeof(T));
  return t;
}

std::string float_text(float f) {
  if (std::isnan(f)) return "__builtin_nanf(\"\")";
  if (std::isinf(f)) return f < 0 ? "-__builtin_inff()" : "__builtin_inff()";
  char text[48];
  std::snprintf(text, sizeof text, "%af", static_cast<double>(f));
  return text;
}

float half_value(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const int mantissa = bits & 1023;
  float f = exponent == 31  ? (mantissa != 0 ? NAN : INFINITY)
            : exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -24)
                            : std::ldexp(static_cast<float>(mantissa + 1024), exponent - 25);
  return (bits >> 15) != 0 ? -f : f;
}

// One component, and the name of the scalar type.
std::string component(const ConstantValue& value, DataType scalar, std::size_t i,
                      const char*& type) {
  switch (scalar) {
    case DataType::kFloat:
      type = "float";
      return float_text(bits_of<float>(value, i));
    case DataType::kHalf:
      type = "half";
      return float_text(half_value(bits_of<std::uint16_t>(value, i)));
    case DataType::kBfloat: {
      const std::uint32_t bits = std::uint32_t{bits_of<std::uint16_t>(value, i)} << 16;
      float f;
      std::memcpy(&f, &bits, 4);
      type = "bfloat";
      return float_text(f);
    }
    case DataType::kInt:
      type = "int";
      return std::to_string(bits_of<std::int32_t>(value, i)) + "l";
    case DataType::kUint:
      type = "uint";
      return std::to_string(bits_of<std::uint32_t>(value, i)) + "u";
    case DataType::kShort:
      type = "short";
      return std::to_string(bits_of<std::int16_t>(value, i));
    case DataType::kUshort:
      type = "ushort";
      return std::to_string(bits_of<std::uint16_t>(value, i));
    case DataType::kChar:
      type = "char";
      return std::to_string(bits_of<std::int8_t>(value, i));
    case DataType::kUchar:
      type = "uchar";
      return std::to_string(bits_of<std::uint8_t>(value, i));
    case DataType::kBool:
      type = "bool";
      return bits_of<std::uint8_t>(value, i) != 0 ? "true" : "false";
    case DataType::kLong:
      type = "long";
      return "long(" + std::to_string(bits_of<std::uint64_t>(value, i)) + "ul)";
    case DataType::kUlong:
      type = "ulong";
      return std::to_string(bits_of<std::uint64_t>(value, i)) + "ul";
    default:
      type = "int";
      return "0";
  }
}

}  // namespace

int input_index(std::string_view name) noexcept {
  if (name == "thread_execution_width") return static_cast<int>(Input::kThreadsPerSimdgroup);
  const auto* found = std::ranges::find(kInputs, name);
  return found == std::end(kInputs) ? -1 : static_cast<int>(found - std::begin(kInputs));
}

std::string constant_text(const ConstantValue& value) {
  constexpr DataType kScalars[] = {DataType::kFloat, DataType::kHalf,  DataType::kInt,
                                   DataType::kUint,  DataType::kShort, DataType::kUshort,
                                   DataType::kChar,  DataType::kUchar, DataType::kBool,
                                   DataType::kLong,  DataType::kUlong, DataType::kBfloat};
  const auto type = static_cast<std::uint32_t>(value.type);
  for (const DataType scalar : kScalars) {
    const std::uint32_t first = static_cast<std::uint32_t>(scalar);
    if (type < first || type > first + 3) continue;
    const char* name = "";
    const std::string x = component(value, scalar, 0, name);
    if (type == first) return "(" + x + ")";
    std::string text = std::string(name) + number(type - first + 1) + "(" + x;
    for (std::size_t i = 1; i <= type - first; ++i)
      text += ", " + component(value, scalar, i, name);
    return text + ")";
  }
  return "(0)";
}

std::vector<DescribedParameter> described(const Rewritten& text, const WrittenFunction& function) {
  std::vector<DescribedParameter> all;
  for (std::size_t i = 0; i < function.parameters.size(); ++i) {
    const WrittenParameter& p = function.parameters[i];
    if (!p.indirect) continue;
    DescribedParameter d{i, nullptr};
    if (!p.struct_name.empty()) {
      for (const WrittenStruct& s : text.structs) {
        if (s.simple && (s.name == p.struct_name || s.name.ends_with("::" + p.struct_name)))
          d.members = &s;
      }
    }
    all.push_back(d);
  }
  return all;
}

std::string kernel_source(const Rewritten& text, std::span<const std::size_t> functions,
                          std::span<const std::string> constant_values, bool entries) {
  std::string out;
  for (std::size_t i = 0; i < text.constants.size(); ++i) {
    const WrittenConstant& c = text.constants[i];
    const bool has = i < constant_values.size() && !constant_values[i].empty();
    // A constant's type is never `auto`: the text always names it.
    out += "#define __HY_VALUE_" + c.name + " " + c.type + "(" + (has ? constant_values[i] : "0") +
           ")\n";
    out += "#define __HY_DEFINED_" + c.name + (has ? " true\n" : " false\n");
  }
  out +=
      "#define __HY_VARIABLE(N, H) static const __global uint __hy_record_##N[3] "
      "__attribute__((section(\"hy_variables\"), used)) = {N, sizeof(H), alignof(H)};\n"
      "# 1 \"program_source\"\n";
  out += text.text;
  out += "\n# 1 \"entry_points\"\n";
  std::string types;
  for (const std::size_t k : functions) {
    const WrittenFunction& f = text.functions[k];
    const std::string n = number(k);
    std::string entry = "extern \"C\" __attribute__((visibility(\"default\"))) void __hy_entry_" +
                        n + "(__private const __hy::call* c) {\n  typedef decltype(" +
                        f.expression + ") F;\n  " + f.expression + "(";
    for (std::size_t i = 0; i < f.parameters.size(); ++i) {
      const WrittenParameter& p = f.parameters[i];
      const std::string parameter = "__hy::parameter_t<" + number(i) + ", F>";
      if (i != 0) entry += ",\n    ";
      const int input = p.indirect ? -1 : input_index(p.input);
      if (input >= 0) {
        entry += "__hy::input<" + parameter + ">::get((__private const uint*)c->inputs[" +
                 number(static_cast<std::size_t>(input)) + "])";
      } else if (p.indirect) {
        entry += "__hy::memory_argument<" + parameter + ">::get(c->arguments[" + number(i) + "])";
      } else {
        entry += "__hy::memory_argument<" + parameter + ">::unknown_input";
      }
    }
    entry += ");\n}\n";
    if (entries) out += entry;
    for (const DescribedParameter& d : described(text, f)) {
      types += "  {__hy::description<__hy::parameter_t<" + number(d.parameter) + ", decltype(" +
               f.expression + ")>>::get(), 0},\n";
      if (d.members == nullptr) continue;
      const std::string s = "::" + d.members->name;
      for (const WrittenMember& m : d.members->members) {
        types += "  {__hy::description<decltype(" + s + "::" + m.name +
                 ")>::get(), uint(__builtin_offsetof(" + s + ", " + m.name + "))},\n";
      }
    }
  }
  out +=
      "struct __hy_described { __hy::type_words words; uint offset; };\n"
      "extern \"C\" __attribute__((visibility(\"default\"))) extern const __constant "
      "__hy_described "
      "__hy_types[] = {\n" +
      types + "  {{0, 0, 0, 0, 0, 0, 0, 0, 0}, 0}};\n";
  return out;
}

}  // namespace halyard::inline v0::sim::msl
