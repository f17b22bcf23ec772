// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "arguments.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "base/format.h"

namespace halyard::inline v0::tools {
namespace {

constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();

std::uint64_t saturating_product(std::uint64_t a, std::uint64_t b) {
  std::uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? kMax : product;
}

// Parses the whole of `text` as a number.
template <class T>
std::errc parse_number(std::string_view text, T& value) {
  const char* const end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, value);
  if (code != std::errc()) return code;
  return stop == end ? std::errc() : std::errc::invalid_argument;
}

// "4096" or "64,10".
std::optional<std::vector<std::uint64_t>> parse_lengths(std::string_view text) {
  std::vector<std::uint64_t> lengths;
  for (;;) {
    const std::size_t comma = text.find(',');
    if (parse_number(text.substr(0, comma), lengths.emplace_back()) != std::errc()) {
      return std::nullopt;
    }
    if (comma == std::string_view::npos) return lengths;
    text.remove_prefix(comma + 1);
  }
}

Result<hal::Grid::Extent> parse_extent(std::string_view option, std::string_view text) {
  auto lengths = parse_lengths(text);
  if (!lengths || lengths->size() > 3) {
    return error(StatusCode::kInvalidArgument, "{} {}: not of the form X[,Y[,Z]]", option, text);
  }
  lengths->resize(3, 1);
  const hal::Grid::Extent extent((*lengths)[0], (*lengths)[1], (*lengths)[2]);
  if (extent.x == 0 || extent.y == 0 || extent.z == 0) {
    return error(StatusCode::kInvalidArgument, "{} {}: nothing to run", option, text);
  }
  return extent;
}

// A constant or binding of the kernel, and its value on the command line.
struct Parameter {
  std::string_view option;
  std::string_view name;
  ElementType type;
  std::optional<std::string_view> value;
};

std::string_view option_for(kernel::Access access) {
  switch (access) {
    case kernel::Access::kRead:
      return "--in";
    case kernel::Access::kWrite:
      return "--out";
    case kernel::Access::kReadWrite:
      return "--inout";
  }
  return "--in";
}

bool is_tensor_kernel(const hal::Function& function) {
  for (std::size_t i = 0; i < function.binding_count(); ++i) {
    if (function.binding(i).rank != 0) return true;
  }
  return false;
}

bool chooses_tile(const hal::BindingInfo& info) {
  return info.rank != 0 && info.access != kernel::Access::kRead && info.tile[0] == 0;
}

// Constants first, without those of tensors, then bindings.
std::vector<Parameter> parameters_of(const hal::Function& function) {
  std::vector<Parameter> parameters;
  std::set<std::string_view> tensors;
  for (std::size_t i = 0; i < function.binding_count(); ++i) {
    const hal::BindingInfo info = function.binding(i);
    if (info.rank != 0) tensors.insert(info.name);
  }
  for (std::size_t i = 0; i < function.constant_count(); ++i) {
    const hal::ConstantInfo info = function.constant(i);
    // A tensor's constants are called after it: "x.size0".
    if (tensors.contains(info.name.substr(0, info.name.find('.')))) continue;
    parameters.push_back({"--arg", info.name, info.type, {}});
  }
  for (std::size_t i = 0; i < function.binding_count(); ++i) {
    const hal::BindingInfo info = function.binding(i);
    parameters.push_back({option_for(info.access), info.name, info.element, {}});
  }
  return parameters;
}

// Reads the tiles of --tile for the bindings.
Status parse_tiles(const RunOptions& options, std::string_view kernel,
                   std::vector<BoundArray>& arrays) {
  for (const std::string& text : options.tiles) {
    const std::size_t equals = text.find('=');
    const auto lengths = parse_lengths(equals == text.npos ? "" : text.substr(equals + 1));
    if (!lengths || lengths->size() > hal::kMaxTensorRank) {
      return error(StatusCode::kInvalidArgument, "--tile {}: not of the form NAME=8,128", text);
    }
    const std::string_view name = std::string_view(text).substr(0, equals);
    const auto found = std::ranges::find_if(
        arrays, [&](const BoundArray& array) { return array.binding.name == name; });
    if (found == arrays.end() || !chooses_tile(found->binding)) {
      return error(StatusCode::kInvalidArgument,
                   "kernel {}: --tile {}: {} is not a tensor whose tile "
                   "the launch chooses",
                   kernel, text, name);
    }
    if (found->tile.rank() != 0) {
      return error(StatusCode::kInvalidArgument, "kernel {}: --tile {} is given twice", kernel,
                   name);
    }
    found->tile = hal::View<std::uint64_t>(*lengths);
  }
  for (const BoundArray& array : arrays) {
    if (!chooses_tile(array.binding) || array.tile.rank() != 0) continue;
    return error(StatusCode::kInvalidArgument, "kernel {}: not given: --tile {}", kernel,
                 array.binding.name);
  }
  return {};
}

// "--arg a (float32), --in x (float32)"
template <class Wanted>
std::string list(const std::vector<Parameter>& parameters, Wanted wanted) {
  std::string text;
  for (const Parameter& parameter : parameters) {
    if (!wanted(parameter)) continue;
    text += fmt::format("{}{} {} ({})", text.empty() ? "" : ", ", parameter.option, parameter.name,
                        to_string(parameter.type));
  }
  return text;
}

Status give(std::string_view kernel, std::vector<Parameter>& parameters, std::string_view option,
            std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0 || equals + 1 == text.size()) {
    return error(StatusCode::kInvalidArgument, "{} {}: not of the form {} NAME={}", option, text,
                 option, option == "--arg" ? "VALUE" : "FILE.npy");
  }
  const std::string_view name = text.substr(0, equals);
  for (Parameter& parameter : parameters) {
    if (parameter.name != name) continue;
    if (parameter.option != option) {
      return error(StatusCode::kInvalidArgument, "kernel {}: {} is given with {}, not with {}",
                   kernel, name, parameter.option, option);
    }
    if (parameter.value) {
      return error(StatusCode::kInvalidArgument, "kernel {}: {} {} is given twice", kernel, option,
                   name);
    }
    parameter.value = text.substr(equals + 1);
    return {};
  }
  return error(StatusCode::kNotFound, "kernel {}: {} {}: no such parameter; it has {}", kernel,
               option, name, list(parameters, [](const Parameter&) { return true; }));
}

