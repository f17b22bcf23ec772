// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// RawStreams: the calls of libcuda and libamdhip64 that N1 to N6 make directly. The two libraries
// differ in the names of the functions, and in the parameters of a kernel node.
#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "world.h"

namespace halyard::bench {

class RawStreams {
 public:
  using Stream = void*;
  using Event = void*;
  using Address = std::uint64_t;

  int (*launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Stream,
                void**, void**) = nullptr;
  int (*create_stream)(Stream*, unsigned) = nullptr;
  int (*create_event)(Event*, unsigned) = nullptr;
  int (*record)(Event, Stream) = nullptr;
  int (*query)(Event) = nullptr;
  int (*wait)(Stream, Event, unsigned) = nullptr;
  int (*create_graph)(void**, unsigned) = nullptr;
  int (*add_kernel)(void**, void*, const void* const*, std::size_t, const void*) = nullptr;
  int (*instantiate)(void**, void*, unsigned long long) = nullptr;
  int (*set_kernel)(void*, void*, const void*) = nullptr;
  int (*launch_graph)(void*, Stream) = nullptr;
  int (*allocate)(Address*, std::size_t) = nullptr;
  // The kernel of bench.hyk, and a word for it, so that only the way of submission differs.
  void* add = nullptr;
  Address word = 0;

  Stream stream() const {
    Stream made = nullptr;
    expect(create_stream(&made, 1 /* non-blocking */));
    return made;
  }
  Event event() const {
    Event made = nullptr;
    expect(create_event(&made, 2 /* without timing */));
    return made;
  }
  static void expect(int result) {
    if (result != 0) throw std::runtime_error("raw call: error " + std::to_string(result));
  }
  void put(Stream stream) const {
    Address address = word;
    std::uint32_t amount = 1;
    void* parameters[] = {&address, &amount};
    expect(launch(add, 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr));
  }

 protected:
  // The library that a variable of the environment names.
  explicit RawStreams(const char* variable) : library_(dlopen(std::getenv(variable), RTLD_NOW)) {
    if (library_ == nullptr) throw Unavailable(dlerror());
  }
  template <class F>
  void find(F& function, const char* name) {
    function = reinterpret_cast<F>(dlsym(library_, name));
    if (function == nullptr) throw Unavailable(std::string("the library has no ") + name);
  }

 private:
  void* library_;
};

}  // namespace halyard::bench
