// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels of a DeviceState: finding and loading them, and comparing them with their declarations.
#include <algorithm>
#include <array>
#include <memory>
#include <new>
#include <string>
#include <string_view>

#include "async/device_state.h"
#include "async/shape.h"
#include "base/format.h"

namespace halyard::inline v0::async::detail {
namespace {

using kernel::Access;
using ParameterKind = KernelParameter::Kind;

std::string describe(const KernelParameter& parameter) {
  const std::string_view type = to_string(parameter.type);
  switch (parameter.kind) {
    case ParameterKind::kScalar:
      return std::string(type);
    case ParameterKind::kInput:
      return base::format("const Tensor<{}>&", type);
    case ParameterKind::kOutput:
      if (parameter.tile.rank() == 0) return base::format("Tensor<{}>&", type);
      return base::format("Partition<Tensor<{}>, {}>&", type, text_of(parameter.tile, ", "));
  }
  return {};
}

// The tile that the kernel states; rank 0 if it states none.
hal::Extents tile_of(const hal::BindingInfo& binding) {
  if (binding.rank == 0 || binding.tile[0] == 0) return {};
  std::array<std::uint64_t, hal::kMaxTensorRank> tile;
  std::ranges::copy(binding.tile, tile.begin());
  return {hal::View<std::uint64_t>(tile.data(), binding.rank)};
}

std::string describe(const hal::BindingInfo& binding) {
  return base::format("{} {} of {} '{}'", to_string(binding.access),
                      binding.rank == 0 ? "flat array" : "tensor", to_string(binding.element),
                      binding.name);
}

// The index of the first scalar argument from `index` on. Other constants belong to tensors and
// have a dot in their names (kernel/tensor.h).
std::size_t next_scalar(const hal::Function& function, std::size_t index) {
  const auto is_own = [&] {
    return function.constant(index).name.find('.') != std::string_view::npos;
  };
  while (index < function.constant_count() && is_own()) ++index;
  return index;
}

Status check_tensor(const KernelSignature& signature, const KernelParameter& parameter,
                    const hal::BindingInfo& binding) {
  const bool output = parameter.kind == ParameterKind::kOutput;
  if (parameter.type != binding.element || output == (binding.access == Access::kRead)) {
    return error(StatusCode::kInvalidArgument, "declared with '{}' for its {}", describe(parameter),
                 describe(binding));
  }
  if (output && binding.rank == 0 && !signature.unchecked) {
    return error(StatusCode::kInvalidArgument,
                 "its {} is no tensor, so its workgroups might write the same elements: call it by "
                 "unchecked(kernel, grid)",
                 describe(binding));
  }
  const hal::Extents own = tile_of(binding);
  if (parameter.tile.rank() != 0 && own.rank() != 0 && parameter.tile != own) {
    return error(StatusCode::kInvalidArgument, "declared with '{}' for its {}, whose tile is {}",
                 describe(parameter), describe(binding), text_of(own));
  }
  return {};
}

std::size_t count_scalars(const hal::Function& function) {
  std::size_t count = 0;
  for (std::size_t i = next_scalar(function, 0); i < function.constant_count();
       i = next_scalar(function, i + 1)) {
    ++count;
  }
  return count;
}

std::string describe_count(std::size_t tensors, std::size_t scalars) {
  return base::format("{} ({}, {})", base::counted(tensors + scalars, "parameter"),
                      base::counted(tensors, "tensor"), base::counted(scalars, "scalar"));
}

// Compares the numbers of parameters first: if a parameter is missing, later ones would be compared
// with the wrong parameters.
Status check_counts(const KernelSignature& signature, const hal::Function& function) {
  const auto declared = static_cast<std::size_t>(
      std::ranges::count(signature.parameters, ParameterKind::kScalar, &KernelParameter::kind));
  const std::size_t tensors = signature.parameters.size() - declared;
  const std::size_t scalars = count_scalars(function);
  if (tensors == function.binding_count() && declared == scalars) return {};
  return error(StatusCode::kInvalidArgument, "it has {}; its declaration has {}",
               describe_count(function.binding_count(), scalars),
               describe_count(tensors, declared));
}

// Compares tensors in the order of the bindings, scalars in the order of the constants.
Status compare(const KernelSignature& signature, const hal::Function& function) {
  HALYARD_RETURN_IF_ERROR(check_counts(signature, function));
  std::size_t tensor = 0, constant = next_scalar(function, 0);
  for (const KernelParameter& parameter : signature.parameters) {
    if (parameter.kind != ParameterKind::kScalar) {
      HALYARD_RETURN_IF_ERROR(check_tensor(signature, parameter, function.binding(tensor)));
      ++tensor;
      continue;
    }
    const hal::ConstantInfo info = function.constant(constant);
    if (info.type != parameter.type) {
      return error(StatusCode::kInvalidArgument, "declared with '{}' for its {} '{}'",
                   describe(parameter), to_string(info.type), info.name);
    }
    constant = next_scalar(function, constant + 1);
  }
  return {};
}

Status named(const KernelSignature& signature, const Status& status) {
  if (status.ok()) return status;
  return error(status.code(), "kernel {} of {}: {}", signature.name, signature.file,
               status.message());
}

}  // namespace

BoundKernel::BoundKernel(const KernelSignature& signature_, hal::Function function_)
    : signature(signature_), function(std::move(function_)) {}

hal::Argument argument_of(const KernelArray& array, const hal::BindingRef& memory) noexcept {
  if (array.shape == nullptr) return memory;
  hal::Tensor tensor{.memory = memory, .sizes = *array.shape, .element = array.type};
  if (array.tile != nullptr) tensor.tile = *array.tile;
  return tensor;
}

Result<hal::Launch> BoundKernel::launch(std::span<hal::Argument> arguments,
                                        hal::View<hal::Constant> scalars) const {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const hal::BindingInfo binding = function.binding(i);
    hal::Tensor& tensor = arguments[i].value;
    if (binding.rank == 0) {
      arguments[i] = hal::Argument(tensor.memory);
    } else if (binding.tile[0] != 0 && tensor.tile.rank() != 0) {
      if (const hal::Extents own = tile_of(binding); tensor.tile != own) {
        return error(StatusCode::kInvalidArgument,
                     "kernel {}: {}: a partition into {}; the kernel's tile is {}", signature.name,
                     binding.name, text_of(tensor.tile), text_of(own));
      }
      tensor.tile = {};
    }
  }
  return hal::Launch::create(function, arguments, scalars);
}

