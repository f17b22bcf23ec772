// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/manifest.h"

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "base/format.h"

namespace halyard::inline v0::compiler {
namespace {

using Names = std::initializer_list<std::string_view>;

constexpr std::uint32_t kMost = std::numeric_limits<std::uint32_t>::max();

// Reads the fields of one object and keeps the first error.
class Fields {
 public:
  Fields(const nlohmann::json& object, std::string owner, Status& status)
      : object_(object), owner_(std::move(owner)), status_(status) {
    if (!object.is_object()) fail("is not an object");
  }

  template <class... Args>
  void fail(fmt::format_string<Args...> format, Args&&... args) {
    if (!status_.ok()) return;
    status_ = error(StatusCode::kInvalidArgument, "{} {}", owner_,
                    fmt::format(format, std::forward<Args>(args)...));
  }
  bool ok() const { return status_.ok(); }

  void allow(Names names) {
    if (!ok()) return;
    for (const auto& [key, value] : object_.items()) {
      if (std::ranges::find(names, key) == names.end()) fail("has the unknown field '{}'", key);
    }
  }
  // Null if there is no such field.
  const nlohmann::json* find(const char* key) const {
    const auto found = ok() ? object_.find(key) : object_.end();
    return ok() && found != object_.end() ? &*found : nullptr;
  }
  std::string text(const char* key) {
    const nlohmann::json* value = find(key);
    if (value != nullptr && value->is_string()) return value->get<std::string>();
    fail("has no string '{}'", key);
    return {};
  }
  std::uint32_t number(const char* key, std::uint32_t otherwise) {
    const nlohmann::json* value = find(key);
    return value == nullptr ? otherwise : number(*value, key);
  }
  // False if there is no such field.
  bool flag(const char* key) {
    const nlohmann::json* value = find(key);
    if (value != nullptr && !value->is_boolean()) fail("has a '{}' that is not true or false", key);
    return value != nullptr && ok() && value->get<bool>();
  }
  std::vector<std::uint32_t> numbers(const char* key) {
    std::vector<std::uint32_t> result;
    for (const nlohmann::json& value : list(key)) result.push_back(number(value, key));
    return result;
  }
  const nlohmann::json& list(const char* key) {
    static const nlohmann::json kNone = nlohmann::json::array();
    const nlohmann::json* value = find(key);
    if (value == nullptr) return kNone;
    if (value->is_array()) return *value;
    fail("has no list '{}'", key);
    return kNone;
  }
  // An enumerator, counted from 0, by its to_string().
  template <class Enum>
  Enum named(const char* key, Enum last) {
    const std::string wanted = text(key);
    for (int i = 0; i <= static_cast<int>(last); ++i) {
      if (to_string(static_cast<Enum>(i)) == wanted) return static_cast<Enum>(i);
    }
    fail("has '{}' as its {}, which is unknown", wanted, key);
    return Enum{};
  }

 private:
  std::uint32_t number(const nlohmann::json& value, const char* key) {
    if (value.is_number_unsigned() && value.get<std::uint64_t>() <= kMost) {
      return value.get<std::uint32_t>();
    }
    fail("has a '{}' that is not a number from 0 to 2^32 - 1", key);
    return 0;
  }

