# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Objective-C++, for the metal driver and, on systems other than Apple's, its simulated framework.
#
# Outside of Apple's systems only clang generates code for Apple's Objective-C ABI, so another compiler may compile the
# C++ sources. Both use the same C++ library.
#
# halyard_objective_cpp(TARGET sources...): compiles these sources of the target with the options of the library.
include_guard(GLOBAL)

if(NOT APPLE AND NOT CMAKE_OBJCXX_COMPILER)
  find_program(HALYARD_OBJCXX_COMPILER NAMES clang++-19 clang++ REQUIRED)
  mark_as_advanced(HALYARD_OBJCXX_COMPILER)
  set(CMAKE_OBJCXX_COMPILER ${HALYARD_OBJCXX_COMPILER})
endif()
set(HALYARD_PCH_PROLOGUE "${CMAKE_PCH_PROLOGUE}")
enable_language(OBJCXX)
# One variable for all languages: precompiled headers are those of C++.
set(CMAKE_PCH_PROLOGUE "${HALYARD_PCH_PROLOGUE}")

set(HALYARD_OBJCXX_OPTIONS -fno-objc-arc -fblocks -fno-exceptions -fno-objc-exceptions -fno-rtti
    -Wno-unknown-warning-option)
if(NOT APPLE)
  list(APPEND HALYARD_OBJCXX_OPTIONS -fobjc-runtime=macosx-13)
endif()

function(halyard_objective_cpp target)
  set_target_properties(${target} PROPERTIES OBJCXX_STANDARD 23 OBJCXX_STANDARD_REQUIRED ON OBJCXX_EXTENSIONS OFF
                        OBJCXX_VISIBILITY_PRESET hidden)
  set_property(SOURCE ${ARGN} TARGET_DIRECTORY ${target} APPEND PROPERTY COMPILE_OPTIONS ${HALYARD_OBJCXX_OPTIONS})
  set_source_files_properties(${ARGN} TARGET_DIRECTORY ${target} PROPERTIES
                              SKIP_PRECOMPILE_HEADERS ON SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()
