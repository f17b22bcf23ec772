// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The least that a program outside Halyard does with it: C++20, with or without exceptions.
#include <halyard/base/result.h>
#include <halyard/base/status.h>

#include <cstdio>

namespace {

halyard::Result<int> half(int number) {
  if (number % 2 != 0) {
    return halyard::Status(halyard::StatusCode::kInvalidArgument, "half: the number is odd");
  }
  return number / 2;
}

}  // namespace

int main() {
  const halyard::Result<int> good = half(42);
  const halyard::Result<int> bad = half(7);
  if (!good.ok() || *good != 21) return 1;
  if (bad.status().code() != halyard::StatusCode::kInvalidArgument) return 1;
  std::printf("%s\n", bad.status().to_string().c_str());
  return 0;
}
