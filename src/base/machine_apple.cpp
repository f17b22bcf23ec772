// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <sys/sysctl.h>

#include "base/machine.h"
#include "base/native_call.h"

namespace halyard::inline v0::base {

namespace {

HALYARD_CALL_SITE(kName, "machine.name", ENOENT);
HALYARD_CALL_SITE(kMemory, "machine.memory", ENOENT);

}  // namespace

// "Apple M2"
std::string processor_name() {
  char name[128] = {};
  std::size_t size = sizeof name - 1;
  const int result = native_call(
      kName, [&] { return ::sysctlbyname("machdep.cpu.brand_string", name, &size, nullptr, 0); });
  return result == 0 && name[0] != 0 ? name : "CPU";
}

std::uint64_t memory_size() noexcept {
  std::uint64_t bytes = 0;
  std::size_t size = sizeof bytes;
  const int result =
      native_call(kMemory, [&] { return ::sysctlbyname("hw.memsize", &bytes, &size, nullptr, 0); });
  return result == 0 ? bytes : 0;
}

}  // namespace halyard::inline v0::base
