// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "conformance/hcq.h"

#include <algorithm>

#include "conformance/suites.h"
#if HALYARD_DRIVER_CPU
#include "halyard/hcq/cpu.h"
#endif

namespace halyard::inline v0::conformance {
namespace {

// The functions that open a driver's hardware queues and load kernels for them.
struct Backend {
  std::string_view driver;
  Result<std::unique_ptr<hcq::Device>> (*open)(unsigned workers);
  Result<hcq::Program> (*load)(std::span<const std::byte> hyx, std::string_view name,
                               std::string_view kernel);
};
constexpr Backend kBackends[] = {
#if HALYARD_DRIVER_CPU
    {"cpu", hcq::open_cpu, hcq::load_cpu_program},
#endif
    {},
};

const Backend& backend_of(std::string_view driver) {
  const auto* const found = std::ranges::find(kBackends, driver, &Backend::driver);
  if (found == std::end(kBackends) || found->open == nullptr) {
    throw Skip{fmt::format("driver {} has no hardware queues in hcq", driver)};
  }
  return *found;
}

}  // namespace

Hardware::Hardware(Context& t) : bound_(t.bound()) {
  const hal::DeviceInfo& info = t.device().info();
  const Backend& backend = backend_of(info.driver);
  load_ = backend.load;
  for (int i = 0; i < 2; ++i) devices_.push_back(backend.open(info.workers).value());
}

hcq::Allocator& Hardware::allocator(std::size_t index) {
  std::optional<hcq::Allocator>& made = allocators_[index];
  if (!made) {
    // Small slots: most cases copy some hundred bytes.
    made =
        hcq::Allocator::create(device(index), {.batch_size = 64 << 10, .batch_count = 4}).value();
  }
  return *made;
}

hcq::Program Hardware::program(std::string_view kernel) const {
  return load_(built_in_kernels(), "conformance.hyx", kernel).value();
}

Words::Words(Hardware& h, const std::vector<std::uint32_t>& values, std::size_t device)
    : allocator_(h.allocator(device)), memory_(allocator_.allocate(4 * values.size()).value()) {
  check(allocator_.copy_in(memory_.buffer(), values.data(), 4 * values.size(), kWatchdog));
  check(h.device(device).synchronize(kWatchdog));
}

std::vector<std::uint32_t> Words::read() const {
  std::vector<std::uint32_t> values(buffer().size / 4);
  check(allocator_.copy_out(values.data(), buffer(), buffer().size, kWatchdog));
  return values;
}

}  // namespace halyard::inline v0::conformance
