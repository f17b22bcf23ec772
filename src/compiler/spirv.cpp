// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/spirv.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "base/format.h"
#include "compiler/spirv_words.h"

namespace halyard::inline v0::compiler {
namespace {

using kernel::Access;
using kernel::ElementType;
using spirv::Word;

// From Khronos' spirv.h, unified1.
constexpr Word kGlCompute = 5;
constexpr Word kLocalSize = 17;
enum Storage : Word {
  kUniformConstant = 0,
  kUniform = 2,
  kWorkgroup = 4,
  kPushConstant = 9,
  kStorageBuffer = 12
};
enum Decoration : Word {
  kNonWritable = 24,
  kNonReadable = 25,
  kBinding = 33,
  kDescriptorSet = 34,
  kOffset = 35
};
enum Opcode : Word {
  kName = 5,
  kMemberName = 6,
  kEntryPoint = 15,
  kExecutionMode = 16,
  kTypeInt = 21,
  kTypeFloat = 22,
  kTypeVector = 23,
  kTypeArray = 28,
  kTypeRuntimeArray = 29,
  kTypeStruct = 30,
  kTypePointer = 32,
  kConstant = 43,
  kSpecConstant = 50,
  kVariable = 59,
  kDecorate = 71,
  kMemberDecorate = 72
};

// Longer than any chain of types.
constexpr int kMaxDepth = 16;

using Words = std::span<const Word>;
using Decorations = std::map<Word, Word>;  // to their operand

struct Variable {
  Word type;  // a pointer
  Word storage;
};

class Module {
 public:
  // False if the module is damaged.
  bool read(std::string_view bytes) {
    words_ = spirv::words_of(bytes);
    return !words_.empty() && spirv::for_each_instruction(words_, [this](Word opcode, Words words) {
      return read(opcode, words.subspan(1));
    });
  }

  Result<std::vector<Kernel>> kernels(Sets sets) const {
    Kernel common;
    HALYARD_RETURN_IF_ERROR(add_bindings(common, sets));
    HALYARD_RETURN_IF_ERROR(add_constants(common));
    std::uint64_t shared = 0;
    for (const auto& [id, variable] : variables_) {
      if (variable.storage == kWorkgroup) shared += size_of_type(pointee(variable));
    }
    common.static_shared_bytes =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(shared, ~std::uint32_t{0}));
    std::vector<Kernel> kernels;
    for (const auto& [id, name] : entry_points_) {
      Kernel kernel = common;
      kernel.name = name;
      const auto size = local_sizes_.find(id);
      if (size == local_sizes_.end()) return wrong("entry point {} has no LocalSize", name);
      kernel.workgroup_size = size->second;
      kernels.push_back(std::move(kernel));
    }
    if (kernels.empty()) return wrong("it has no compute shader");
    return kernels;
  }

 private:
  template <class... Args>
  static Status wrong(fmt::format_string<Args...> format, Args&&... args) {
    return error(StatusCode::kInvalidArgument, format, std::forward<Args>(args)...);
  }

  // A literal string, up to its zero byte.
  static std::string text_of(Words words) {
    std::string text(words.size() * 4, '\0');
    std::memcpy(text.data(), words.data(), text.size());
    text.resize(std::min(text.find('\0'), text.size()));
    return text;
  }

