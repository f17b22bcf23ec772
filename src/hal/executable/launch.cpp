// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "halyard/hal/launch.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <utility>

#include "hal/executable/executable.h"
#include "hal/memory/buffer.h"
#include "hal/object.h"
#include "hal/validate.h"
#include "kernel/hyx.h"

namespace halyard::inline v0::hal {
namespace {

constexpr std::uint64_t kEndOfUint = std::uint64_t{1} << 32;
constexpr std::uint64_t kTooMany = ~std::uint64_t{0};

std::string text_of(const Extents& extents) {
  std::string text;
  for (std::size_t d = 0; d < std::min(extents.rank(), kMaxTensorRank); ++d) {
    text += base::format("{}{}", d == 0 ? "" : " x ", base::number(extents[d]));
  }
  return text;
}

// Writes a tensor's constants to their places in the kernel's struct: its sizes, its strides except
// the last, and its tile if the launch chooses it.
class Fields {
 public:
  Fields(const kernel::KernelInfo& kernel, const kernel::BindingInfo& info, std::byte* constants)
      : constants_(constants), first_(kernel.constants.data() + info.first_constant) {}
  void put(std::size_t index, std::uint64_t value) const {
    const auto word = static_cast<std::uint32_t>(value);
    std::memcpy(constants_ + first_[index].offset, &word, sizeof word);
  }

 private:
  std::byte* constants_;
  const kernel::ConstantInfo* first_;
};

// Number of groups in x, y, z. x is the last dimension.
using Groups = std::array<std::uint64_t, 3>;

// The fast path, one pass, for tensors that are dense, not empty and in bounds, as most are. False:
// Checked has to check the tensor from the start.
bool put_dense(const kernel::BindingInfo& info, const Tensor& tensor, const Fields& fields,
               Groups& groups) {
  const std::size_t rank = info.rank;
  const bool is_output = info.access != kernel::Access::kRead, chooses = info.chooses_tile();
  const BufferRange& range = tensor.memory.range;
  if (tensor.sizes.rank() != rank || tensor.strides.rank() != 0 ||
      tensor.tile.rank() != (chooses ? rank : 0) || tensor.memory.indirect ||
      range.buffer == nullptr || (tensor.element && *tensor.element != info.type)) {
    return false;
  }
  const auto fits = [](std::uint64_t value) { return value - 1 < kEndOfUint - 1; };  // and is not 0
  std::uint64_t elements = 1;
  for (std::size_t d = rank; d-- > 0;) {
    const std::uint64_t size = tensor.sizes[d];
    if (d + 1 < rank) fields.put(rank + d, elements);
    fields.put(d, size);
    if (!fits(size) || !fits(elements *= size)) return false;
    if (!is_output) continue;
    const std::uint64_t tile = chooses ? tensor.tile[d] : info.tile[d];
    if (!fits(tile)) return false;
    if (chooses) fields.put(2 * rank - 1 + d, tile);
    groups[rank - 1 - d] =
        static_cast<std::uint32_t>(size - 1) / static_cast<std::uint32_t>(tile) + 1;
  }
  std::uint64_t length = range.length;
  return resolve_length(range.offset, length, range.buffer->size()).ok() &&
         elements * size_of(info.type) <= length;
}

// Checks one tensor against its parameter, step by step. Messages begin with the parameter.
class Checked {
 public:
  Checked(const kernel::BindingInfo& info, const Tensor& tensor)
      : info_(info), tensor_(tensor), strides_(tensor.strides), tile_(tensor.tile) {
    if (strides_.rank() == 0 && tensor.sizes.rank() == info.rank) strides_ = dense(tensor.sizes);
  }

  Status check() {
    HALYARD_RETURN_IF_ERROR(check_ranks());
    for (const auto& [field, values] : {std::pair("size", &std::as_const(tensor_.sizes)),
                                        std::pair("stride", &std::as_const(strides_)),
                                        std::pair("tile", &std::as_const(tile_))}) {
      for (std::size_t d = 0; d < values->rank(); ++d) {
        if ((*values)[d] >= kEndOfUint) {
          return error(StatusCode::kOutOfRange, "{}: {}{} is {}; the most is 2^32 - 1", info_.name,
                       field, d, base::number((*values)[d]));
        }
      }
    }
    HALYARD_RETURN_IF_ERROR(check_tile());
    return check_strides();
  }

