// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/cpu/numa.h"

#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "base/error_name.h"
#include "base/format.h"
#include "base/native_call.h"

namespace halyard::inline v0::cpu {
namespace {

using base::native_call;

HALYARD_CALL_SITE(kBind, "cpu.bind", EPERM);

}  // namespace

Status bind_to_node(void* pointer, std::uint64_t size, unsigned node) {
  constexpr unsigned kBits = 8 * sizeof(unsigned long);
  std::vector<unsigned long> mask(node / kBits + 1);
  mask[node / kBits] = 1ul << node % kBits;
  // One more than the number of bits, since the kernel subtracts one.
  if (native_call(kBind, [&] {
        return syscall(SYS_mbind, pointer, size, MPOL_BIND, mask.data(), mask.size() * kBits + 1,
                       0);
      }) == 0) {
    return {};
  }
  return Status(StatusCode::kUnimplemented,
                base::format("cpu: {} bytes could not be bound to NUMA node {}", size, node),
                base::error_name(errno));
}

}  // namespace halyard::inline v0::cpu