Result<hal::Executable> DeviceState::load(const KernelSignature& signature) const {
  const std::string_view name = signature.file;
  const bool is_absolute = name.starts_with('/');
  std::string folders;
  for (const std::string& folder : folders_) {
    const std::string file =
        base::format("{}{}{}{}", is_absolute ? std::string_view() : folder, is_absolute ? "" : "/",
                     name, name.ends_with(".hyx") ? "" : ".hyx");
    if (!file.ends_with(".hyx")) return no_memory();  // truncated for lack of memory
    Result<hal::Executable> kernels = device_.load(file);
    if (kernels.ok() || kernels.status().code() != StatusCode::kNotFound) return kernels;
    base::append(folders, "{}{}", folders.empty() ? "" : ", ", folder);
  }
  return error(StatusCode::kNotFound, "no such file in {}; RuntimeInfo::kernels adds folders",
               folders);
}

base::Atomic<const BoundKernel*>& DeviceState::recent(const KernelSignature& signature) noexcept {
  return recent_kernels_[scatter(hash_of(signature)) % kRecentKernels];
}

Result<const BoundKernel*> DeviceState::bind(const KernelSignature& signature) {
  // Acquires the object that the release stores below published. It lives as long as this.
  base::Atomic<const BoundKernel*>& recent = this->recent(signature);
  if (const BoundKernel* const kernel = recent.load(std::memory_order_acquire);
      kernel != nullptr && kernel->signature == signature) [[likely]] {
    return kernel;
  }
  const auto find = [&]() -> const BoundKernel* {
    for (const auto& kernel : kernels_) {
      if (kernel->signature == signature) return kernel.get();
    }
    return nullptr;
  };
  {
    base::LockGuard lock(mutex_);
    if (const BoundKernel* const kernel = find()) {
      recent.store(kernel, std::memory_order_release);
      return kernel;
    }
  }
  const auto loaded = [&]() -> Result<hal::Function> {
    HALYARD_ASSIGN_OR_RETURN(const hal::Executable executable, load(signature));
    HALYARD_ASSIGN_OR_RETURN(hal::Function function, executable.function(signature.name));
    HALYARD_RETURN_IF_ERROR(compare(signature, function));
    return function;
  };
  Result<hal::Function> function = loaded();
  if (!function.ok()) return named(signature, function.status());
  base::LockGuard lock(mutex_);
  if (const BoundKernel* const kernel = find()) return kernel;
  std::unique_ptr<BoundKernel> bound(new (std::nothrow)
                                         BoundKernel(signature, *std::move(function)));
  if (!bound || !kernels_.push_back(std::move(bound))) return no_memory();
  return kernels_.back().get();
}

}  // namespace halyard::inline v0::async::detail