  bool read(Word opcode, Words operands) {
    const auto has = [&](std::size_t count) { return operands.size() >= count; };
    switch (opcode) {
      case kName:
        if (!has(2)) return false;
        names_[operands[0]] = text_of(operands.subspan(1));
        return true;
      case kMemberName:
        if (!has(3)) return false;
        member_names_[{operands[0], operands[1]}] = text_of(operands.subspan(2));
        return true;
      case kEntryPoint:
        if (!has(3)) return false;
        if (operands[0] == kGlCompute) entry_points_[operands[1]] = text_of(operands.subspan(2));
        return true;
      case kExecutionMode:
        if (!has(2)) return false;
        if (operands[1] != kLocalSize) return true;
        if (!has(5)) return false;
        local_sizes_[operands[0]] = {operands[2], operands[3], operands[4]};
        return true;
      case kTypeInt:
      case kTypeFloat:
      case kTypeVector:
      case kTypeArray:
      case kTypeRuntimeArray:
      case kTypeStruct:
      case kTypePointer:
        // Least operands after the result: of a structure 0, of a float or runtime array 1, else 2.
        if (!has(opcode == kTypeStruct                                 ? 1
                 : opcode == kTypeFloat || opcode == kTypeRuntimeArray ? 2
                                                                       : 3)) {
          return false;
        }
        types_[operands[0]] = {opcode, operands.subspan(1)};
        return true;
      case kConstant:
      case kSpecConstant:
        if (!has(3)) return false;
        constants_[operands[1]] = operands[2];
        return true;
      case kVariable:
        if (!has(3)) return false;
        variables_[operands[1]] = {operands[0], operands[2]};
        return true;
      case kDecorate:
        if (!has(2)) return false;
        decorations_[operands[0]][operands[1]] = has(3) ? operands[2] : 0;
        return true;
      case kMemberDecorate:
        if (!has(3)) return false;
        member_decorations_[{operands[0], operands[1]}][operands[2]] = has(4) ? operands[3] : 0;
        return true;
      default:
        return true;
    }
  }

  // ---- Access to the module

  struct Type {
    Word opcode = 0;
    Words operands;
  };
  Type type(Word id) const {
    const auto found = types_.find(id);
    return found == types_.end() ? Type{} : found->second;
  }
  Word pointee(const Variable& variable) const {
    const Type pointer = type(variable.type);
    return pointer.opcode == kTypePointer ? pointer.operands[1] : 0;
  }
  static std::optional<Word> value(const Decorations& of, Decoration decoration) {
    const auto found = of.find(decoration);
    return found == of.end() ? std::nullopt : std::optional(found->second);
  }
  const Decorations& decorations(Word id) const {
    static const Decorations kNone;
    const auto found = decorations_.find(id);
    return found == decorations_.end() ? kNone : found->second;
  }
  const Decorations& member_decorations(Word structure, Word member) const {
    static const Decorations kNone;
    const auto found = member_decorations_.find({structure, member});
    return found == member_decorations_.end() ? kNone : found->second;
  }
  std::string name(Word id) const {
    const auto found = names_.find(id);
    return found == names_.end() ? std::string() : found->second;
  }
  std::string member_name(Word structure, Word member) const {
    const auto found = member_names_.find({structure, member});
    return found == member_names_.end() ? fmt::format("member{}", member) : found->second;
  }

  std::optional<ElementType> scalar(Word id) const {
    const Type of = type(id);
    const Word width = of.operands.empty() ? 0 : of.operands[0];
    if (of.opcode == kTypeFloat) {
      return width == 16   ? std::optional(ElementType::kFloat16)
             : width == 32 ? std::optional(ElementType::kFloat32)
             : width == 64 ? std::optional(ElementType::kFloat64)
                           : std::nullopt;
    }
    if (of.opcode != kTypeInt) return std::nullopt;
    const bool is_signed = of.operands[1] != 0;
    switch (width) {
      case 8:
        return is_signed ? ElementType::kInt8 : ElementType::kUint8;
      case 16:
        return is_signed ? ElementType::kInt16 : ElementType::kUint16;
      case 32:
        return is_signed ? ElementType::kInt32 : ElementType::kUint32;
      case 64:
        return is_signed ? ElementType::kInt64 : ElementType::kUint64;
      default:
        return std::nullopt;
    }
  }

  // The number type of an array's or vector's elements.
  std::optional<ElementType> element(Word id) const {
    for (int depth = 0; depth < kMaxDepth; ++depth) {
      const Type of = type(id);
      if (of.opcode != kTypeVector && of.opcode != kTypeArray && of.opcode != kTypeRuntimeArray) {
        return scalar(id);
      }
      id = of.operands[0];
    }
    return std::nullopt;
  }

