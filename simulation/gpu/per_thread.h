// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The second form of functions that take a stream: for them stream 0 is the calling thread's
// stream.
#pragma once

#include <cstddef>
#include <tuple>

#include "simulation/gpu/call.h"

namespace halyard::inline v0::sim::gpu {

// While this exists, stream 0 is the calling thread's stream.
class PerThreadScope {
 public:
  PerThreadScope() { this_thread().uses_per_thread_stream = true; }
  ~PerThreadScope() { this_thread().uses_per_thread_stream = false; }
  PerThreadScope(const PerThreadScope&) = delete;
  PerThreadScope& operator=(const PerThreadScope&) = delete;
};

template <class Function>
struct Parameters;
template <class... P>
struct Parameters<Result (*)(P...)> {
  template <std::size_t kIndex>
  using At = std::tuple_element_t<kIndex, std::tuple<P...>>;
};
template <auto kFunction, std::size_t kIndex>
using ParameterOf = typename Parameters<decltype(kFunction)>::template At<kIndex>;

#define HALYARD_GPU_P(name, index) ParameterOf<&name, index> p##index
#define HALYARD_GPU_P1(name) HALYARD_GPU_P(name, 0)
#define HALYARD_GPU_P2(name) HALYARD_GPU_P1(name), HALYARD_GPU_P(name, 1)
#define HALYARD_GPU_P3(name) HALYARD_GPU_P2(name), HALYARD_GPU_P(name, 2)
#define HALYARD_GPU_P4(name) HALYARD_GPU_P3(name), HALYARD_GPU_P(name, 3)
#define HALYARD_GPU_P5(name) HALYARD_GPU_P4(name), HALYARD_GPU_P(name, 4)
#define HALYARD_GPU_P6(name) HALYARD_GPU_P5(name), HALYARD_GPU_P(name, 5)
#define HALYARD_GPU_P7(name) HALYARD_GPU_P6(name), HALYARD_GPU_P(name, 6)
#define HALYARD_GPU_P10(name) \
  HALYARD_GPU_P7(name), HALYARD_GPU_P(name, 7), HALYARD_GPU_P(name, 8), HALYARD_GPU_P(name, 9)
#define HALYARD_GPU_P11(name) HALYARD_GPU_P10(name), HALYARD_GPU_P(name, 10)
#define HALYARD_GPU_A1 p0
#define HALYARD_GPU_A2 HALYARD_GPU_A1, p1
#define HALYARD_GPU_A3 HALYARD_GPU_A2, p2
#define HALYARD_GPU_A4 HALYARD_GPU_A3, p3
#define HALYARD_GPU_A5 HALYARD_GPU_A4, p4
#define HALYARD_GPU_A6 HALYARD_GPU_A5, p5
#define HALYARD_GPU_A7 HALYARD_GPU_A6, p6
#define HALYARD_GPU_A10 HALYARD_GPU_A7, p7, p8, p9
#define HALYARD_GPU_A11 HALYARD_GPU_A10, p10

// Exports name with the suffix _ptsz or _ptds.
#define HALYARD_GPU_PER_THREAD(name, suffix, arity)                    \
  HALYARD_GPU_EXPORT Result name##suffix(HALYARD_GPU_P##arity(name)) { \
    const PerThreadScope scope;                                        \
    return name(HALYARD_GPU_A##arity);                                 \
  }

}  // namespace halyard::inline v0::sim::gpu