  const nlohmann::json& object_;
  const std::string owner_;
  Status& status_;
};

// Finds a size by the name of its constant: a tensor's name, ".size" and a digit.
bool find_size(const Kernel& kernel, const nlohmann::json& value, std::uint32_t& binding,
               std::uint32_t& dimension) {
  constexpr std::string_view kField = ".size";
  const std::string name = value.is_string() ? value.get<std::string>() : "";
  if (name.size() <= kField.size()) return false;
  const std::size_t end = name.size() - 1 - kField.size();
  if (name.compare(end, kField.size(), kField) != 0) return false;
  dimension = static_cast<std::uint32_t>(name.back() - '0');
  const auto tensor = std::ranges::find(kernel.bindings, name.substr(0, end), &Binding::name);
  binding = static_cast<std::uint32_t>(tensor - kernel.bindings.begin());
  return tensor != kernel.bindings.end() && name.back() >= '0' && dimension < tensor->rank;
}

Kernel read_kernel(const nlohmann::json& object, std::string_view manifest, Status& status) {
  Fields fields(object, fmt::format("{}: a kernel", manifest), status);
  Kernel kernel;
  kernel.name = fields.text("name");
  const std::string owner = fmt::format("{}: kernel {}:", manifest, kernel.name);
  Fields named(object, owner, status);
  named.allow({"name", "workgroup_size", "bindings", "constants", "equal_sizes", "constants_bytes",
               "static_shared_bytes", "dynamic_shared_bytes", "may_overlap", "source", "line"});
  const std::vector<std::uint32_t> size = named.numbers("workgroup_size");
  if (size.empty() || size.size() > 3) named.fail("workgroup_size has {} numbers", size.size());
  kernel.workgroup_size = {1, 1, 1};
  std::copy_n(size.begin(), std::min<std::size_t>(size.size(), 3), kernel.workgroup_size.begin());

  for (const nlohmann::json& item : named.list("bindings")) {
    Fields binding(item, owner + " a binding", status);
    binding.allow({"name", "access", "type", "rank", "tile"});
    const std::uint32_t rank = binding.number("rank", 0);
    if (rank > 255) binding.fail("has rank {}", rank);
    kernel.bindings.push_back({.name = binding.text("name"),
                               .access = binding.named("access", kernel::Access::kReadWrite),
                               .type = binding.named("type", kernel::ElementType::kUint8),
                               .rank = static_cast<std::uint8_t>(rank),
                               .tile = binding.numbers("tile")});
  }
  std::uint32_t end = 0;
  for (const nlohmann::json& item : named.list("constants")) {
    Fields constant(item, owner + " a constant", status);
    constant.allow({"name", "type", "offset", "size"});
    Constant& added = kernel.constants.emplace_back();
    added.name = constant.text("name");
    added.type = constant.named("type", kernel::ElementType::kUint8);
    const auto bytes = static_cast<std::uint32_t>(size_of(added.type));
    added.offset = constant.number("offset", (end + bytes - 1) / bytes * bytes);
    if (added.offset > kMost - 2 * bytes) constant.fail("has offset {}", added.offset);
    end = added.offset + bytes;
  }
  for (const nlohmann::json& item : named.list("equal_sizes")) {
    kernel::EqualSizes equal = {};
    if (item.is_array() && item.size() == 2 &&
        find_size(kernel, item[0], equal.binding, equal.dimension) &&
        find_size(kernel, item[1], equal.other_binding, equal.other_dimension)) {
      kernel.equal_sizes.push_back(equal);
    } else {
      named.fail(
          "has in 'equal_sizes' an entry that is not a pair of sizes of its tensors, such as "
          "[\"x.size0\", \"y.size0\"]");
    }
  }
  kernel.constants_bytes = named.number("constants_bytes", end);
  kernel.static_shared_bytes = named.number("static_shared_bytes", 0);
  kernel.dynamic_shared_bytes = named.number("dynamic_shared_bytes", 0);
  kernel.may_overlap = named.flag("may_overlap");
  return kernel;
}

}  // namespace

Result<std::vector<Kernel>> parse_manifest(std::string_view text, std::string_view name) {
  nlohmann::json json;
  try {
    json = nlohmann::json::parse(text);
  } catch (const nlohmann::json::parse_error& problem) {
    return error(StatusCode::kInvalidArgument, "{}: no JSON: byte {}", name, problem.byte);
  } catch (const nlohmann::json::out_of_range&) {
    return error(StatusCode::kInvalidArgument, "{}: a number beyond the range of a double", name);
  }
  Status status;
  Fields fields(json, fmt::format("{}: the manifest", name), status);
  fields.allow({"kernels", "file", "bytes", "images", "sources"});
  std::vector<Kernel> kernels;
  for (const nlohmann::json& kernel : fields.list("kernels")) {
    kernels.push_back(read_kernel(kernel, name, status));
    if (!status.ok()) break;
  }
  if (kernels.empty()) fields.fail("has no kernels");
  HALYARD_RETURN_IF_ERROR(std::move(status));
  return kernels;
}

}  // namespace halyard::inline v0::compiler
