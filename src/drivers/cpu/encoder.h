// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// encode(): the packet of a command of hcq. HostKernel: the code of an hcq::Program for the CPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "drivers/cpu/packet.h"
#include "halyard/base/ref.h"
#include "halyard/hcq/cpu.h"
#include "hcq/command_list.h"

namespace halyard::inline v0::cpu {

class HostKernel final : public hcq::KernelImage {
 public:
  static constexpr std::string_view kTarget = "cpu";

  // `code` is kept, so that the function stays loaded; null if it is never unloaded.
  HostKernel(hcq::Kernel kernel, Ref<RefCounted> code) noexcept
      : KernelImage(kTarget), function_(kernel), code_(std::move(code)) {}
  hcq::Kernel function() const noexcept { return function_; }

 private:
  const hcq::Kernel function_;
  const Ref<RefCounted> code_;
};

// Fills the words of a packet, but the last one, and returns its kind. `args` are the kernel
// arguments of `command`; null if its fields have their address.
inline PacketKind encode(const hcq::detail::Command& command, const std::uint64_t* args,
                         std::uint64_t* words) noexcept {
  using hcq::detail::CommandKind;
  const std::uint64_t* const numbers = command.numbers;
  switch (command.kind) {
    case CommandKind::kSignal:
    case CommandKind::kWait:
      words[0] = word(command.signal());
      words[1] = numbers[hcq::detail::kValue];
      return command.kind == CommandKind::kSignal ? PacketKind::kSignal : PacketKind::kWait;
    case CommandKind::kTimestamp:
      words[0] = command.signal() == nullptr ? 0 : word(&command.signal()->words().time);
      return PacketKind::kTimestamp;
    case CommandKind::kExec: {
      const auto& kernel = static_cast<const HostKernel&>(command.program().image());
      const std::uint64_t buffers = args == nullptr ? numbers[hcq::detail::kArguments] : word(args);
      words[0] = reinterpret_cast<std::uintptr_t>(kernel.function());
      words[1] = buffers;
      words[2] = buffers + command.buffer_count * sizeof(std::uint64_t);
      words[3] = numbers[hcq::detail::kX] | numbers[hcq::detail::kY] << 32;
      words[4] = numbers[hcq::detail::kZ];
      return PacketKind::kExec;
    }
    case CommandKind::kCopy:
      words[0] = numbers[hcq::detail::kTarget];
      words[1] = numbers[hcq::detail::kSource];
      words[2] = numbers[hcq::detail::kBytes];
      return PacketKind::kCopy;
    case CommandKind::kBarrier:
      return PacketKind::kBarrier;
    case CommandKind::kCustom:
      static_assert(hcq::detail::kCustomWords == kCallWords);
      for (std::size_t i = 0; i <= kCallWords; ++i) words[i] = numbers[i];
      return PacketKind::kCall;
    case CommandKind::kRaw:  // refused: HcqDevice has no DeviceTraits::takes_raw_words
    case CommandKind::kBound:
      break;
  }
  words[0] = word(command.object.get());
  return PacketKind::kIndirect;
}

}  // namespace halyard::inline v0::cpu
