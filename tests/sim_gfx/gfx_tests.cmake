# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Tests of the executor of AMD code objects, and of shipped kernels on it: those of test_kernel, on another device.
halyard_test(test_sim_gfx gfx_access_test.cpp gfx_checks_test.cpp gfx_cross_lane_test.cpp gfx_float_test.cpp
             gfx_half_test.cpp
             gfx_lanes_test.cpp gfx_scalar_test.cpp
             LIBRARY halyard_sim_gfx PREFIX sim_hip.)
set_target_properties(test_sim_gfx PROPERTIES UNITY_BUILD OFF)
target_compile_options(test_sim_gfx PRIVATE -ffp-contract=off)
find_program(HALYARD_LLVM_MC NAMES llvm-mc-19)
find_program(HALYARD_LD_LLD NAMES ld.lld-19 ld.lld)
target_compile_definitions(test_sim_gfx PRIVATE HALYARD_LLVM_MC="${HALYARD_LLVM_MC}"
                           HALYARD_LD_LLD="${HALYARD_LD_LLD}")

if(NOT TARGET halyard_kernels OR HALYARD_SANITIZE MATCHES thread)
  return()
endif()
set(shipped ../kernel/shipped_generators_test.cpp ../kernel/shipped_kernels_test.cpp
    ../kernel/shipped_sort_and_hash_test.cpp ../kernel/shipped_tensor_kernels_test.cpp
    ../kernel/shipped_types_test.cpp ../kernel/tensor_packing_test.cpp)
halyard_test(test_sim_gfx_shipped gfx_shipped_device.cpp ${shipped} PREFIX sim_hip.gfx. SHARDS 2)
target_link_libraries(test_sim_gfx_shipped PRIVATE halyard_sim_gfx)
target_include_directories(test_sim_gfx_shipped SYSTEM PRIVATE
  $<TARGET_PROPERTY:fmt::fmt,INTERFACE_INCLUDE_DIRECTORIES>)
# The same with checks, which find nothing.
if(NOT HALYARD_SANITIZE)
  add_test(NAME sim_hip.gfx.shipped_strict COMMAND test_sim_gfx_shipped --gtest_brief=1)
  set_tests_properties(sim_hip.gfx.shipped_strict PROPERTIES TIMEOUT 600 ENVIRONMENT HALYARD_GFX_STRICT=1)
endif()
set(folder ${CMAKE_CURRENT_BINARY_DIR}/gfx)
target_compile_definitions(test_sim_gfx_shipped PRIVATE HALYARD_GFX_KERNELS_DIR="${folder}/kernels/")
get_target_property(kernels halyard_kernels HALYARD_KERNELS)
list(TRANSFORM kernels REPLACE ".*/(.*)\\.hyx$" "${PROJECT_SOURCE_DIR}/kernels/\\1.hyk")
block()
  set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${folder})
  halyard_add_kernels(test_sim_gfx_shipped ../kernel/tensors.hyk ${kernels} TARGETS hsaco-gfx1100)
endblock()
