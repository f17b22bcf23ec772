// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/shader_source.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>

#include "base/format.h"
#include "compiler/metal_words.h"
#include "compiler/shader_emitter.h"
#include "kernel/device_abi.h"

namespace halyard::inline v0::compiler {
namespace {

// The type of a parameter. Shaders have none for double; KernelWriter rejects it.
Type type_of(kernel::ElementType type) {
  using enum kernel::ElementType;
  Type result;
  result.base = type == kFloat32 || type == kFloat16                ? Type::Base::kFloat
                : type == kInt32 || type == kInt16 || type == kInt8 ? Type::Base::kInt
                                                                    : Type::Base::kUint;
  result.bits = static_cast<std::uint8_t>(8 * kernel::size_of(type));
  return result;
}

// The type of an element in memory.
std::string type_in(const ShaderLanguage& language, kernel::ElementType type) {
  const Type element = type_of(type);
  return element.is_narrow() ? std::string(language.stored_name(element)) : type_name(element);
}

template <class T>
const T* find_named(const std::vector<T>& all, std::string_view name) {
  const auto found = std::ranges::find(all, name, &T::name);
  return found == all.end() ? nullptr : &*found;
}

// The declarations of a kernel outside its body.
struct Outside {
  struct Variable {
    std::string declaration;
    Space space;
  };
  std::vector<Variable> variables;
  std::vector<std::string> views;  // statements that begin the body
  std::map<std::string, Emitter::Parameter> parameters;
};

// Writes one kernel, except for the parts that differ between the languages.
class KernelWriter {
 public:
  KernelWriter(const Program& program, const ShaderLanguage& language, Emitter& emitter,
               const Kernel& kernel, std::string constants, std::string elements)
      : program_(program),
        language_(language),
        emitter_(emitter),
        kernel_(kernel),
        constants_(std::move(constants)),
        elements_(std::move(elements)),
        body_(*program.functions.at("hy_body_" + kernel.name)) {
    const auto check = [&](const auto& parameter) {
      if (parameter.type != kernel::ElementType::kFloat64) return;
      emitter.reject(body_,
                     fmt::format("'{}' is a floating-point type other than float", parameter.name));
    };
    std::ranges::for_each(kernel.bindings, check);
    std::ranges::for_each(kernel.constants, check);
  }

  const Json& body() const { return body_; }

  Outside outside() {
    Outside result;
    for (const Json& part : body_.at("inner")) {
      if (!is_kind(part, "ParmVarDecl")) continue;
      result.parameters[text_of(part, "id")] = parameter(part, text_of(part, "name"), result);
    }
    return result;
  }

 private:
  Emitter::Parameter parameter(const Json& part, std::string name, Outside& result) {
    // Prefix of HY_PRIVATE; no other parameter has the name p itself.
    constexpr std::string_view kOwn = "hy_my_";
    if (name.starts_with(kOwn)) name.erase(0, kOwn.size());
    const std::string own_name = shader_name(NameKind::kParameter, name);
    if (name.starts_with("hy_")) {
      // hy_gx, hy_cy, hy_nz: group, number of groups, items.
      static constexpr std::string_view kAxes = "xyz";
      const std::size_t axis = name.size() == 5 ? kAxes.find(name[4]) : std::string_view::npos;
      if (axis != std::string_view::npos && name[3] == 'n') {
        return {fmt::format("{}u", kernel_.workgroup_size[axis])};
      }
      if (axis != std::string_view::npos && (name[3] == 'g' || name[3] == 'c')) {
        return {
            fmt::format("{}.{}", name[3] == 'g' ? language_.group() : language_.groups(), name[4])};
      }
      // hy_t_x, and hy_in2_x or hy_out2_x.
      const std::string user_name = name.substr(name.find('_', 3) + 1);
      if (!name.starts_with("hy_t_")) {
        return {shader_name(NameKind::kParameter, user_name) + elements_, Space::kBuffer};
      }
      result.views.push_back(view(part, *find_named(kernel_.bindings, user_name), own_name));
      return {own_name};
    }
    if (find_named(kernel_.bindings, name) != nullptr) {
      return {own_name + elements_, Space::kBuffer};
    }
    if (const Constant* const constant = find_named(kernel_.constants, name)) {
      return {constant_name(*constant)};
    }
    for (const auto& [prefix, space] :
         {std::pair("hy_shared$", Space::kShared), std::pair("hy_private$", Space::kOwn)}) {
      const auto found = program_.variables.find(prefix + kernel_.name + "$" + name);
      if (found == program_.variables.end()) continue;
      result.variables.push_back(
          {declare(emitter_.types().of(*found->second), own_name) + ";", space});
      return {own_name, space};
    }
    emitter_.reject(part, fmt::format("the parameter '{}'", name));
  }

  std::string constant_name(const Constant& constant) const {
    return fmt::format("{}hy_k{}", constants_, &constant - kernel_.constants.data());
  }

