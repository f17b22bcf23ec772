// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks of a driver that its own registry opens.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <initializer_list>
#include <string>

#include "hal/device/registry.h"
#include "halyard/halyard.h"

namespace halyard::testing {

// Each error of a URI names the driver.
inline void expect_refused(hal::DriverRegistry& registry, const std::string& driver,
                           std::initializer_list<const char*> invalid,
                           std::initializer_list<const char*> absent) {
  for (const char* uri : invalid) {
    const Status status = registry.open(uri).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << uri;
    EXPECT_EQ(status.message().find(driver + ": "), 0u) << status.message();
  }
  for (const char* uri : absent) {
    EXPECT_EQ(registry.open(uri).status().code(), StatusCode::kNotFound) << uri;
  }
}

// Closes two devices while work of theirs is in flight or will never run.
inline void expect_closes_with_nothing_left_behind(hal::DriverRegistry& registry,
                                                   const char* uri_of_two) {
  alignas(hal::Device::kImportAlignment) std::array<std::byte, 4096> bytes{};
  int released = 0;
  {
    const auto devices = registry.open_all(uri_of_two).value();
    const hal::Semaphore first = devices[0].create_semaphore().value();
    const hal::Semaphore never = devices[0].create_semaphore().value();
    const hal::Buffer target = devices[1].import_memory(bytes, [&] { ++released; }).value();
    check(devices[0].queue().fill(target, 1, 1, {.signal = {{first, 1}}}));
    check(devices[1].queue().fill(target, 2, 1, {.wait = {{first, 1}}}));
    check(devices[1].queue().fill(target, 3, 1, {.wait = {{never, 1}}}));
  }
  EXPECT_TRUE(registry.shutdown(std::chrono::seconds(60)).ok());
  EXPECT_EQ(released, 1);
  EXPECT_TRUE(std::ranges::all_of(bytes, [](std::byte byte) { return byte == std::byte{2}; }));
}

}  // namespace halyard::testing
