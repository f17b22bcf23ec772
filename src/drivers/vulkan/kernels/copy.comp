#version 460
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies `size` bytes from source to target, which begin at any address and do not overlap.
#extension GL_GOOGLE_include_directive : require
#include "block.glsl"

uint word_at(uvec2 address) {
  return Word(address).value;
}

void main() {
  const uvec2 target = block.target;
  const uvec2 source = block.source;
  const uvec2 end = plus(target, block.size);
  const uvec2 source_end = plus(source, block.size);
  const uvec2 to_source = minus(source, target);
  const uint skip = to_source.x & 3u;  // the same for all multiples of 4
  for (uvec2 at = first_quad(target); less(at, end); at = plus(at, stride())) {
    const uvec2 from = plus(at, to_source);
    const uvec2 words = minus(from, uvec2(skip, 0u));
    // If source and target have different alignments, five words hold the 16 bytes. Words at the
    // source's ends also contain bytes outside of it.
    const bool whole = !less(at, target) && !less(end, plus(at, 16u)) &&
                       (skip == 0u || (!less(words, source) && !less(source_end, plus(words, 20u))));
    if (whole) {
      uvec4 value = uvec4(word_at(words), word_at(plus(words, 4u)), word_at(plus(words, 8u)),
                          word_at(plus(words, 12u)));
      if (skip != 0u) {
        const uvec4 next = uvec4(value.yzw, word_at(plus(words, 16u)));
        value = (value >> (8u * skip)) | (next << (32u - 8u * skip));
      }
      Quad(at).value = value;
    }
    for (uint i = whole ? 16u : 0u; i < 16u; ++i) {
      const uvec2 to = plus(at, i);
      if (!less(to, target) && less(to, end)) Byte(to).value = Byte(plus(to, to_source)).value;
    }
  }
}
