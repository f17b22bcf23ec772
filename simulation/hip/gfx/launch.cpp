// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/hip/gfx/launch.h"

#include <algorithm>
#include <cstring>

#include "simulation/hip/gfx/text.h"

namespace halyard::inline v0::sim::gfx {
namespace {

constexpr std::uint32_t kMostLds = 64 * 1024;
// Stack bytes per lane of a kernel whose stack size the compiler does not know.
constexpr std::uint32_t kDynamicStack = 16 * 1024;
// Size of the zeroed memory to which pointers to the runtime's own objects point.
constexpr std::size_t kHeapBytes = 4096;

std::string text_of(const Extent& extent) {
  return join("(", extent[0], ", ", extent[1], ", ", extent[2], ")");
}

std::string check(const Run& run) {
  const Launch& launch = *run.launch;
  const Kernel& kernel = *run.kernel;
  for (unsigned i = 0; i < 3; ++i) {
    if (launch.grid[i] == 0 || launch.block[i] == 0) return "an extent of the launch is 0";
    if (launch.block[i] > 1024) return "workgroup " + text_of(launch.block) + " is too large";
    if (kernel.required_block[i] != 0 && launch.block[i] != kernel.required_block[i]) {
      return "workgroup " + text_of(launch.block) + ", required is " +
             text_of(kernel.required_block);
    }
  }
  const std::uint64_t items = std::uint64_t{launch.block[0]} * launch.block[1] * launch.block[2];
  if (items > std::min(kernel.max_block, 1024u)) {
    return "workgroup " + text_of(launch.block) + " is too large";
  }
  for (unsigned i = 0; i < 3; ++i) {
    if (std::uint64_t{launch.grid[i]} * launch.block[i] > UINT32_MAX) {
      return "grid " + text_of(launch.grid) + " is too large";
    }
  }
  if (std::uint64_t{launch.dynamic_lds_bytes} + kernel.static_lds_bytes > kMostLds) {
    return "more LDS than " + join(kMostLds, " bytes");
  }
  if (launch.arguments.size() < kernel.explicit_bytes) {
    return join(launch.arguments.size(), " bytes of arguments, the kernel takes ",
                kernel.explicit_bytes);
  }
  const KernelDescriptor& descriptor = run.code->descriptor;
  if (kernel.wave_size != 32 || !descriptor.is_wave32()) return "the kernel is not of wave32";
  if (descriptor.fp16_overflow()) return "the mode FP16_OVFL is not built";
  if (descriptor.float_round_mode() != 0) return "only rounding to nearest even is built";
  return {};
}

// The value of a hidden argument; arguments that are not listed here are null.
std::uint64_t hidden_value(const Run& run, std::string_view kind) {
  const Launch& launch = *run.launch;
  constexpr std::string_view kCount = "hidden_block_count_", kSize = "hidden_group_size_";
  if (kind.starts_with(kCount)) return launch.grid[(kind.back() - 'x') % 3u];
  if (kind.starts_with(kSize)) return launch.block[(kind.back() - 'x') % 3u];
  if (kind == "hidden_grid_dims") return 3;
  if (kind == "hidden_dynamic_lds_size") return launch.dynamic_lds_bytes;
  if (kind == "hidden_private_base") return kPrivateAperture >> 32;
  if (kind == "hidden_shared_base") return kSharedAperture >> 32;
  if (kind == "hidden_heap_v1" || kind == "hidden_queue_ptr") return kHeapAddress;
  return 0;
}

void fill_arguments(Run& run) {
  const Kernel& kernel = *run.kernel;
  const std::size_t size =
      std::max<std::size_t>(kernel.argument_bytes, run.launch->arguments.size());
  // Padded, because wide loads may extend beyond the last argument.
  run.kernarg.assign((size + 63) / 64 * 8, 0);
  auto* const bytes = reinterpret_cast<std::byte*>(run.kernarg.data());
  if (!run.launch->arguments.empty()) {
    std::memcpy(bytes, run.launch->arguments.data(),
                std::min<std::size_t>(run.launch->arguments.size(), size));
  }
  for (const Argument& each : kernel.arguments) {
    if (!each.is_hidden() || each.offset + std::size_t{each.size} > size) continue;
    const std::uint64_t value = hidden_value(run, each.kind);
    std::memset(bytes + each.offset, 0, each.size);
    std::memcpy(bytes + each.offset, &value, std::min<std::size_t>(each.size, 8));
  }
  run.heap.assign(kHeapBytes / 8, 0);
}

template <class T>
void put(Run& run, std::size_t offset, T value) {
  std::memcpy(run.packet.data() + offset, &value, sizeof(value));
}

// hsa_kernel_dispatch_packet_t.
void fill_packet(Run& run) {
  const Launch& launch = *run.launch;
  put<std::uint16_t>(run, 2, 3);  // dimensions
  for (unsigned i = 0; i < 3; ++i) {
    put(run, 4 + 2 * i, static_cast<std::uint16_t>(launch.block[i]));
    put(run, 12 + 4 * i, launch.grid[i] * launch.block[i]);
  }
  put(run, 24, run.kernel->scratch_bytes);
  put(run, 28, run.kernel->static_lds_bytes + launch.dynamic_lds_bytes);
  put(run, 40, kKernargAddress);
}

}  // namespace

std::string prepare(Run& run) {
  const CodeObject::Program& program = *run.program;
  if (run.launch->kernel >= program.kernels.size()) return "no such kernel";
  run.kernel = &program.kernels[run.launch->kernel];
  run.code = &program.code[run.launch->kernel];
  if (std::string wrong = check(run); !wrong.empty()) return wrong;
  run.executable = &executable_of(program);
  const Launch& launch = *run.launch;
  run.items = launch.block[0] * launch.block[1] * launch.block[2];
  run.workgroups = std::uint64_t{launch.grid[0]} * launch.grid[1] * launch.grid[2];
  const bool has_stack = run.code->descriptor.has_dynamic_stack();
  run.scratch_bytes = (run.kernel->scratch_bytes + (has_stack ? kDynamicStack : 0) + 15) & ~15u;
  fill_arguments(run);
  fill_packet(run);
  run.windows[0] = {kKernargAddress, kKernargAddress + 8 * run.kernarg.size(),
                    reinterpret_cast<std::byte*>(run.kernarg.data()), false};
  run.windows[1] = {kPacketAddress, kPacketAddress + run.packet.size(), run.packet.data(), false};
  run.windows[2] = {kHeapAddress, kHeapAddress + kHeapBytes,
                    reinterpret_cast<std::byte*>(run.heap.data()), true};
  return {};
}

std::bitset<kScalarRegisters> begin_registers(Wave& wave) {
  const Run& run = *wave.group->run;
  const KernelDescriptor& descriptor = run.code->descriptor;
  std::bitset<kScalarRegisters> defined;
  unsigned next = 0;
  const auto add = [&](std::uint64_t value, unsigned count) {
    for (unsigned i = 0; i < count && next < kScalarRegisters; ++i) {
      wave.s[next] = i < 2 ? static_cast<std::uint32_t>(value >> (32 * i)) : 0;
      defined[next++] = true;
    }
  };
  for (const std::uint32_t word : run.launch->user_data) add(word, 1);
  if (descriptor.has_private_segment_buffer()) add(0, 4);
  if (descriptor.has_dispatch_packet()) add(kPacketAddress, 2);
  if (descriptor.has_queue()) add(kHeapAddress, 2);
  if (descriptor.has_kernarg_segment()) add(kKernargAddress, 2);
  if (descriptor.has_dispatch_id()) add(0, 2);
  if (descriptor.has_flat_scratch_init()) add(0, 2);
  if (descriptor.has_private_segment_size()) add(run.scratch_bytes, 1);
  next = std::max(next, descriptor.user_sgprs());
  for (unsigned axis = 0; axis < 3; ++axis) {
    if (descriptor.has_workgroup_id(axis)) add(wave.group->index[axis], 1);
  }
  if (descriptor.has_workgroup_info()) add(0, 1);

  const Extent& block = run.launch->block;
  const unsigned axes = descriptor.workitem_id_axes();
  wave.born = 0;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const std::uint32_t item = wave.index * kLanes + lane;
    if (item < run.items) wave.born |= 1u << lane;
    const std::uint32_t x = item % block[0], y = item / block[0] % block[1],
                        z = item / block[0] / block[1];
    wave.row(0)[lane] = x | (axes > 1 ? y << 10 : 0) | (axes > 2 ? z << 20 : 0);
  }
  wave.exec() = wave.born;
  wave.s[kExecHigh] = 0;
  wave.mode.round = 0;
  wave.mode.denormals = static_cast<std::uint8_t>(descriptor.float_denorm_mode());
  wave.mode.dx10_clamp = descriptor.dx10_clamp();
  wave.mode.ieee = descriptor.ieee_mode();
  return defined;
}

}  // namespace halyard::inline v0::sim::gfx
