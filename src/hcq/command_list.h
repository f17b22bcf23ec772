// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CommandList: what a hcq::CommandQueue has collected. ProgramObject: what a hcq::Program refers
// to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "halyard/base/ref.h"
#include "halyard/base/status.h"
#include "halyard/hcq/device.h"
#include "halyard/hcq/program.h"
#include "hcq/packet.h"

namespace halyard::inline v0::hcq {

// Limits of one kernel. Its arguments then fit a ring of kernel arguments many times.
inline constexpr std::size_t kMaxBuffers = 64;
inline constexpr std::size_t kMaxConstantsSize = 4096;

class ProgramObject : public RefCounted {
 public:
  ProgramObject(Kernel code, ProgramInfo info, Ref<RefCounted> image = {}) noexcept
      : kernel_(code), info_(std::move(info)), image_(std::move(image)) {}
  Kernel kernel() const noexcept { return kernel_; }
  const ProgramInfo& info() const noexcept { return info_; }

 private:
  const Kernel kernel_;
  const ProgramInfo info_;
  const Ref<RefCounted> image_;  // what the code is part of, if that can be unloaded
};

namespace detail {

// Kernel arguments start at cache lines.
inline constexpr std::size_t kArgsBlock = 64;

// A packet in the making.
struct Command {
  PacketKind kind;
  std::uint64_t words[kPacketWords] = {};
  Ref<RefCounted> keeps;         // the signal or program it names
  std::uint32_t args_begin = 0;  // kExec: its kernel arguments, in words of CommandList::args
  std::uint32_t args_count = 0;
  std::uint32_t buffer_count = 0;

  std::uint32_t args_blocks() const noexcept {
    return static_cast<std::uint32_t>((args_count * sizeof(std::uint64_t) + kArgsBlock - 1) /
                                      kArgsBlock);
  }
};

class CommandList {
 public:
  explicit CommandList(QueueType queue_type) noexcept : type(queue_type) {}

  void fail(Status error) {
    if (status.ok()) status = std::move(error);
  }

  const QueueType type;
  Status status;  // the first error
  std::vector<Command> commands;
  std::vector<std::uint64_t> args;
  std::uint64_t args_blocks = 0;  // what args take in units of kArgsBlock, each command on its own
};

}  // namespace detail
}  // namespace halyard::inline v0::hcq
