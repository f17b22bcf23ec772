# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Tests of the PTX executor, and of shipped kernels on it: those of test_kernel, on another device.
halyard_test(test_sim_ptx ptx_control_test.cpp ptx_float_test.cpp ptx_integer_test.cpp ptx_memory_test.cpp
             ptx_nvcc_test.cpp ptx_parse_test.cpp ptx_warp_test.cpp LIBRARY halyard_sim_ptx PREFIX sim_cuda.)
set_target_properties(test_sim_ptx PROPERTIES UNITY_BUILD OFF)
target_compile_definitions(test_sim_ptx PRIVATE
  HALYARD_PTX_NVCC="${CMAKE_CURRENT_SOURCE_DIR}/nvcc/kernels.ptx")
# Expectations compute in the host's rounding modes.
target_compile_options(test_sim_ptx PRIVATE -ffp-contract=off -frounding-math)

# Images as the driver loads them.
halyard_test(test_sim_cuda_images ptx_image_test.cpp LIBRARY halyard_sim_cuda PREFIX sim_cuda.)

if(NOT TARGET halyard_kernels OR HALYARD_SANITIZE MATCHES thread)
  return()
endif()
set(shipped ../kernel/shipped_generators_test.cpp ../kernel/shipped_kernels_test.cpp
    ../kernel/shipped_sort_and_hash_test.cpp ../kernel/shipped_tensor_kernels_test.cpp
    ../kernel/shipped_types_test.cpp ../kernel/tensor_packing_test.cpp)
halyard_test(test_sim_ptx_shipped ptx_conformance_test.cpp ptx_shipped_device.cpp ${shipped}
             PREFIX sim_cuda.ptx. SHARDS 2)
target_link_libraries(test_sim_ptx_shipped PRIVATE halyard_sim_ptx)
target_include_directories(test_sim_ptx_shipped SYSTEM PRIVATE
  $<TARGET_PROPERTY:fmt::fmt,INTERFACE_INCLUDE_DIRECTORIES>)
# The same with checks, which find nothing.
if(NOT HALYARD_SANITIZE)
  add_test(NAME sim_cuda.ptx.shipped_strict COMMAND test_sim_ptx_shipped --gtest_brief=1)
  set_tests_properties(sim_cuda.ptx.shipped_strict PROPERTIES TIMEOUT 300 ENVIRONMENT HALYARD_PTX_STRICT=1)
endif()
set(folder ${CMAKE_CURRENT_BINARY_DIR}/ptx)
target_compile_definitions(test_sim_ptx_shipped PRIVATE HALYARD_PTX_KERNELS_DIR="${folder}/kernels/")
get_target_property(kernels halyard_kernels HALYARD_KERNELS)
list(TRANSFORM kernels REPLACE ".*/(.*)\\.hyx$" "${PROJECT_SOURCE_DIR}/kernels/\\1.hyk")
block()
  set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${folder})
  halyard_add_kernels(test_sim_ptx_shipped ../kernel/tensors.hyk
                      ../../conformance/conformance.hyk ${kernels} TARGETS ptx-sm_80)
endblock()
