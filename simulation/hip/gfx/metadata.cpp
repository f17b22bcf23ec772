// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/hip/gfx/metadata.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "simulation/hip/gfx/message_pack.h"
#include "simulation/hip/gfx/text.h"

namespace halyard::inline v0::sim::gfx {
namespace {

using Kind = MessageValue::Kind;

constexpr std::uint32_t kDynamicStackBytes = 1024;

// Reads a 32-bit number; `otherwise` if it is absent. Returns false if the member is not such a
// number.
bool number(const MessageValue& map, std::string_view key, std::uint32_t& result,
            std::uint32_t otherwise = 0) {
  result = otherwise;
  if (map.find(key) == nullptr) return true;
  const auto found = map.integer_at(key);
  if (!found || *found < 0 || *found > std::numeric_limits<std::uint32_t>::max()) return false;
  result = static_cast<std::uint32_t>(*found);
  return true;
}

bool read_extent(const MessageValue& map, std::string_view key, Extent& extent) {
  const MessageValue* const found = map.find(key);
  if (found == nullptr) return true;
  if (found->kind != Kind::kArray || found->items.size() != extent.size()) return false;
  for (std::size_t i = 0; i != extent.size(); ++i) {
    const MessageValue& item = found->items[i];
    if (item.kind != Kind::kInteger || item.integer < 0 || item.integer > 1 << 20) return false;
    extent[i] = static_cast<std::uint32_t>(item.integer);
  }
  return true;
}

bool read_arguments(const MessageValue& map, Kernel& kernel) {
  const MessageValue* const arguments = map.find(".args");
  if (arguments == nullptr) return true;
  if (arguments->kind != Kind::kArray) return false;
  for (const MessageValue& item : arguments->items) {
    Argument argument;
    const auto kind = item.text_at(".value_kind");
    if (!kind || item.find(".offset") == nullptr || item.find(".size") == nullptr ||
        !number(item, ".offset", argument.offset) || !number(item, ".size", argument.size)) {
      return false;
    }
    if (std::uint64_t{argument.offset} + argument.size > kernel.argument_bytes) return false;
    argument.kind = *kind;
    argument.name = item.text_at(".name").value_or("");
    if (!argument.is_hidden()) {
      kernel.explicit_bytes = std::max(kernel.explicit_bytes, argument.offset + argument.size);
    }
    kernel.arguments.push_back(std::move(argument));
  }
  std::ranges::sort(kernel.arguments, {}, &Argument::offset);
  return true;
}

std::optional<KernelMetadata> read_kernel(const MessageValue& map) {
  KernelMetadata result;
  Kernel& kernel = result.kernel;
  const auto name = map.text_at(".name"), symbol = map.text_at(".symbol");
  if (!name || !symbol) return std::nullopt;
  kernel.name = *name;
  result.descriptor_symbol = *symbol;
  if (!number(map, ".kernarg_segment_size", kernel.argument_bytes) ||
      !number(map, ".group_segment_fixed_size", kernel.static_lds_bytes) ||
      !number(map, ".private_segment_fixed_size", kernel.scratch_bytes) ||
      !number(map, ".vgpr_count", kernel.vector_registers) ||
      !number(map, ".sgpr_count", kernel.scalar_registers) ||
      !number(map, ".max_flat_workgroup_size", kernel.max_block, 1024) ||
      !number(map, ".wavefront_size", kernel.wave_size, 32) ||
      !read_extent(map, ".reqd_workgroup_size", kernel.required_block) ||
      !read_arguments(map, kernel)) {
    return std::nullopt;
  }
  // The compiler does not know the stack size: HIP uses the default of hipLimitStackSize.
  if (map.integer_at(".uses_dynamic_stack").value_or(0) != 0) {
    kernel.scratch_bytes = std::max(kernel.scratch_bytes, kDynamicStackBytes);
  }
  return result;
}

}  // namespace

std::optional<std::vector<KernelMetadata>> read_metadata(Bytes note, std::string& error) {
  const auto map = parse_message_pack(note);
  if (!map || map->kind != Kind::kMap) {
    error = "Its metadata are no MessagePack map.";
    return std::nullopt;
  }
  std::vector<KernelMetadata> result;
  const MessageValue* const kernels = map->find("amdhsa.kernels");
  if (kernels == nullptr) return result;
  if (kernels->kind != Kind::kArray) {
    error = "Its metadata have no list of kernels.";
    return std::nullopt;
  }
  for (const MessageValue& item : kernels->items) {
    auto kernel = read_kernel(item);
    if (!kernel) {
      const auto name = item.text_at(".name");
      error = join("The metadata of ", name ? *name : "a kernel", " contradict themselves.");
      return std::nullopt;
    }
    result.push_back(std::move(*kernel));
  }
  return result;
}

}  // namespace halyard::inline v0::sim::gfx