  // Without padding; 0 if unknown. No device has more than 2^32 bytes.
  std::uint64_t size_of_type(Word id) const {
    // A type that contains itself, which only a damaged module has, has no size yet.
    const auto [known, added] = sizes_.try_emplace(id, 0);
    if (added) known->second = std::min<std::uint64_t>(compute_size(id), ~Word{0});
    return known->second;
  }
  std::uint64_t compute_size(Word id) const {
    if (const auto number = scalar(id)) return size_of(*number);
    const Type of = type(id);
    std::uint64_t size = 0;
    if (of.opcode == kTypeVector) size = size_of_type(of.operands[0]) * of.operands[1];
    if (of.opcode == kTypeArray) {
      const auto length = constants_.find(of.operands[1]);
      if (length != constants_.end()) size = size_of_type(of.operands[0]) * length->second;
    }
    if (of.opcode == kTypeStruct) {
      for (const Word member : of.operands) size += size_of_type(member);
    }
    return size;
  }

  // ---- Interpretation

  Status add_bindings(Kernel& kernel, Sets sets) const {
    std::map<std::pair<Word, Word>, Binding> bindings;  // by set and number
    for (const auto& [id, variable] : variables_) {
      if (variable.storage == kUniformConstant || variable.storage == kUniform) {
        return wrong("'{}' is not a storage buffer", name(id));
      }
      if (variable.storage != kStorageBuffer) continue;
      const auto set = value(decorations(id), kDescriptorSet);
      const auto number = value(decorations(id), kBinding);
      const Word block = pointee(variable);
      const Type of = type(block);
      if (of.opcode != kTypeStruct || of.operands.empty() || !number) {
        return wrong("storage buffer '{}' is not a single block", name(id));
      }
      if (sets == Sets::kZero && set.value_or(0) != 0)
        return wrong("binding {} is in set {}, not in set 0", *number, *set);
      const auto last = static_cast<Word>(of.operands.size() - 1);
      const auto all_members = [&](Decoration decoration) {
        if (decorations(id).contains(decoration)) return true;
        for (Word member = 0; member <= last; ++member) {
          if (!member_decorations(block, member).contains(decoration)) return false;
        }
        return true;
      };
      Binding binding;
      binding.name = name(id).empty() ? member_name(block, last) : name(id);
      binding.access = all_members(kNonWritable)   ? Access::kRead
                       : all_members(kNonReadable) ? Access::kWrite
                                                   : Access::kReadWrite;
      binding.type =
          last == 0 ? element(of.operands[0]).value_or(ElementType::kUint8) : ElementType::kUint8;
      if (!bindings.emplace(std::pair(set.value_or(0), *number), std::move(binding)).second) {
        return wrong("two storage buffers are binding {}", *number);
      }
    }
    for (auto& [place, binding] : bindings) {
      if (sets == Sets::kZero && place.second != kernel.bindings.size()) {
        return wrong("binding {} is missing; they are numbered from 0", kernel.bindings.size());
      }
      kernel.bindings.push_back(std::move(binding));
    }
    return {};
  }

  Status add_constants(Kernel& kernel) const {
    for (const auto& [id, variable] : variables_) {
      if (variable.storage != kPushConstant) continue;
      const Word block = pointee(variable);
      const Type of = type(block);
      if (of.opcode != kTypeStruct) return wrong("push constants '{}' are not a block", name(id));
      for (Word member = 0; member < of.operands.size(); ++member) {
        HALYARD_RETURN_IF_ERROR(add_member(block, member, of.operands[member], kernel));
      }
    }
    std::ranges::sort(kernel.constants, {}, &Constant::offset);
    return {};
  }

  Status add_member(Word block, Word member, Word id, Kernel& kernel) const {
    const std::string label = member_name(block, member);
    const Type of = type(id);
    const bool is_vector = of.opcode == kTypeVector && of.operands[1] <= 4;
    const auto number = scalar(is_vector ? of.operands[0] : id);
    const auto offset = value(member_decorations(block, member), kOffset);
    const auto size = number ? static_cast<Word>(size_of(*number)) : 0;
    if (size < 4 || !offset || *offset > 0xffff) {
      return wrong("push constant {} is not a number, or a vector of numbers, of 4 or 8 bytes",
                   label);
    }
    for (Word i = 0; i < (is_vector ? of.operands[1] : 1); ++i) {
      std::string part = is_vector ? fmt::format("{}.{}", label, "xyzw"[i]) : label;
      kernel.constants.push_back({std::move(part), *number, *offset + i * size});
      kernel.constants_bytes = std::max(kernel.constants_bytes, *offset + (i + 1) * size);
    }
    return {};
  }