  // Calls the header's own function, with the constants of the tensor and zeros for missing
  // dimensions.
  std::string view(const Json& part, const Binding& binding, const std::string& name) {
    const bool in = binding.access == kernel::Access::kRead;
    const std::string function = in ? "hy_view_in" : "hy_view_out";
    emitter_.need(function, part);
    std::string arguments = fmt::format("{}", binding.rank);
    const auto append = [&](std::string_view field, std::size_t count) {
      for (std::size_t d = 0; d < count; ++d) {
        const Constant* const constant =
            find_named(kernel_.constants, fmt::format("{}.{}{}", binding.name, field, d));
        arguments += ", " + (constant != nullptr ? constant_name(*constant) : std::string("0u"));
      }
    };
    append("size", 3);
    append("stride", 2);
    if (!in && !binding.tile.empty()) {
      for (std::size_t d = 0; d < 3; ++d) {
        arguments += fmt::format(", {}u", d < binding.tile.size() ? binding.tile[d] : 1);
      }
    } else if (!in) {
      append("tile", 3);
    }
    if (!in) arguments += fmt::format(", {0}.x, {0}.y, {0}.z", language_.group());
    return fmt::format("{} = {}({});", declare(emitter_.types().of(part), name),
                       shader_name(NameKind::kOrdinary, function), arguments);
  }

