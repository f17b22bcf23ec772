# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The simulated libcuda and libamdhip64 once more, under the scheduler of halyard-sim, over one core. A function may
# have a weak definition and another one, so they are not in an archive: the linker would take the first that it finds.
include(gpu/sources.cmake)
include(cuda/sources.cmake)
include(hip/sources.cmake)
add_library(halyard_simulated_cuda OBJECT ${HALYARD_SIM_GPU_SOURCES} ${HALYARD_SIM_CUDA_SOURCES}
            gpu/simulated_process.cpp)
add_library(halyard_simulated_hip OBJECT ${HALYARD_SIM_HIP_SOURCES} hip/built_version.cpp)
target_compile_definitions(halyard_simulated_hip PRIVATE HALYARD_SIM_HIP_BUILT_VERSION=715)
set_source_files_properties(${CMAKE_CURRENT_SOURCE_DIR}/cuda/names.cpp
                            ${CMAKE_CURRENT_SOURCE_DIR}/cuda/unsupported.cpp
                            ${HALYARD_SIM_HIP_NAME_SOURCES}
                            PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
foreach(library halyard_simulated_cuda halyard_simulated_hip)
  halyard_common_options(${library})
  set_target_properties(${library} PROPERTIES CXX_VISIBILITY_PRESET hidden
                        VISIBILITY_INLINES_HIDDEN ON)
  target_compile_definitions(${library} PRIVATE HALYARD_SIMULATION=1)
  target_compile_options(${library}
                         PRIVATE -UNDEBUG $<$<CXX_COMPILER_ID:Clang>:-fno-sanitize=function>)
  target_include_directories(${library} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include
                                                ${PROJECT_SOURCE_DIR}/src)
  target_sources(halyard_simulated INTERFACE $<TARGET_OBJECTS:${library}>)
endforeach()
target_link_libraries(halyard_simulated PUBLIC halyard_sim_ptx halyard_sim_gfx)