template <class T>
Result<hal::Constant> parse_as(std::string_view kernel, const Parameter& parameter) {
  T value{};
  const std::errc code = parse_number(*parameter.value, value);
  if (code == std::errc()) return hal::Constant(value);
  const bool too_large = code == std::errc::result_out_of_range;
  return error(too_large ? StatusCode::kOutOfRange : StatusCode::kInvalidArgument,
               "kernel {}: constant {}: '{}' is {} {}", kernel, parameter.name, *parameter.value,
               too_large ? "beyond the range of" : "no", to_string(parameter.type));
}

Result<hal::Constant> parse_constant(std::string_view kernel, const Parameter& parameter) {
  switch (parameter.type) {
    case ElementType::kFloat32:
      return parse_as<float>(kernel, parameter);
    case ElementType::kFloat64:
      return parse_as<double>(kernel, parameter);
    case ElementType::kInt32:
      return parse_as<std::int32_t>(kernel, parameter);
    case ElementType::kUint32:
      return parse_as<std::uint32_t>(kernel, parameter);
    case ElementType::kInt64:
      return parse_as<std::int64_t>(kernel, parameter);
    case ElementType::kUint64:
      return parse_as<std::uint64_t>(kernel, parameter);
    default:
      return error(StatusCode::kUnimplemented, "kernel {}: constant {}: a {} cannot be given",
                   kernel, parameter.name, to_string(parameter.type));
  }
}

// "file:rest" at the last colon; the rest is empty without one.
std::pair<std::string, std::string_view> split_file(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return {std::string(text), {}};
  return {std::string(text.substr(0, colon)), text.substr(colon + 1)};
}

// NumPy's order, the fastest dimension last, with as many dimensions as the launch uses.
std::vector<std::uint64_t> shape_of(const hal::Grid::Extent& items) {
  if (items.z != 1) return {items.z, items.y, items.x};
  if (items.y != 1) return {items.y, items.x};
  return {items.x};
}

Result<BoundArray> parse_array(const hal::BindingInfo& binding, std::string_view value,
                               const Coverage& coverage) {
  BoundArray array{.binding = binding};
  if (binding.access == kernel::Access::kWrite) {
    const auto [file, shape] = split_file(value);
    array.output = file;
    array.shape = shape_of(coverage.items);
    if (file.size() == value.size() && binding.rank != 0) {
      return error(StatusCode::kInvalidArgument,
                   "--out {}={}: give the tensor's shape, such as {}:64,10", binding.name, file,
                   file);
    }
    if (file.size() != value.size()) {
      auto lengths = parse_lengths(shape);
      if (!lengths || lengths->size() > kMaxNpyDimensions) {
        return error(StatusCode::kInvalidArgument, "--out {}: '{}' is not a shape, such as 64,10",
                     binding.name, shape);
      }
      array.shape = *std::move(lengths);
    }
    HALYARD_ASSIGN_OR_RETURN(array.size, npy_bytes(binding.element, array.shape));
    return array;
  }

  std::string input(value);
  if (binding.access == kernel::Access::kReadWrite) {
    const auto [file, output] = split_file(value);
    input = file;
    array.output = output.empty() ? file : std::string(output);
  }
  HALYARD_ASSIGN_OR_RETURN(NpyArray npy, read_npy(input));
  if (npy.element != binding.element) {
    return error(StatusCode::kInvalidArgument, "{}: its elements are {}, binding {} has {}", input,
                 to_string(npy.element), binding.name, to_string(binding.element));
  }
  array.shape = std::move(npy.shape);
  array.size = npy.bytes.size();
  array.contents = std::move(npy.bytes);
  return array;
}

}  // namespace

