// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The limit of B19: the same kernel from a shared object, called by a thread.
#include <dlfcn.h>

#include <thread>

int main(int, char** arguments) {
  struct Workgroup {
    std::size_t group[3], count[3];
  };
  void* const image = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
  if (image == nullptr) return 1;
  const auto increment = reinterpret_cast<void (*)(const Workgroup*, void* const*, const void*)>(
      dlsym(image, "increment"));
  if (increment == nullptr) return 1;
  unsigned x = 41;
  std::thread([&] {
    const Workgroup only{{0, 0, 0}, {1, 1, 1}};
    void* const buffers[] = {&x};
    increment(&only, buffers, nullptr);
  }).join();
  return x == 42 ? 0 : 1;
}