  const Program& program_;
  const ShaderLanguage& language_;
  Emitter& emitter_;
  const Kernel& kernel_;
  std::string constants_;  // prefix of a constant's name
  std::string elements_;   // suffix of a binding's name: the member that is its array
  const Json& body_;
};

void write_body(Emitter& emitter, const Json& body, Outside outside, ShaderText& text) {
  for (const std::string& view : outside.views) text.line(view);
  emitter.body(body, std::move(outside.parameters), text);
}

// Parameters never alias, unless the kernel declares that they may.
std::string_view glsl_restrict(const Kernel& kernel) {
  return kernel.may_overlap ? "" : "restrict ";
}

// The types of the bindings' addresses, the argument block, and the push constants with its
// address.
void glsl_arguments(const Kernel& kernel, ShaderText& head) {
  for (std::size_t i = 0; i < kernel.bindings.size(); ++i) {
    const Binding& binding = kernel.bindings[i];
    // SPIR-V's NonWritable would mean that nothing writes this memory, but another parameter may.
    const bool is_readonly = binding.access == kernel::Access::kRead && !kernel.may_overlap;
    // The reference has the alignment of an element.
    head.line(
        fmt::format("layout(buffer_reference, buffer_reference_align = {}, std430) {}{}buffer "
                    "hy_binding{} {{ {} hy_e[]; }};",
                    kernel::size_of(binding.type), glsl_restrict(kernel),
                    is_readonly ? "readonly " : "", i, type_in(glsl(), binding.type)));
  }
  head.open(
      "layout(buffer_reference, buffer_reference_align = 8, std430) readonly buffer hy_arguments");
  for (std::size_t i = 0; i < kernel.bindings.size(); ++i) {
    head.line(
        fmt::format("layout(offset = {}) hy_binding{} hy_b{};", kernel::kAddressBytes * i, i, i));
  }
  for (std::size_t i = 0; i < kernel.constants.size(); ++i) {
    const Constant& constant = kernel.constants[i];
    head.line(fmt::format("layout(offset = {}) {} hy_k{};",
                          kernel::kAddressBytes * kernel.bindings.size() + constant.offset,
                          type_in(glsl(), constant.type), i));
  }
  // All kernels of a module have one addressing model, so a kernel without arguments has a block
  // too. It never reads it.
  if (kernel.bindings.empty() && kernel.constants.empty()) head.line("uint hy_nothing;");
  head.close("};");
  head.line("layout(push_constant) uniform hy_launch { hy_arguments hy_a; };");
}

// Reads the whole block once, because a compiler must assume that any store to a buffer may change
// it.
void glsl_load_arguments(const Kernel& kernel, ShaderText& text) {
  for (std::size_t i = 0; i < kernel.bindings.size(); ++i) {
    text.line(fmt::format("{0}hy_binding{1} {2} = hy_a.hy_b{1};", glsl_restrict(kernel), i,
                          shader_name(NameKind::kParameter, kernel.bindings[i].name)));
  }
  for (std::size_t i = 0; i < kernel.constants.size(); ++i) {
    text.line(fmt::format("const {0} hy_k{1} = hy_a.hy_k{1};",
                          type_in(glsl(), kernel.constants[i].type), i));
  }
}

// The extensions for the elements of its buffers.
std::string glsl_storage(const Kernel& kernel) {
  std::string text;
  for (const std::size_t bytes : {1, 2}) {
    const bool has = std::ranges::any_of(kernel.bindings, [&](const Binding& binding) {
      return kernel::size_of(binding.type) == bytes;
    });
    if (has) text += fmt::format("#extension GL_EXT_shader_{}bit_storage : require\n", 8 * bytes);
  }
  return text;
}

std::string glsl_kernel(const Program& program, const Kernel& kernel) {
  Emitter emitter(program, glsl());
  KernelWriter writer(program, glsl(), emitter, kernel, "", ".hy_e");
  const auto& [x, y, z] = kernel.workgroup_size;
  ShaderText head;
  head.line(
      fmt::format("layout(local_size_x = {}, local_size_y = {}, local_size_z = {}) in;", x, y, z));
  glsl_arguments(kernel, head);
  Outside outside = writer.outside();
  for (const Outside::Variable& variable : outside.variables) {
    if (variable.space == Space::kShared) head.line("shared " + variable.declaration);
  }
  ShaderText text;
  text.at(location_of(writer.body()));
  text.open("void main()");
  glsl_load_arguments(kernel, text);
  for (const Outside::Variable& variable : outside.variables) {
    if (variable.space == Space::kOwn) text.line(variable.declaration);
  }
  write_body(emitter, writer.body(), std::move(outside), text);
  text.close();
  // Records and functions are defined before their uses.
  const std::string definitions = emitter.definitions(text.text());
  return fmt::format("{}{}{}{}{}", glsl().prologue(), glsl_storage(kernel), head.text(),
                     definitions, text.text());
}

void msl_kernel(const Program& program, Emitter& emitter, const Kernel& kernel, std::size_t number,
                ShaderText& text) {
  KernelWriter writer(program, msl(), emitter, kernel, "hy_c.", "");
  if (is_metal_word(kernel.name)) {
    emitter.reject(
        writer.body(),
        fmt::format("a kernel named '{}', a word of Metal; give it another name", kernel.name));
  }
  std::string parameters;
  // The type of a binding's pointer.
  const auto pointer = [](const Binding& binding) {
    return fmt::format("device {}{}*", binding.access == kernel::Access::kRead ? "const " : "",
                       type_in(msl(), binding.type));
  };
  if (!kernel.bindings.empty()) {
    text.open(fmt::format("struct hy_bindings_{}", number));
    for (std::size_t i = 0; i < kernel.bindings.size(); ++i) {
      const Binding& binding = kernel.bindings[i];
      text.line(fmt::format("{} {} [[id({})]];", pointer(binding),
                            shader_name(NameKind::kParameter, binding.name), i));
    }
    text.close("};");
    parameters += fmt::format("constant hy_bindings_{}& hy_b [[buffer({})]], ", number,
                              kernel::kMetalBindingsBuffer);
  }
  if (!kernel.constants.empty()) {
    text.open(fmt::format("struct hy_constants_{}", number));
    for (std::size_t i = 0; i < kernel.constants.size(); ++i) {
      text.line(fmt::format("{} hy_k{};", type_in(msl(), kernel.constants[i].type), i));
    }
    text.close("};");
    parameters += fmt::format("constant hy_constants_{}& hy_c [[buffer({})]], ", number,
                              kernel::kMetalConstantsBuffer);
  }
  Outside outside = writer.outside();
  const auto& [x, y, z] = kernel.workgroup_size;
  text.at(location_of(writer.body()));
  text.line(fmt::format("[[max_total_threads_per_threadgroup({})]]", x * y * z));
  text.open(
      fmt::format("kernel void {}({}uint3 hy_local [[thread_position_in_threadgroup]], "
                  "uint3 hy_group [[threadgroup_position_in_grid]], "
                  "uint3 hy_groups [[threadgroups_per_grid]])",
                  kernel.name, parameters));
  for (const Binding& binding : kernel.bindings) {
    text.line(fmt::format("{} const {} = hy_b.{};", pointer(binding),
                          shader_name(NameKind::kParameter, binding.name),
                          shader_name(NameKind::kParameter, binding.name)));
  }
  for (const Outside::Variable& variable : outside.variables) {
    text.line((variable.space == Space::kShared ? "threadgroup " : "") + variable.declaration);
  }
  write_body(emitter, writer.body(), std::move(outside), text);
  text.close();
}

template <class F>
ShaderSource collect(F write) {
  ShaderSource source;
  try {
    write(source.texts);
  } catch (const Rejection& rejection) {
    source.texts.clear();
    source.diagnostics = fmt::format("{}:{}:{}: error: {}\n", rejection.at.file, rejection.at.line,
                                     rejection.at.column, rejection.what);
  }
  return source;
}

}  // namespace

ShaderSource glsl_source(const Json& unit, std::span<const Kernel> kernels) {
  const Program program(unit);
  return collect([&](std::vector<std::string>& texts) {
    for (const Kernel& kernel : kernels) texts.push_back(glsl_kernel(program, kernel));
  });
}

ShaderSource msl_source(const Json& unit, std::span<const Kernel> kernels) {
  const Program program(unit);
  return collect([&](std::vector<std::string>& texts) {
    Emitter emitter(program, msl());
    ShaderText text;
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      msl_kernel(program, emitter, kernels[i], i, text);
    }
    const std::string definitions = emitter.definitions(text.text());
    texts.push_back(fmt::format("{}{}{}", msl().prologue(), definitions, text.text()));
  });
}

}  // namespace halyard::inline v0::compiler