Coverage cover_groups(const hal::Grid::Extent& groups, const hal::Function& function) {
  const hal::Grid::Extent size = function.workgroup_size();
  return {.grid = {.groups = groups},
          .groups = groups,
          .items = {saturating_product(groups.x, size.x), saturating_product(groups.y, size.y),
                    saturating_product(groups.z, size.z)}};
}

Result<Coverage> parse_coverage(const RunOptions& options, const hal::Function& function) {
  if (options.items.empty() && options.groups.empty() && is_tensor_kernel(function)) {
    return Coverage{};
  }
  if (options.items.empty() == options.groups.empty()) {
    return error(StatusCode::kInvalidArgument, "kernel {}: give either --items or --groups",
                 function.name());
  }
  if (options.items.empty()) {
    HALYARD_ASSIGN_OR_RETURN(const hal::Grid::Extent groups,
                             parse_extent("--groups", options.groups));
    return cover_groups(groups, function);
  }
  const hal::Grid::Extent size = function.workgroup_size();
  Coverage coverage;
  HALYARD_ASSIGN_OR_RETURN(coverage.items, parse_extent("--items", options.items));
  coverage.grid.items = coverage.items;
  const auto round_up = [](std::uint64_t items, std::uint64_t group) {
    return items / group + (items % group != 0 ? 1 : 0);
  };
  coverage.groups = {round_up(coverage.items.x, size.x), round_up(coverage.items.y, size.y),
                     round_up(coverage.items.z, size.z)};
  return coverage;
}

Result<Arguments> parse_arguments(const RunOptions& options, const hal::Function& function,
                                  const Coverage& coverage) {
  const std::string_view kernel = function.name();
  std::vector<Parameter> parameters = parameters_of(function);
  for (const auto& [option, texts] :
       {std::pair("--arg", &options.args), std::pair("--in", &options.ins),
        std::pair("--inout", &options.inouts), std::pair("--out", &options.outs)}) {
    for (const std::string& text : *texts) {
      HALYARD_RETURN_IF_ERROR(give(kernel, parameters, option, text));
    }
  }
  const std::string missing = list(parameters, [](const Parameter& each) { return !each.value; });
  if (!missing.empty()) {
    return error(StatusCode::kInvalidArgument, "kernel {}: not given: {}", kernel, missing);
  }

  Arguments arguments;
  const std::size_t constants = parameters.size() - function.binding_count();
  for (std::size_t i = 0; i < constants; ++i) {
    HALYARD_ASSIGN_OR_RETURN(auto constant, parse_constant(kernel, parameters[i]));
    arguments.constants.push_back(constant);
  }
  const std::uint64_t items =
      saturating_product(saturating_product(coverage.items.x, coverage.items.y), coverage.items.z);
  std::set<std::string> outputs;
  for (std::size_t i = 0; i < function.binding_count(); ++i) {
    const hal::BindingInfo binding = function.binding(i);
    const std::string_view value = *parameters[constants + i].value;
    HALYARD_ASSIGN_OR_RETURN(BoundArray array, parse_array(binding, value, coverage));
    const std::size_t count = array.size / size_of(binding.element);
    if (coverage.grid.items.given && binding.rank == 0 && count < items) {
      return error(StatusCode::kInvalidArgument,
                   "binding {}: {} elements for {} items; launch a kernel that does not index it "
                   "by item with --groups",
                   binding.name, count, options.items);
    }
    if (!array.output.empty() && !outputs.insert(array.output).second) {
      return error(StatusCode::kInvalidArgument, "{}: two bindings write this file", array.output);
    }
    arguments.arrays.push_back(std::move(array));
  }
  HALYARD_RETURN_IF_ERROR(parse_tiles(options, kernel, arguments.arrays));
  return arguments;
}

}  // namespace halyard::inline v0::tools
