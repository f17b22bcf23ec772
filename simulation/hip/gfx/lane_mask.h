// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Collects a bit of each lane in a mask.
#pragma once

#include <cstdint>

#include "simulation/hip/gfx/lane_operation.h"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

// The instruction set of the host that a source is compiled for.
#ifndef HALYARD_GFX_ISA
#define HALYARD_GFX_ISA isa_base
#endif

namespace halyard::inline v0::sim::gfx::HALYARD_GFX_ISA {

// Bit l of the result is the top bit of values[l].
inline std::uint32_t mask_of(const std::uint32_t (&values)[kLanes]) {
  std::uint32_t mask = 0;
#if defined(__AVX2__)
  for (unsigned i = 0; i < 4; ++i) {
    const __m256i row = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(values + 8 * i));
    mask |= static_cast<std::uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(row))) << (8 * i);
  }
#elif defined(__SSE2__)
  for (unsigned i = 0; i < 8; ++i) {
    const __m128i row = _mm_loadu_si128(reinterpret_cast<const __m128i*>(values + 4 * i));
    mask |= static_cast<std::uint32_t>(_mm_movemask_ps(_mm_castsi128_ps(row))) << (4 * i);
  }
#else
  for (unsigned lane = 0; lane < kLanes; ++lane) mask |= (values[lane] >> 31) << lane;
#endif
  return mask;
}

}  // namespace halyard::inline v0::sim::gfx::HALYARD_GFX_ISA
