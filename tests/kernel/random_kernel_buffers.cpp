// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The contents of random kernels' buffers: numbers at the edges of types, small ones, and any bits.
#include <bit>
#include <cstring>
#include <iterator>

#include "kernel/random_kernel.h"
#include "simulation/random.h"

namespace halyard::testing::random_kernel {
namespace {

using sim::Random;

std::uint64_t input_bits(Element element, Random& random) {
  static constexpr double kNumbers[] = {0, -0.0, 1, -1, 0.5, 2, -3.75, 100, 255, 256, 65504, 65520,
                                        1e5, 2147483648.0, 4294967296.0, 1e10, 1e-3};
  const double number = kNumbers[random.below(std::size(kNumbers))];
  const std::uint64_t bits = random.next();
  const auto form = random.below(4);
  if (element == Element::kFloat) {
    if (form == 0) return bits & 0xffffffff;
    return std::bit_cast<std::uint32_t>(static_cast<float>(number));
  }
  if (element == Element::kDouble) return form == 0 ? bits : std::bit_cast<std::uint64_t>(number);
  if (element == Element::kHalf) return bits;
  return form == 0 ? bits : form == 1 ? bits % 4 : form == 2 ? 0 : bits >> (32 + bits % 32);
}

}  // namespace

std::vector<Buffer> buffers_of(const Kernel& kernel) {
  std::vector<Buffer> all = {{"a", Element::kUint, {}},
                             {"b", Element::kInt, {}},
                             {"c", Element::kFloat, {}},
                             {"d", kernel.narrow_in, {}}};
  if (kernel.wide) all.push_back({"e", Element::kDouble, {}});
  all.insert(all.end(), {{"p", Element::kUint, {}},
                         {"q", Element::kInt, {}},
                         {"r", Element::kFloat, {}},
                         {"s", kernel.narrow_out, {}}});
  if (kernel.wide) all.push_back({"t", Element::kDouble, {}});
  all.push_back({"bins", Element::kUint, {}});
  Random random(Random::mix(kernel.seed) ^ 0x6461'7461);
  for (std::size_t b = 0; b < all.size(); ++b) {
    static constexpr std::size_t kBytes[] = {1, 1, 1, 2, 2, 2, 4, 4, 4, 8};
    const std::size_t size = kBytes[static_cast<int>(all[b].element)];
    const std::size_t count = b < first_output(kernel)  ? kInputs
                              : b + 1 == all.size()     ? kBins
                                                        : kernel.items() * kernel.groups * kSlots;
    all[b].bytes.resize(count * size);
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t bits = input_bits(all[b].element, random);
      std::memcpy(all[b].bytes.data() + i * size, &bits, size);
    }
  }
  return all;
}

}  // namespace halyard::testing::random_kernel
