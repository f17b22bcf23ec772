# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
include_guard()
find_package(Threads REQUIRED)

# halyard_interpreter(TARGET PREFIX lane sources...): completes a library that executes kernels lane by lane. Lanes are
# computed by loops that the compiler vectorises: once for every processor of the architecture, in a namespace
# PREFIX_ISA, and once for x86-64-v3, which is chosen where the processor has it (PREFIX_HAS_V3).
function(halyard_interpreter library prefix)
  set(targets ${library})
  set(instruction_sets base)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    list(APPEND instruction_sets v3)
    target_compile_definitions(${library} PRIVATE ${prefix}_HAS_V3=1)
  endif()
  foreach(name IN LISTS instruction_sets)
    set(lanes ${library}_${name})
    add_library(${lanes} OBJECT EXCLUDE_FROM_ALL ${ARGN})
    target_compile_definitions(${lanes} PRIVATE ${prefix}_ISA=isa_${name})
    if(name STREQUAL "v3")
      target_compile_options(${lanes} PRIVATE -mavx2 -mfma -mbmi -mbmi2 -mlzcnt -mpopcnt)
    endif()
    target_sources(${library} PRIVATE $<TARGET_OBJECTS:${lanes}>)
    list(APPEND targets ${lanes})
  endforeach()
  foreach(target IN LISTS targets)
    halyard_common_options(${target})
    # Sources have names in common: lower_move, multiply, ...
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON UNITY_BUILD OFF)
    target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/src)
    # mul and add stay two operations.
    target_compile_options(${target} PRIVATE -ffp-contract=off)
  endforeach()
  target_link_libraries(${library} PUBLIC Threads::Threads)
endfunction()
