#version 460
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fills [target, target + size) with the 4 bytes of `pattern`, from its first byte on.
#extension GL_GOOGLE_include_directive : require
#include "block.glsl"

void main() {
  const uvec2 target = block.target;
  const uvec2 end = plus(target, block.size);
  // The pattern, rotated to the alignment of a word.
  const uint turn = 8u * (target.x & 3u);
  const uint pattern = block.pattern;
  const uint word = turn == 0u ? pattern : (pattern << turn) | (pattern >> (32u - turn));
  for (uvec2 at = first_quad(target); less(at, end); at = plus(at, stride())) {
    const bool whole = !less(at, target) && !less(end, plus(at, 16u));
    if (whole) Quad(at).value = uvec4(word);
    for (uint i = whole ? 16u : 0u; i < 16u; ++i) {
      const uvec2 to = plus(at, i);
      if (!less(to, target) && less(to, end)) Byte(to).value = uint8_t(word >> (8u * (i & 3u)));
    }
  }
}
