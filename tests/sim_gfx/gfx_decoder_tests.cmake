# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Tests of the reader of AMD code objects: the decoder against LLVM's assembler, if it is installed, and the loader
# with the shipped kernels.
find_program(HALYARD_LLVM_MC NAMES llvm-mc-19)
find_program(HALYARD_LD_LLD NAMES ld.lld-19 ld.lld)
halyard_test(test_sim_gfx_decode gfx_decode_test.cpp gfx_relative_move_test.cpp llvm_mc.cpp random_words.cpp
             LIBRARY halyard_sim_gfx PREFIX sim_hip.)
set_target_properties(test_sim_gfx_decode PROPERTIES UNITY_BUILD OFF)
target_compile_definitions(test_sim_gfx_decode PRIVATE HALYARD_LLVM_MC="${HALYARD_LLVM_MC}"
                           HALYARD_LD_LLD="${HALYARD_LD_LLD}")

if(NOT TARGET halyard_kernels)
  return()
endif()
halyard_test(test_sim_gfx_images gfx_code_object_test.cpp llvm_mc.cpp LIBRARY halyard_sim_gfx PREFIX sim_hip.)
set_target_properties(test_sim_gfx_images PROPERTIES UNITY_BUILD OFF)
set(folder ${CMAKE_CURRENT_BINARY_DIR}/gfx_images)
target_compile_definitions(test_sim_gfx_images PRIVATE HALYARD_LLVM_MC="${HALYARD_LLVM_MC}"
                           HALYARD_LD_LLD="${HALYARD_LD_LLD}" HALYARD_GFX_IMAGES_DIR="${folder}/kernels/")
get_target_property(kernels halyard_kernels HALYARD_KERNELS)
list(TRANSFORM kernels REPLACE ".*/(.*)\\.hyx$" "${PROJECT_SOURCE_DIR}/kernels/\\1.hyk")
block()
  set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${folder})
  halyard_add_kernels(test_sim_gfx_images ../kernel/tensors.hyk ${kernels} TARGETS hsaco-gfx1100)
endblock()
