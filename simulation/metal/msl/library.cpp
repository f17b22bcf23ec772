// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/metal/msl/library.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <set>

#include "simulation/metal/msl/library_image.h"

namespace halyard::inline v0::sim::msl {
namespace {

// More functions than these are compiled one by one, when each is first asked for.
constexpr std::size_t kFunctionsAtOnce = 48;
constexpr std::size_t kMostKept = 256;  // libraries in memory

std::string key_of(std::string_view source, const CompileOptions& o) {
  std::string key(source);
  key += '\0';
  key += std::to_string(o.language_version) + ' ' + std::to_string(static_cast<int>(o.math_mode)) +
         (o.precise_functions ? 'p' : 'f') + (o.perturb_fast_functions ? 'x' : '-') +
         (o.strict ? 's' : '-');
  for (const auto& [name, value] : o.macros) {
    ((key += '\0') += name) += '\0';
    key += value;
  }
  return key;
}

struct Kept {
  std::mutex mutex;
  std::map<std::string, Library::Result> results;
};
Kept& kept() {
  static Kept* const all = new Kept;
  return *all;
}

// All names that a function mentions, directly or indirectly.
void reach(const Rewritten& text, const std::string& name, std::set<std::string>& seen,
           std::set<std::uint32_t>& variables) {
  if (!seen.insert(name).second) return;
  for (const Mention& mention : text.mentions) {
    if (mention.name != name) continue;
    variables.insert(mention.variables.begin(), mention.variables.end());
    for (const std::string& word : mention.words) reach(text, word, seen, variables);
  }
}

std::string last_part(const std::string& name) {
  const std::size_t at = name.rfind("::");
  return at == name.npos ? name : name.substr(at + 2);
}

Member member_of(const WrittenMember& written, const TypeWords& w) {
  Member m;
  m.name = written.name;
  m.offset = w.offset;
  m.array_length = std::max(1u, w.count);
  m.array_stride = w.size;
  m.size = w.size * m.array_length;
  m.alignment = w.alignment;
  m.type = static_cast<DataType>(w.type);
  m.access = w.is_constant != 0 ? Access::kReadOnly : Access::kReadWrite;
  m.element_type = static_cast<DataType>(w.element_type);
  m.element_size = w.element_size;
  m.element_alignment = w.element_alignment;
  return m;
}

FunctionInfo describe(const LibraryImage& image, const WrittenFunction& f,
                      const TypeWords*& types) {
  FunctionInfo info;
  info.name = f.host_name;
  info.kind = f.kind;
  info.max_total_threads = f.max_total_threads;
  std::copy_n(f.required_threads, 3, info.required_threads);
  for (const DescribedParameter& d : described(image.text, f)) {
    const WrittenParameter& p = f.parameters[d.parameter];
    Argument a;
    a.name = p.name;
    a.kind = p.kind;
    a.index = p.index >= 0 ? static_cast<std::uint32_t>(p.index) : 0;
    a.constant_space = p.constant_space;
    const TypeWords& w = *types++;
    a.access = w.is_constant != 0 || p.constant_space ? Access::kReadOnly : Access::kReadWrite;
    a.type = static_cast<DataType>(w.element_type);
    a.size = w.element_size;
    a.alignment = w.element_alignment;
    a.active = p.function_constant.empty();
    if (d.members != nullptr) {
      const bool has_ids =
          std::ranges::any_of(d.members->members, [](const WrittenMember& m) { return m.id >= 0; });
      std::int32_t next = 0;
      for (const WrittenMember& written : d.members->members) {
        Member m = member_of(written, *types++);
        if (m.type == DataType::kPointer) a.argument_buffer = true;
        m.id = written.id >= 0 ? written.id : next;
        next = m.id + static_cast<std::int32_t>(m.array_length);
        a.members.push_back(std::move(m));
      }
      if (has_ids) a.argument_buffer = true;
      if (!a.argument_buffer) {
        for (Member& m : a.members) m.id = -1;
      }
    }
    info.arguments.push_back(std::move(a));
  }
  // Arguments without an index get the first free indices.
  std::size_t at = 0;
  for (std::size_t i = 0; i < f.parameters.size(); ++i) {
    const WrittenParameter& p = f.parameters[i];
    if (!p.indirect) continue;
    Argument& a = info.arguments[at++];
    if (p.index >= 0) continue;
    const auto used = [&](std::uint32_t index) {
      std::size_t other = 0;
      for (const WrittenParameter& q : f.parameters) {
        if (!q.indirect) continue;
        const Argument& b = info.arguments[other];
        if (b.kind == a.kind && b.index == index && (q.index >= 0 || other + 1 < at)) return true;
        ++other;
      }
      return false;
    };
    a.index = 0;
    while (used(a.index)) ++a.index;
  }
  return info;
}

// The `threadgroup` variables of `f` in `code`, which may contain other functions.
void uses(const LibraryImage& image, const Code& code, FunctionInfo& info,
          const WrittenFunction& f) {
  std::set<std::string> seen;
  std::set<std::uint32_t> variables;
  reach(image.text, last_part(f.name), seen, variables);
  for (const WrittenParameter& p : f.parameters) {
    if (!p.function_constant.empty()) reach(image.text, p.function_constant, seen, variables);
  }
  info.constants.clear();
  for (const WrittenConstant& c : image.text.constants) {
    if (seen.contains(c.name)) info.constants.push_back(c.index);
  }
  std::map<std::uint32_t, std::pair<std::uint32_t, std::uint32_t>> sizes;
  const std::span<const std::uint32_t> records = code.variables();
  for (std::size_t i = 0; i + 3 <= records.size(); i += 3) {
    if (!variables.contains(records[i])) continue;
    auto& [size, alignment] = sizes[records[i]];
    size = std::max(size, records[i + 1]);
    alignment = std::max(alignment, records[i + 2]);
  }
  std::uint32_t bytes = 0;
  for (const auto& [id, variable] : sizes) {
    bytes = (bytes + variable.second - 1) / variable.second * variable.second + variable.first;
  }
  info.static_threadgroup_bytes = bytes;
}

DataType constant_type(const std::string& name) {
  static constexpr std::pair<std::string_view, DataType> kTypes[] = {
      {"float", DataType::kFloat},      {"half", DataType::kHalf},
      {"int", DataType::kInt},          {"uint", DataType::kUint},
      {"short", DataType::kShort},      {"ushort", DataType::kUshort},
      {"char", DataType::kChar},        {"uchar", DataType::kUchar},
      {"bool", DataType::kBool},        {"long", DataType::kLong},
      {"ulong", DataType::kUlong},      {"bfloat", DataType::kBfloat},
      {"int32_t", DataType::kInt},      {"uint32_t", DataType::kUint},
      {"int16_t", DataType::kShort},    {"uint16_t", DataType::kUshort},
      {"int64_t", DataType::kLong},     {"uint64_t", DataType::kUlong},
      {"size_t", DataType::kUlong},     {"unsigned", DataType::kUint},
      {"unsigned int", DataType::kUint}};
  std::string_view word = name;
  while (word.starts_with("metal") || word.starts_with(":") || word.starts_with(" ")) {
    word.remove_prefix(word.starts_with("metal") ? 5 : 1);
  }
  for (const auto& [text, type] : kTypes) {
    if (word == text) return type;
    if (word.size() == text.size() + 1 && word.starts_with(text) && word.back() >= '2' &&
        word.back() <= '4')
      return static_cast<DataType>(static_cast<std::uint32_t>(type) +
                                   static_cast<std::uint32_t>(word.back() - '1'));
  }
  return DataType::kNone;
}

// Errors with address spaces that appear only if `constant` is a separate address space.
std::string space_errors(const std::string& preprocessed, const CompileOptions& options) {
  const Rewritten text = rewrite(preprocessed, "__constant");
  const Compiled compiled = compile_code(kernel_source(text, {}, {}), options, Instrument::kSyntax);
  if (compiled.ok) return {};
  std::string errors;
  std::size_t begin = 0;
  while (begin < compiled.log.size()) {
    std::size_t end = compiled.log.find('\n', begin);
    if (end == std::string::npos) end = compiled.log.size();
    const std::string_view line = std::string_view(compiled.log).substr(begin, end - begin);
    const bool pointers =
        line.find("'__constant") != line.npos && line.find("*") != line.npos &&
        (line.find("cannot initialize") != line.npos || line.find("assigning to") != line.npos);
    if (line.find("error:") != line.npos &&
        (pointers || line.find("changes address space") != line.npos))
      (errors += line) += '\n';
    begin = end + 1;
  }
  return errors;
}

Library::Result compile_new(std::string_view source, const CompileOptions& options) {
  Library::Result result;
  Preprocessed preprocessed = preprocess(source, options);
  if (!preprocessed.ok) {
    result.log = std::move(preprocessed.log);
    return result;
  }
  auto image = std::make_shared<LibraryImage>();
  image->options = options;
  image->text = rewrite(preprocessed.text, "const __global");
  if (image->text.safe_math) image->options.math_mode = MathMode::kSafe;
  std::vector<std::size_t> kernels;
  for (std::size_t i = 0; i < image->text.functions.size(); ++i) {
    if (image->text.functions[i].kind == FunctionKind::kKernel) kernels.push_back(i);
  }
  image->all_functions = kernels.size() <= kFunctionsAtOnce;
  Compiled compiled = compile_code(kernel_source(image->text, kernels, {}, image->all_functions),
                                   image->options, Instrument::kMemory);
  result.log = std::move(compiled.log);
  if (compiled.code == nullptr) return result;
  image->code = std::move(compiled.code);
  if (options.strict) {
    const std::string errors = space_errors(preprocessed.text, options);
    if (!errors.empty()) {
      result.log += errors;
      return result;
    }
  }
  for (const WrittenConstant& c : image->text.constants) {
    image->constants.push_back({c.name, c.index, constant_type(c.type), c.required});
  }
  const TypeWords* types = image->code->types();
  for (const WrittenFunction& f : image->text.functions) {
    FunctionInfo info;
    if (f.kind == FunctionKind::kKernel) {
      info = describe(*image, f, types);
      uses(*image, *image->code, info, f);
    } else {
      info.name = f.host_name;
      info.kind = f.kind;
    }
    image->functions.push_back(std::move(info));
  }
  result.library = std::make_shared<Library>(std::move(image));
  return result;
}

bool truth(const std::string& value) {
  return !value.empty() && value != "(false)" && value != "(0)";
}

}  // namespace

Library::Result Library::compile(std::string_view source, const CompileOptions& options) {
  std::string key = key_of(source, options);
  Kept& all = kept();
  {
    const std::lock_guard lock(all.mutex);
    const auto found = all.results.find(key);
    if (found != all.results.end()) return found->second;
  }
  Result result = compile_new(source, options);
  const std::lock_guard lock(all.mutex);
  if (all.results.size() >= kMostKept) all.results.clear();
  all.results.emplace(std::move(key), result);
  return result;
}

std::span<const FunctionInfo> Library::functions() const noexcept { return image_->functions; }
std::span<const FunctionConstant> Library::constants() const noexcept { return image_->constants; }

FunctionResult Library::function(std::string_view name,
                                 std::span<const ConstantValue> values) const {
  FunctionResult result;
  const auto found = std::ranges::find(image_->functions, name, &FunctionInfo::name);
  if (found == image_->functions.end()) return result;
  auto f = std::make_shared<FunctionImage>();
  f->library = image_;
  f->index = static_cast<std::size_t>(found - image_->functions.begin());
  f->info = *found;
  if (f->info.kind != FunctionKind::kKernel) {
    result.function = std::make_shared<Function>(std::move(f));
    return result;
  }
  bool specialized = false;
  f->values.resize(image_->constants.size());
  for (std::size_t i = 0; i < image_->constants.size(); ++i) {
    const FunctionConstant& c = image_->constants[i];
    const bool used = std::ranges::find(f->info.constants, c.index) != f->info.constants.end();
    if (!used) continue;
    for (const ConstantValue& value : values) {
      if (value.index >= 0 ? static_cast<std::uint32_t>(value.index) != c.index
                           : value.name != c.name)
        continue;
      f->values[i] = constant_text(value);
      specialized = true;
    }
    if (f->values[i].empty() && c.required) {
      result.log = "function '" + f->info.name + "' needs a value for the function constant '" +
                   c.name + "' (index " + std::to_string(c.index) + ")\n";
      return result;
    }
  }
  const WrittenFunction& written = image_->text.functions[f->index];
  std::size_t at = 0;
  for (std::size_t i = 0; i < written.parameters.size(); ++i) {
    const WrittenParameter& p = written.parameters[i];
    if (!p.indirect) continue;
    Argument& a = f->info.arguments[at++];
    if (!p.function_constant.empty()) {
      for (std::size_t k = 0; k < image_->constants.size(); ++k) {
        if (image_->constants[k].name == p.function_constant) a.active = truth(f->values[k]);
      }
    }
    f->arguments.push_back({static_cast<std::uint32_t>(i), a.kind, a.index, a.active, a.name});
  }
  f->checked = image_->code;
  if (specialized || !image_->all_functions) {
    const std::size_t index[] = {f->index};
    Compiled compiled = compile_code(kernel_source(image_->text, index, f->values), image_->options,
                                     Instrument::kMemory);
    if (compiled.code == nullptr) {
      result.log = std::move(compiled.log);
      return result;
    }
    f->checked = std::move(compiled.code);
    uses(*image_, *f->checked, f->info, written);
  }
  f->checked_entry = f->checked->entry(f->index);
  if (f->checked_entry == nullptr) {
    result.log = "function '" + f->info.name + "' has no code\n";
    return result;
  }
  result.function = std::make_shared<Function>(std::move(f));
  return result;
}

const FunctionInfo& Function::info() const noexcept { return image_->info; }

Code::Entry entry_point(const FunctionImage& image, bool check_memory,
                        std::shared_ptr<const Code>& code) {
  if (check_memory) {
    code = image.checked;
    return image.checked_entry;
  }
  const std::lock_guard lock(image.mutex);
  if (image.plain == nullptr) {
    const std::size_t index[] = {image.index};
    image.plain = compile_code(kernel_source(image.library->text, index, image.values),
                               image.library->options, Instrument::kSteps)
                      .code;
  }
  code = image.plain;
  return code == nullptr ? nullptr : code->entry(image.index);
}

}  // namespace halyard::inline v0::sim::msl
