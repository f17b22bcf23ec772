// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files: a file in memory, as the backend of a simulated runtime's transfers. The seed decides how
// many requests it accepts at a time, the duration of each, so that they end in any order, how many
// bytes each transfers, and which requests are interrupted or fail.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/parker.h"
#include "hal/files/file_backend.h"
#include "halyard/hal/file.h"
#include "simulation/random.h"

namespace halyard::inline v0::sim {

class Files final : public hal::FileBackend {
 public:
  // `size` bytes in parts of `part` bytes. Parts fail independently: with kDataLoss (EIO), or for
  // writes with kResourceExhausted (ENOSPC). `on_write` is called as the first byte of a part is
  // written.
  Files(std::uint64_t seed, std::size_t size, std::size_t part, bool faulty,
        std::function<void(std::size_t part)> on_write);

  // A handle whose transfers use this backend, whatever its name.
  static hal::File open();

  // Whether a request for this part has failed.
  bool failed(std::size_t part) const { return failed_[part]; }
  std::uint64_t faults() const noexcept { return faults_; }

  std::size_t capacity() const noexcept override { return capacity_; }
  void start(hal::FileRequest& request) noexcept override;
  std::size_t reap(std::span<hal::FileRequest*, kMaxRequests> ended, bool wait) noexcept override;
  void interrupt() noexcept override { parker_.wake(); }

 private:
  struct UnderWay {
    hal::FileRequest* request;
    Nanoseconds due;
  };
  std::int32_t carry_out(const hal::FileRequest& request);

  Random random_;
  std::vector<std::byte> contents_;
  const std::size_t part_;
  const bool faulty_;
  const std::function<void(std::size_t)> on_write_;
  std::size_t capacity_;
  std::vector<bool> failed_;
  std::uint64_t faults_ = 0;
  std::vector<UnderWay> under_way_;
  base::Parker parker_;
  std::uint32_t seen_ = 0;  // interruptions before the last reap()
};

}  // namespace halyard::inline v0::sim