  // Bytes from the first element to the end of the last; kTooMany if they overflow 64 bits.
  // Precondition: check() succeeded.
  std::uint64_t span() const {
    if (is_empty()) return 0;
    std::uint64_t elements = 1;
    bool too_many = false;
    for (std::size_t d = 0; d < info_.rank; ++d) {
      // Each product is below 2^64; the sum may overflow.
      too_many |= __builtin_add_overflow(elements, (tensor_.sizes[d] - 1) * strides_[d], &elements);
    }
    std::uint64_t bytes = 0;
    too_many |= __builtin_mul_overflow(elements, size_of(info_.type), &bytes);
    return too_many ? kTooMany : bytes;
  }

  Status check_room(std::uint64_t room) const {
    const std::uint64_t bytes = span();
    if (bytes <= room && bytes != kTooMany) return {};
    return error(StatusCode::kOutOfRange, "{}: {} elements with strides {} take {} bytes of {}",
                 info_.name, text_of(tensor_.sizes), text_of(strides_),
                 bytes == kTooMany ? "2^64 or more" : std::to_string(bytes), room);
  }

  Groups groups() const {
    Groups count = {1, 1, 1};
    for (std::size_t d = 0; d < info_.rank; ++d) {
      const std::uint64_t tile = info_.chooses_tile() ? tile_[d] : info_.tile[d];
      count[info_.rank - 1 - d] = (tensor_.sizes[d] + tile - 1) / tile;
    }
    return count;
  }

  void put(const Fields& fields) const {
    std::size_t index = 0;
    for (std::size_t d = 0; d < info_.rank; ++d) fields.put(index++, tensor_.sizes[d]);
    for (std::size_t d = 0; d + 1 < info_.rank; ++d) fields.put(index++, strides_[d]);
    for (std::size_t d = 0; d < tile_.rank(); ++d) fields.put(index++, tile_[d]);
  }

 private:
  static Extents dense(const Extents& sizes) {
    std::array<std::uint64_t, kMaxTensorRank> strides = {};
    strides[sizes.rank() - 1] = 1;
    // A stride that overflows 64 bits needs sizes beyond 32 bits, which are refused before strides
    // are used.
    for (std::size_t d = sizes.rank() - 1; d-- > 0;) strides[d] = strides[d + 1] * sizes[d + 1];
    return View<std::uint64_t>(strides.data(), sizes.rank());
  }

  bool is_empty() const {
    for (std::size_t d = 0; d < info_.rank; ++d) {
      if (tensor_.sizes[d] == 0) return true;
    }
    return false;
  }

  Status check_ranks() const {
    if (tensor_.sizes.rank() != info_.rank) {
      return error(StatusCode::kInvalidArgument, "{}: a tensor of rank {} is given; it has rank {}",
                   info_.name, tensor_.sizes.rank(), info_.rank);
    }
    if (tensor_.element && *tensor_.element != info_.type) {
      return error(StatusCode::kInvalidArgument, "{}: elements of {} are given; it has {}",
                   info_.name, to_string(*tensor_.element), to_string(info_.type));
    }
    if (strides_.rank() == info_.rank) return {};
    return error(StatusCode::kInvalidArgument, "{}: {} given for rank {}", info_.name,
                 base::counted(strides_.rank(), "stride"), info_.rank);
  }

  Status check_tile() const {
    if (!info_.chooses_tile()) {
      if (tile_.rank() == 0) return {};
      return error(
          StatusCode::kInvalidArgument, "{}: tile {} is given; {}", info_.name, text_of(tile_),
          info_.access == kernel::Access::kRead ? "an input has none" : "the kernel's is static");
    }
    if (tile_.rank() != info_.rank) {
      return error(StatusCode::kInvalidArgument, "{}: a tile of {} is given for rank {}",
                   info_.name, base::counted(tile_.rank(), "extent"), info_.rank);
    }
    for (std::size_t d = 0; d < info_.rank; ++d) {
      if (tile_[d] == 0) {
        return error(StatusCode::kInvalidArgument, "{}: tile{} is 0", info_.name, d);
      }
    }
    return {};
  }

