// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An external program that computes with the installed kernels, without naming their folder.
#include <halyard/async.h>

#include <cstdio>
#include <vector>

int main() {
  namespace async = halyard::async;
  halyard::Result<async::Runtime> runtime = async::Runtime::open("cpu://");
  if (!runtime.ok()) {
    std::fprintf(stderr, "%s\n", runtime.status().to_string().c_str());
    return 1;
  }
  const halyard::Result<std::vector<float>> sum = async::sync_wait(
      async::as_result(
          async::to_host(async::add(async::full<float>({3}, 40.f), async::arange<float>(3)))),
      *runtime);
  if (!sum.ok()) {
    std::fprintf(stderr, "%s\n", sum.status().to_string().c_str());
    return 1;
  }
  std::printf("%g\n", (*sum)[2]);
  return *sum == std::vector{40.f, 41.f, 42.f} ? 0 : 1;
}
