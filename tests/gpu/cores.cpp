// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "gpu/cores.h"

#include <sched.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "base/format.h"

namespace halyard::testing::cuda {
namespace {

std::vector<unsigned> two_cores;  // or none

bool pin(const std::vector<unsigned>& cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const unsigned core : cores) CPU_SET(core, &set);
  return sched_setaffinity(0, sizeof set, &set) == 0;
}

}  // namespace

std::string pin_to_two_cores() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) {
    return fmt::format("not pinned: sched_getaffinity: {}", std::strerror(errno));
  }
  std::vector<unsigned> cores;
  for (unsigned core = 0; core < CPU_SETSIZE && cores.size() < 2; ++core) {
    if (CPU_ISSET(core, &allowed)) cores.push_back(core);
  }
  if (cores.size() < 2) return "not pinned: this process may use one CPU only";
  if (!pin(cores)) return fmt::format("not pinned: sched_setaffinity: {}", std::strerror(errno));
  two_cores = cores;
  return fmt::format("pinned to CPUs {} and {}", cores[0], cores[1]);
}

OneCore::OneCore(std::size_t which) {
  if (two_cores.empty()) throw std::runtime_error("not pinned");
  if (!pin({two_cores[which]})) throw std::runtime_error(std::strerror(errno));
}

OneCore::~OneCore() { pin(two_cores); }

}  // namespace halyard::testing::cuda