  Status check_strides() const {
    const std::size_t last = info_.rank - 1;
    if (strides_[last] != 1) {
      return error(StatusCode::kInvalidArgument, "{}: stride{} is {}; the last one is 1",
                   info_.name, last, strides_[last]);
    }
    if (info_.access == kernel::Access::kRead || is_empty()) return {};
    // In ascending order, each stride must step over all elements of the smaller strides.
    std::array<std::size_t, kMaxTensorRank - 1> order = {0, 1};
    if (last == 2 && strides_[1] < strides_[0]) order = {1, 0};
    std::uint64_t below = tensor_.sizes[last];
    for (std::size_t i = 0; i < last; ++i) {
      const std::size_t d = order[i];
      if (tensor_.sizes[d] <= 1) continue;
      if (strides_[d] < below) {
        return error(StatusCode::kInvalidArgument,
                     "{}: stride{} is {}: elements of an output share a place", info_.name, d,
                     strides_[d]);
      }
      if (__builtin_add_overflow(below, (tensor_.sizes[d] - 1) * strides_[d], &below)) return {};
    }
    return {};
  }

  const kernel::BindingInfo& info_;
  const Tensor& tensor_;
  Extents strides_;
  Extents tile_;
};

// Checks that `memory` holds the tensor's bytes. If it is a slot without a length, sets the length
// of `noted`, the slot, to these bytes.
Status check_memory(const Checked& tensor, std::string_view name, const BindingRef& memory,
                    BindingRef* noted) {
  if (memory.indirect) {
    std::uint64_t& length = noted->slot.length;
    if (length == kWholeSize) length = tensor.span();
    return tensor.check_room(length);
  }
  if (memory.range.buffer == nullptr) {
    return error(StatusCode::kInvalidArgument, "{}: empty buffer", name);
  }
  std::uint64_t length = memory.range.length;
  if (const Status status =
          resolve_length(memory.range.offset, length, memory.range.buffer->size());
      !status.ok()) {
    return at(status, "{}", name);
  }
  return tensor.check_room(length);
}

Status check_kind(const kernel::BindingInfo& info, const Argument& argument) {
  if (argument.is_tensor == (info.rank != 0)) return {};
  if (argument.is_tensor) {
    return error(StatusCode::kInvalidArgument,
                 "{}: a tensor of rank {} is given; it is a plain buffer", info.name,
                 argument.value.sizes.rank());
  }
  return error(StatusCode::kInvalidArgument,
               "{}: a plain buffer is given; it is a tensor of rank {}", info.name, info.rank);
}

// Checks the sizes that the kernel declares equal; they are in its constants.
Status check_equal_sizes(const kernel::KernelInfo& kernel, const std::byte* constants) {
  const auto size_at = [&](std::uint32_t binding, std::uint32_t dimension) {
    std::uint32_t size = 0;
    const std::uint32_t index = kernel.bindings[binding].first_constant + dimension;
    std::memcpy(&size, constants + kernel.constants[index].offset, sizeof size);
    return size;
  };
  for (const kernel::EqualSizes& each : kernel.equal_sizes) {
    const std::uint32_t one = size_at(each.binding, each.dimension);
    const std::uint32_t other = size_at(each.other_binding, each.other_dimension);
    if (one == other) [[likely]]
      continue;
    return error(StatusCode::kInvalidArgument,
                 "size {} of {} is {}, size {} of {} is {}; the kernel takes equal ones",
                 each.dimension, kernel.bindings[each.binding].name, one, each.other_dimension,
                 kernel.bindings[each.other_binding].name, other);
  }
  return {};
}

// Outputs that the kernel declares to be of equal size, directly or through an input, must have
// equal tiles. A kernel indexes both by the tile of either, and equal grids do not make that safe:
// 8 elements are two tiles of 4, and also two tiles of 5.
Status check_equal_tiles(const kernel::KernelInfo& kernel, const std::byte* constants) {
  constexpr std::size_t kRank = kernel::kMaxRank;
  // [binding and dimension]: the first binding and dimension of equal size.
  std::array<std::uint8_t, kernel::kMaxBindings * kRank> first;
  static_assert(first.size() <= 256);
  std::iota(first.begin(), first.end(), std::uint8_t{0});
  for (bool changed = true; changed;) {
    changed = false;
    for (const kernel::EqualSizes& each : kernel.equal_sizes) {
      std::uint8_t& one = first[each.binding * kRank + each.dimension];
      std::uint8_t& other = first[each.other_binding * kRank + each.other_dimension];
      changed |= one != other;
      one = other = std::min(one, other);
    }
  }
  const auto tile_at = [&](std::size_t place) {
    const kernel::BindingInfo& info = kernel.bindings[place / kRank];
    std::uint32_t tile = info.tile[place % kRank];
    if (info.chooses_tile()) {
      const std::size_t index = info.first_constant + 2 * info.rank - 1 + place % kRank;
      std::memcpy(&tile, constants + kernel.constants[index].offset, sizeof tile);
    }
    return tile;
  };
  constexpr std::uint8_t kNone = first.size();
  std::array<std::uint8_t, first.size()> outputs;  // the first output of that size
  outputs.fill(kNone);
  for (std::size_t i = 0; i < kernel.bindings.size(); ++i) {
    const kernel::BindingInfo& info = kernel.bindings[i];
    if (info.access == kernel::Access::kRead) continue;
    for (std::size_t place = i * kRank; place < i * kRank + info.rank; ++place) {
      std::uint8_t& output = outputs[first[place]];
      if (output == kNone) output = static_cast<std::uint8_t>(place);
      if (tile_at(output) == tile_at(place)) continue;
      return error(StatusCode::kInvalidArgument,
                   "tile{} of {} is {}, tile{} of {} is {}; the kernel takes equal sizes there, "
                   "in equal tiles",
                   output % kRank, kernel.bindings[output / kRank].name, tile_at(output),
                   place % kRank, info.name, tile_at(place));
    }
  }
  return {};
}

std::string text_of(const Groups& groups) { return text_of(Extents(View<std::uint64_t>(groups))); }

// Writes the tensor's constants. `slot`: the noted memory of the tensor, if it may be a slot; a
// slot without a length gets the tensor's length.
Status put_tensor(const kernel::BindingInfo& info, const Tensor& tensor, const Fields& fields,
                  Groups& groups, BindingRef* slot) {
  if (put_dense(info, tensor, fields, groups)) [[likely]]
    return {};
  Checked checked(info, tensor);
  HALYARD_RETURN_IF_ERROR(checked.check());
  HALYARD_RETURN_IF_ERROR(check_memory(checked, info.name, tensor.memory, slot));
  checked.put(fields);
  if (info.access != kernel::Access::kRead) groups = checked.groups();
  return {};
}

}  // namespace

BindingRef Launch::binding(std::size_t index) const noexcept {
  const View<BindingRef> refs = refs_;
  return refs.empty() ? BindingRef(bindings()[index]) : refs[index];
}

// A single return, so that the launch is constructed in the caller's object.
Result<Launch> Launch::create(const Function& function, View<Argument> arguments,
                              View<Constant> scalars) {
  Result<Launch> result{InPlace()};
  if (Status status = result->pack(function, arguments, scalars); !status.ok()) [[unlikely]]
    result = std::move(status);
  return result;
}

Status Launch::pack(const Function& function, View<Argument> arguments, View<Constant> scalars) {
  if (!function) return empty_handle("launch", "create");
  executable_ = function.executable();
  function_ = function.index();
  const kernel::KernelInfo& kernel = executable_->kernels()[function_];
  const auto failed = [&](const Status& status) { return at(status, "kernel {}", kernel.name); };
  HALYARD_RETURN_IF_ERROR(check_binding_count(kernel, arguments.size()));

  bool has_slots = false;
  for (const Argument& argument : arguments) has_slots |= argument.value.memory.indirect;
  if (!ranges_.allocate(arguments.size()) || !refs_.allocate(has_slots ? arguments.size() : 0) ||
      !constants_.allocate(kernel.constants_bytes)) {
    return failed(Status(StatusCode::kResourceExhausted, "no memory for a launch"));
  }
  std::byte* const constants = constants_.items();
  if (kernel.constants_bytes != 0) std::memset(constants, 0, kernel.constants_bytes);
  const kernel::BindingInfo* output = nullptr;
  bool several_outputs = false;
  Groups groups = {};
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const kernel::BindingInfo& info = kernel.bindings[i];
    const Argument& argument = arguments[i];
    BindingRef* const ref = has_slots ? &refs_.items()[i] : nullptr;
    if (ref != nullptr) *ref = argument.value.memory;
    ranges_.items()[i] = argument.value.memory.range;
    Groups own = {1, 1, 1};
    Status status = check_kind(info, argument);
    if (status.ok() && info.rank != 0) {
      static_assert(kernel::kMaxBindings <= 64, "a bit for each");
      tensors_ |= std::uint64_t{1} << i;
      const Fields fields(kernel, info, constants);
      status = put_tensor(info, argument.value, fields, own, ref);
    }
    if (!status.ok()) [[unlikely]]
      return failed(status);
    if (info.rank == 0 || info.access == kernel::Access::kRead) continue;
    several_outputs = output != nullptr;
    if (several_outputs && own != groups) {
      return failed(error(StatusCode::kInvalidArgument,
                          "{} needs {} workgroups, {} needs {}; its outputs share a grid",
                          output->name, text_of(groups), info.name, text_of(own)));
    }
    output = &info;
    groups = own;
  }
  if (Status status = check_equal_sizes(kernel, constants); !status.ok()) [[unlikely]]
    return failed(status);
  if (several_outputs && !kernel.equal_sizes.empty()) {
    if (Status status = check_equal_tiles(kernel, constants); !status.ok()) return failed(status);
  }
  if (Status status = put_scalars(scalars); !status.ok()) [[unlikely]]
    return failed(status);
  if (output != nullptr) grid_.groups = {groups[0], groups[1], groups[2]};
  return {};
}

