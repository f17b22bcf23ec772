// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <bit>
#include <numeric>
#include <vector>

#include "simulation/metal/msl/group.h"
#include "simulation/metal/msl/launch.h"
#include "simulation/metal/msl/trap.h"
#include "simulation/random.h"

namespace halyard::inline v0::sim::msl {
namespace {

constexpr std::uint32_t kMostThreads = 1024;
constexpr std::uint32_t kWidestSimdgroup = 64;

Outcome refused(const FunctionImage& function, const std::string& why) {
  Outcome outcome;
  outcome.fault = Fault::kUnsupported;
  outcome.report = {Fault::kUnsupported, "kernel " + function.info.name + ": " + why, 0, 0, 0};
  return outcome;
}

}  // namespace

std::string_view name(Fault fault) noexcept {
  switch (fault) {
    case Fault::kNone:
      return "none";
    case Fault::kOutOfBounds:
      return "out of bounds";
    case Fault::kReadOnly:
      return "read only";
    case Fault::kNotDeclared:
      return "not declared";
    case Fault::kRace:
      return "race";
    case Fault::kDivergence:
      return "divergence";
    case Fault::kInactiveLane:
      return "inactive lane";
    case Fault::kBudget:
      return "budget";
    case Fault::kTrap:
      return "trap";
    case Fault::kUnsupported:
      return "unsupported";
  }
  return "unknown";
}

Outcome run(const Function& function, const Launch& launch, Observer* observer) {
  const FunctionImage& image = function.image();
  const std::uint64_t threads = std::uint64_t{launch.group.x} * launch.group.y * launch.group.z;
  if (threads == 0 || threads > kMostThreads)
    return refused(image, std::to_string(threads) + " threads in a group, 1 to 1024 are possible");
  if (!std::has_single_bit(launch.simd_width) || launch.simd_width < 4 ||
      launch.simd_width > kWidestSimdgroup)
    return refused(image, "simdgroups of " + std::to_string(launch.simd_width) + " threads");
  if (launch.grid.x == 0 || launch.grid.y == 0 || launch.grid.z == 0) return {};
  std::shared_ptr<const Code> code;
  const Code::Entry entry = entry_point(image, launch.check_bounds || launch.check_races, code);
  if (entry == nullptr) return refused(image, "there is no code");
  catch_traps();
  Group group(image, launch, observer, entry, *code);
  if (!group.bind()) return std::move(group.outcome());
  const auto divide = [](std::uint32_t a, std::uint32_t b) {
    return a / b + (a % b != 0 ? 1u : 0u);
  };
  const Size groups{divide(launch.grid.x, launch.group.x), divide(launch.grid.y, launch.group.y),
                    divide(launch.grid.z, launch.group.z)};
  const std::uint64_t count = std::uint64_t{groups.x} * groups.y * groups.z;
  // An order other than that of the indices: a stride that is coprime to the count.
  std::uint64_t stride = 1, at = 0;
  if (launch.seed != 0 && count > 1) {
    Random random(launch.seed);
    at = random.below(count);
    stride = 1 + random.below(count - 1);
    while (std::gcd(stride, count) != 1) ++stride;
  }
  for (std::uint64_t i = 0; i < count; ++i, at = (at + stride) % count) {
    const Size place{static_cast<std::uint32_t>(at % groups.x),
                     static_cast<std::uint32_t>(at / groups.x % groups.y),
                     static_cast<std::uint32_t>(at / groups.x / groups.y)};
    if (!group.run(place)) break;
  }
  return std::move(group.outcome());
}

}  // namespace halyard::inline v0::sim::msl
