#include <metal_stdlib>
using namespace metal;
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
struct hy_bindings_0 {
  device const float* hy_p_x [[id(0)]];
  device float* hy_p_y [[id(1)]];
};
struct hy_constants_0 {
  float hy_k0;
  uint hy_k1;
};
#line 6 "saxpy.hyk"
[[max_total_threads_per_threadgroup(256)]]
kernel void saxpy(constant hy_bindings_0& hy_b [[buffer(0)]], constant hy_constants_0& hy_c [[buffer(1)]], uint3 hy_local [[thread_position_in_threadgroup]], uint3 hy_group [[threadgroup_position_in_grid]], uint3 hy_groups [[threadgroups_per_grid]]) {
  device const float* const hy_p_x = hy_b.hy_p_x;
  device float* const hy_p_y = hy_b.hy_p_y;
#line 8 "saxpy.hyk"
  {
    uint hy_u_hy_x = hy_local.x;
#line 8 "saxpy.hyk"
    if ((hy_c.hy_k1 > 0u) && (((hy_group.x * 256u) + hy_u_hy_x) < hy_c.hy_k1)) {
#line 8 "saxpy.hyk"
      hy_p_y[(hy_group.x * 256u) + hy_u_hy_x] = (hy_c.hy_k0 * hy_p_x[(hy_group.x * 256u) + hy_u_hy_x]) + hy_p_y[(hy_group.x * 256u) + hy_u_hy_x];
    }
  }
  metal::threadgroup_barrier(metal::mem_flags::mem_threadgroup);
}
