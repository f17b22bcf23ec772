// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// HostImage: a command list as packets and kernel arguments in memory of its own. A ring executes
// it in place: a submission is one packet (PacketKind::kIndirect).
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "drivers/cpu/packet.h"
#include "halyard/base/result.h"
#include "hcq/command_list.h"

namespace halyard::inline v0::cpu {

class HostImage final : public hcq::detail::BoundList {
 public:
  static Result<Ref<HostImage>> create(const hcq::detail::CommandList& list);

  void update(const hcq::detail::CommandList& list, std::size_t begin,
              std::size_t end) noexcept override;
  void set_end(std::size_t end) noexcept override;

  Packet& packet(std::size_t index) noexcept { return packets_[index]; }
  // It may change while a ring executes earlier packets than the new count.
  std::size_t packet_count() const noexcept { return count_.load(std::memory_order_relaxed); }

 private:
  struct alignas(hcq::detail::kArgsBlock) ArgsBlock {
    std::uint64_t words[hcq::detail::kArgsBlockWords];
  };
  // The packet of a command, and the object that the packet names.
  struct Entry {
    std::size_t packet;
    bool timed;  // a timestamp before it and one after it
    Ref<RefCounted> keeps;
  };

  HostImage() noexcept = default;
  void write(const hcq::detail::CommandList& list, std::size_t command) noexcept;
  std::uint64_t* args() noexcept { return args_ == nullptr ? nullptr : args_[0].words; }

  std::unique_ptr<Packet[]> packets_;
  base::Atomic<std::size_t> count_{0};
  std::unique_ptr<ArgsBlock[]> args_;
  std::vector<Entry> entries_;
  Ref<hcq::detail::Profile> profile_;
};

}  // namespace halyard::inline v0::cpu
