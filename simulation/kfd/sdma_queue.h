// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// SdmaQueue: a ring of SDMA packets. Pointers count bytes.
#pragma once

#include <optional>
#include <span>

#include "simulation/kfd/packets.h"
#include "simulation/kfd/queue.h"

namespace halyard::inline v0::sim::kfd {

class SdmaQueue final : public Queue {
 public:
  SdmaQueue(System& system, Device& device, QueueSettings settings);
  bool reads(const Buffer& buffer) const override;

 private:
  using Words = std::span<const std::uint32_t>;
  bool advance() override;
  bool has_work() const override { return indirect_.has_value() || ring_.available() != 0; }
  void announce(std::uint64_t end) override;

  // The words of the packet at the front of a stream; 0 after a violation.
  std::uint64_t length(Words front, std::uint64_t available);
  Progress execute(Words words);
  Progress begin_indirect(Words words);
  Progress copy(Words words);
  Progress write(Words words);
  Progress fill(Words words);
  Progress fence(Words words);
  Progress poll(Words words);
  Progress timestamp(Words words);
  std::uint64_t most_bytes() const;

  Stream ring_;
  std::optional<Stream> indirect_;
};

}  // namespace halyard::inline v0::sim::kfd