Status Launch::put_scalars(View<Constant> scalars) {
  const kernel::KernelInfo& kernel = executable_->kernels()[function_];
  if (scalars.size() != kernel.scalars.size()) [[unlikely]] {
    return error(StatusCode::kInvalidArgument, "{} given, it has {} beside its tensors",
                 base::counted(scalars.size(), "scalar"), kernel.scalars.size());
  }
  std::size_t slots = 0;
  for (const Constant& scalar : scalars) slots += scalar.indirect() ? 1 : 0;
  if (!constant_uses_.allocate(slots)) {
    return Status(StatusCode::kResourceExhausted, "no memory for a launch");
  }
  ConstantUse* use = constant_uses_.items();
  for (std::size_t i = 0; i < scalars.size(); ++i) {
    const std::size_t index = kernel.scalars[i];
    if (scalars[i].indirect()) [[unlikely]] {
      *use++ = use_of(kernel, index, scalars[i].slot());
    } else if (Status status = pack_constant(kernel, index, scalars[i], constants_.items());
               !status.ok()) [[unlikely]] {
      constant_uses_.size = 0;  // some entries are not written
      return status;
    }
  }
  return {};
}

Status Launch::set_scalars(View<Constant> scalars) {
  if (executable_ == nullptr) [[unlikely]]
    return empty_handle("launch", "set_scalars");
  const kernel::KernelInfo& kernel = executable_->kernels()[function_];
  if (constants_.size != kernel.constants_bytes) [[unlikely]] {
    return Status(StatusCode::kInvalidArgument, "a launch whose arguments were moved from it");
  }
  const Status status = put_scalars(scalars);
  return status.ok() ? status : at(status, "kernel {}", kernel.name);
}

}  // namespace halyard::inline v0::hal
