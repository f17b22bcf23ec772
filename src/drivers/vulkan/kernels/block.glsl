// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Common code of the driver's own kernels: the argument block (BuiltinBlock in builtin_kernels.h),
// and addresses as two words, since devices may lack shaderInt64.
//
// An invocation works on 16 bytes at a multiple of 16 of the target's address, and then advances by
// the whole grid. Bytes at the ends of the target are stored one by one, since another command may
// write other bytes of the same word.
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require
#extension GL_EXT_shader_8bit_storage : require

layout(local_size_x = 64) in;

layout(buffer_reference, std430, buffer_reference_align = 16) buffer Quad {
  uvec4 value;
};
layout(buffer_reference, std430, buffer_reference_align = 4) buffer Word {
  uint value;
};
layout(buffer_reference, std430, buffer_reference_align = 1) buffer Byte {
  uint8_t value;
};
layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Block {
  uvec2 target;
  uvec2 source;
  uvec2 size;
  uint pattern;
};
layout(push_constant) uniform Push {
  Block block;
};

uvec2 plus(uvec2 a, uvec2 b) {
  uint carry;
  const uint low = uaddCarry(a.x, b.x, carry);
  return uvec2(low, a.y + b.y + carry);
}
uvec2 plus(uvec2 a, uint b) {
  return plus(a, uvec2(b, 0u));
}
uvec2 minus(uvec2 a, uvec2 b) {
  uint borrow;
  const uint low = usubBorrow(a.x, b.x, borrow);
  return uvec2(low, a.y - b.y - borrow);
}
bool less(uvec2 a, uvec2 b) {
  return a.y < b.y || (a.y == b.y && a.x < b.x);
}

// The first position of this invocation, and its stride.
uvec2 first_quad(uvec2 target) {
  return plus(uvec2(target.x & ~15u, target.y), gl_GlobalInvocationID.x * 16u);
}
uint stride() {
  return gl_NumWorkGroups.x * gl_WorkGroupSize.x * 16u;
}
