// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Launches of shipped kernels (docs/kernels.md), whose arrays are flat: they are told their sizes.
#pragma once

#include <cstdint>

#include "halyard/async/context.h"
#include "halyard/async/kernel_signature.h"
#include "halyard/async/tensor.h"
#include "halyard/base/result.h"
#include "halyard/hal/launch.h"

namespace halyard::inline v0::async::detail {

inline constexpr KernelParameter kInput{KernelParameter::Kind::kInput,
                                        kernel::ElementType::kFloat32};
inline constexpr KernelParameter kOutput{KernelParameter::Kind::kOutput,
                                         kernel::ElementType::kFloat32};
inline constexpr KernelParameter kSize{KernelParameter::Kind::kScalar,
                                       kernel::ElementType::kUint32};

// kOutOfRange, by the name of `operation`: an array has at most 2^31 - 1 elements of 4 bytes.
Status check_size(const char* operation, std::uint64_t elements);
inline std::uint32_t to_size(std::uint64_t size) { return static_cast<std::uint32_t>(size); }

// `into`, whose shape is to be this one, or, where it is null, a new tensor.
Result<Tensor<float>> result_of(Context& context, const char* operation, const Shape& shape,
                                Tensor<float>* into);

// At most three arrays.
Status launch_flat(Context& context, const KernelSignature& kernel, hal::View<StorageRange> arrays,
                   hal::View<hal::Constant> scalars, const hal::Grid& grid);

}  // namespace halyard::inline v0::async::detail
