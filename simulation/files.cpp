// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/files.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace halyard::inline v0::sim {
namespace {

constexpr std::uint64_t kLongest = 3'000;  // nanoseconds that a request takes

}  // namespace

Files::Files(std::uint64_t seed, std::size_t size, std::size_t part, bool faulty,
             std::function<void(std::size_t)> on_write)
    : random_(Random::mix(seed ^ 0x66696c6573)),
      contents_(size),
      part_(part),
      faulty_(faulty),
      on_write_(std::move(on_write)),
      capacity_(random_.one_in(3) ? kMaxRequests : random_.between(1, 3)),
      failed_(size / part) {}

// A handle needs the descriptor of a regular file; all handles share this descriptor.
hal::File Files::open() {
  static const int descriptor = memfd_create("halyard-sim", MFD_CLOEXEC);
  return hal::File::import_descriptor(descriptor).value();
}

void Files::start(hal::FileRequest& request) noexcept {
  const Nanoseconds now = Clock::steady().now();
  under_way_.push_back({&request, now + static_cast<Nanoseconds>(random_.below(kLongest))});
}

// An interruption before this call ends it as well.
std::size_t Files::reap(std::span<hal::FileRequest*, kMaxRequests> ended, bool wait) noexcept {
  const Nanoseconds now = Clock::steady().now();
  std::size_t count = 0;
  std::erase_if(under_way_, [&](const UnderWay& one) {
    if (one.due > now) return false;
    one.request->result = carry_out(*one.request);
    ended[count++] = one.request;
    return true;
  });
  if (count == 0 && wait) {
    const Nanoseconds due = std::ranges::min(under_way_, {}, &UnderWay::due).due;
    (void)parker_.park(seen_, due);
  }
  seen_ = parker_.prepare();
  return count;
}

std::int32_t Files::carry_out(const hal::FileRequest& request) {
  const std::size_t part = request.offset / part_;
  if (random_.one_in(8)) return random_.one_in(2) ? -EINTR : -EAGAIN;
  if (faulty_ && random_.one_in(16)) {
    failed_[part] = true;
    ++faults_;
    return request.write && random_.one_in(2) ? -ENOSPC : -EIO;
  }
  const std::size_t length =
      random_.one_in(3) ? random_.between(1, request.length) : request.length;
  if (request.write) {
    if (request.offset % part_ == 0) on_write_(part);
    std::memcpy(&contents_[request.offset], request.data, length);
  } else {
    std::memcpy(request.data, &contents_[request.offset], length);
  }
  return static_cast<std::int32_t>(length);
}

}  // namespace halyard::inline v0::sim
