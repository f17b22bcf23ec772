// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/hip/settings.h"

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace halyard::inline v0::sim::hip {
namespace {

void complain(const char* variable, std::string_view value) {
  std::fprintf(stderr, "simulated HIP: %s: cannot read \"%.*s\", ignored\n", variable,
               static_cast<int>(value.size()), value.data());
}

void read_version(Settings& settings) {
  constexpr const char* kVariable = "HALYARD_SIM_HIP_VERSION";
  const char* const text = std::getenv(kVariable);
  if (text == nullptr) return;
  int major = 0, minor = 0;
  char end = '\0';
  if (std::string_view(text) == "7.x") {
    settings.version = kVersion715;
  } else if (std::sscanf(text, "%d.%d%c", &major, &minor, &end) == 2 && major >= 5 && major <= 10 &&
             minor >= 0 && minor <= 99 && major * 100 + minor >= kVersion56) {
    settings.version = major * 100 + minor;
  } else {
    complain(kVariable, text);
  }
}

// The real library takes 0 for false and every other number for true.
bool read_flag(const char* variable, bool by_default) {
  const char* const text = std::getenv(variable);
  return text == nullptr || *text == '\0' ? by_default : std::atoi(text) != 0;
}

void read_arch(Settings& settings) {
  if (const char* const text = std::getenv("HALYARD_SIM_HIP_ARCH")) {
    if (std::string_view(text).starts_with("gfx")) {
      settings.arch = text;
    } else {
      complain("HALYARD_SIM_HIP_ARCH", text);
    }
  }
  // ROCr, HSA_OVERRIDE_GFX_VERSION=11.0.0: selects another processor of the same instruction set.
  if (const char* const text = std::getenv("HSA_OVERRIDE_GFX_VERSION")) {
    int major = 0, minor = 0, step = 0;
    if (std::sscanf(text, "%d.%d.%d", &major, &minor, &step) == 3 && major > 0 && minor >= 0 &&
        minor < 10 && step >= 0 && step < 16) {
      char name[32];
      std::snprintf(name, sizeof name, "gfx%d%d%x", major, minor, static_cast<unsigned>(step));
      settings.arch = name;
    } else {
      complain("HSA_OVERRIDE_GFX_VERSION", text);
    }
  }
}

void read_bugs(Settings& settings) {
  constexpr struct {
    std::string_view name;
    Bug bug;
  } kBugs[] = {{"stale-nodes", Bug::kStaleKernelNode},
               {"pools", Bug::kFailingPools},
               {"uuid", Bug::kNoUuid},
               {"event-destroy", Bug::kEventWaitsForAll},
               {"blocking", Bug::kBlockingQueries},
               {"pool-zero", Bug::kZeroedPools},
               {"extra", Bug::kOldExtraIgnored}};
  const char* const text = std::getenv("HALYARD_SIM_HIP_BUGS");
  for (std::string_view rest = text != nullptr ? text : ""; !rest.empty();) {
    const std::string_view name = rest.substr(0, rest.find(','));
    rest.remove_prefix(name.size() + (name.size() < rest.size() ? 1 : 0));
    bool is_known = false;
    for (const auto& each : kBugs) {
      if (name != each.name) continue;
      settings.bugs |= static_cast<unsigned>(each.bug);
      is_known = true;
    }
    if (!is_known) complain("HALYARD_SIM_HIP_BUGS", name);
  }
}

}  // namespace

Settings read_settings() {
  Settings settings;
  settings.version = built_version();
  read_version(settings);
  read_arch(settings);
  read_bugs(settings);
  if (const char* const text = std::getenv("GPU_MAX_HW_QUEUES")) {
    const int queues = std::atoi(text);
    if (queues > 0) settings.hardware_queues = queues;
  }
  settings.has_pools = read_flag("HIP_MEM_POOL_SUPPORT", true);
  // AMD_SERIALIZE_KERNEL: 1 waits before, 2 after, 3 both; the order of work is the same.
  settings.serializes_kernels = read_flag("AMD_SERIALIZE_KERNEL", false);
  settings.serializes_calls = read_flag("HIP_LAUNCH_BLOCKING", false);
  if (const char* const text = std::getenv("AMD_LOG_LEVEL")) settings.log_level = std::atoi(text);
  // ROCm/clr f9f995c, rocvirtual.cpp:2896 and rocdevice.cpp:3002.
  settings.aborts_on_fault = settings.version < kVersion70;
  return settings;
}

int hip_version() {
  const int version = settings().version;
  // Patches of released versions: 5.6.0, 6.3.0 and the 7.15 of ROCm/rocm-systems.
  const int patch = version == kVersion56    ? 31061
                    : version == kVersion63  ? 42131
                    : version == kVersion715 ? 26333
                                             : 0;
  return version / 100 * 10'000'000 + version % 100 * 100'000 + patch;
}

}  // namespace halyard::inline v0::sim::hip