  std::vector<Word> words_;
  std::map<Word, std::string> names_;
  std::map<std::pair<Word, Word>, std::string> member_names_;
  std::map<Word, std::string> entry_points_;
  std::map<Word, std::array<Word, 3>> local_sizes_;
  std::map<Word, Type> types_;
  std::map<Word, Word> constants_;
  mutable std::map<Word, std::uint64_t> sizes_;  // of types, computed on demand
  std::map<Word, Variable> variables_;
  std::map<Word, Decorations> decorations_;
  std::map<std::pair<Word, Word>, Decorations> member_decorations_;
};

// The difference of `stated` from `shader`; empty if they match.
std::string difference(const Kernel& stated, const Kernel& shader) {
  if (stated.workgroup_size != shader.workgroup_size) {
    return fmt::format("workgroup_size is {}, the shader's {}",
                       fmt::join(stated.workgroup_size, " x "),
                       fmt::join(shader.workgroup_size, " x "));
  }
  if (stated.bindings.size() != shader.bindings.size()) {
    return fmt::format("{} stated, the shader has {}",
                       base::counted(stated.bindings.size(), "binding"), shader.bindings.size());
  }
  for (std::size_t i = 0; i < stated.bindings.size(); ++i) {
    const Access access = shader.bindings[i].access;
    if (stated.bindings[i].access != access && access != Access::kRead &&
        stated.bindings[i].access == Access::kRead) {
      return fmt::format("binding {} is stated to be read; the shader's is {}",
                         stated.bindings[i].name, to_string(access));
    }
  }
  if (stated.constants.size() != shader.constants.size()) {
    return fmt::format("{} stated, the shader has {}",
                       base::counted(stated.constants.size(), "constant"), shader.constants.size());
  }
  for (std::size_t i = 0; i < stated.constants.size(); ++i) {
    const Constant& a = stated.constants[i];
    const Constant& b = shader.constants[i];
    if (a.offset != b.offset || a.type != b.type) {
      return fmt::format("constant {} is {} at byte {}; the shader's is {} at byte {}", a.name,
                         to_string(a.type), a.offset, to_string(b.type), b.offset);
    }
  }
  return {};
}

}  // namespace

bool is_spirv(std::string_view bytes) noexcept {
  Word first = 0;
  if (bytes.size() < sizeof first) return false;
  std::memcpy(&first, bytes.data(), sizeof first);
  return first == spirv::kMagic;
}

Result<std::vector<Kernel>> reflect_spirv(std::string_view source, std::string_view module,
                                          Sets sets) {
  Module read;
  if (!read.read(module)) {
    return error(StatusCode::kInvalidArgument, "{}: not a SPIR-V module, or a damaged one", source);
  }
  Result<std::vector<Kernel>> kernels = read.kernels(sets);
  if (kernels.ok()) return kernels;
  return error(StatusCode::kInvalidArgument, "{}: {}", source, kernels.status().message());
}

Status fit_to_spirv(std::string_view source, std::string_view module,
                    const std::vector<Kernel>& kernels, Sets sets) {
  HALYARD_ASSIGN_OR_RETURN(const std::vector<Kernel> shaders, reflect_spirv(source, module, sets));
  for (const Kernel& kernel : kernels) {
    const auto shader = std::ranges::find(shaders, kernel.name, &Kernel::name);
    if (shader == shaders.end()) {
      return error(StatusCode::kInvalidArgument, "{}: kernel {} is not an entry point; it has {}",
                   source, kernel.name, shaders.front().name);
    }
    if (const std::string text = difference(kernel, *shader); !text.empty()) {
      return error(StatusCode::kInvalidArgument, "{}: kernel {}: {}", source, kernel.name, text);
    }
  }
  return {};
}

}  // namespace halyard::inline v0::compiler
