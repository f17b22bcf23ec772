struct X_0
{
    float data[1];
};

struct P_0
{
    float a;
};

struct spvDescriptorSetBuffer0_0
{
    device X_0* y [[id(0)]];
    device X_0* x [[id(1)]];
};

static inline __attribute___0((always_inline))
float f_0(float _26)
{
    return spvFMul_0(_26, 2.0);
}

kernel void first(constant spvDescriptorSetBuffer0_0& spvDescriptorSet0 [[buffer(0)]], constant P_0& _5 [[buffer(1)]], uint3 gl_GlobalInvocationID [[thread_position_in_grid]])
{
    (*spvDescriptorSet0.x).data[gl_GlobalInvocationID.x] = f_0((*spvDescriptorSet0.y).data[gl_GlobalInvocationID.x] + _5.a);
}

#pragma clang diagnostic ignored "-Wmissing-prototypes"

#include <metal_stdlib>
#include <simd/simd.h>

using namespace metal;

template<typename T>
[[clang::optnone]] T spvFMul_1(T l, T r)
{
    return fma(l, r, T(0));
}

template<typename T, int Cols, int Rows>
[[clang::optnone]] vec<T, Cols> spvFMulVectorMatrix_1(vec<T, struct X_1
{
    float data[1];
};

struct P_1
{
    float a;
};

struct spvDescriptorSetBuffer0_1
{
    device X_1* y [[id(0)]];
    device X_1* x [[id(1)]];
};

static inline __attribute___1((always_inline))
float f_1(float _26)
{
    return spvFMul_1(_26, 2.0);
}

kernel void second(constant uint4& hy_unused [[buffer(1)]], constant spvDescriptorSetBuffer0_1& spvDescriptorSet0 [[buffer(0)]], uint3 gl_GlobalInvocationID [[thread_position_in_grid]])
{
    (*spvDescriptorSet0.y).data[gl_GlobalInvocationID.x] = f_1((*spvDescriptorSet0.y).data[gl_GlobalInvocationID.x]);
}

