// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// unwaited_program URI END: fills memory on one queue of a device, works on another queue, and
// waits only for that one. The memory shows that the first queue has ended, too. Then
//     return   main returns
//     exit     it exits with a submission that has not ended
//     kill     it stays until it is killed
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <span>
#include <string_view>
#include <thread>

#include "halyard/halyard.h"

// Reads a word while the device writes it, without any order: an intended race.
__attribute__((no_sanitize("thread"))) bool is_there(const std::uint32_t& word,
                                                     std::uint32_t value) {
  return static_cast<const volatile std::uint32_t&>(word) == value;
}

int main(int, char** argv) {
  using namespace halyard;
  constexpr std::uint32_t kEach = 100;  // as exit_test.cpp expects
  const hal::Device device = hal::open(argv[1]).value();
  const hal::Buffer memory =
      device.allocate({.size = 4096, .memory = hal::MemoryType::kHostLocal}).value();
  const hal::Mapping mapping = memory.map().value();
  std::uint32_t& last = mapping.as<std::uint32_t>()[0];
  last = 0;

  const hal::Semaphore done = device.create_semaphore().value();
  for (std::uint32_t i = 1; i <= kEach; ++i) {
    check(device.queue(hal::QueueKind::kCopy).fill(memory, i, 4, {}));
    check(device.queue().barrier({.signal = {{done, i}}}));
  }
  check(done.wait(kEach));
  // The update runs after the fills, so its write implies that the ends of the fills are stamped.
  const std::uint32_t end[] = {kEach + 1};
  check(device.queue(hal::QueueKind::kCopy).update(memory, 0, std::as_bytes(std::span(end)), {}));
  while (!is_there(last, end[0])) std::this_thread::yield();
  while (argv[2] == std::string_view("kill")) ::pause();
  if (argv[2] == std::string_view("exit")) {
    check(device.queue(hal::QueueKind::kCopy).wait_idle());
    check(device.queue().barrier({.wait = {{done, kEach + 1}}}));
    std::exit(0);
  }
}
