// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "async/shipped.h"

#include <array>

#include "base/format.h"

namespace halyard::inline v0::async::detail {

Status check_size(const char* operation, std::uint64_t elements) {
  // What the kernels take (docs/kernels.md).
  constexpr std::uint64_t kMostElements = (std::uint64_t{1} << 31) - 1;
  if (elements <= kMostElements) return {};
  return error(StatusCode::kOutOfRange, "{}: {} elements; the most is 2^31 - 1", operation,
               elements);
}

Status launch_flat(Context& context, const KernelSignature& kernel, hal::View<StorageRange> arrays,
                   hal::View<hal::Constant> scalars, const hal::Grid& grid) {
  std::array<Storage*, 3> storages{};
  std::array<hal::Argument, 3> arguments;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    storages[i] = arrays[i].storage;
    if (storages[i] != nullptr) arguments[i].value.memory = arrays[i].of_buffer();
  }
  return context.launch(kernel, {storages.data(), arrays.size()},
                        std::span(arguments).first(arrays.size()), scalars, &grid);
}

}  // namespace halyard::inline v0::async::detail
