# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Compiler options of the library, its tools and its tests. Nothing here reaches a consumer.

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)

option(HALYARD_WARNINGS_AS_ERRORS "Treat warnings as errors" ${PROJECT_IS_TOP_LEVEL})
set(HALYARD_SANITIZE "" CACHE STRING "Sanitizers for -fsanitize=, e.g. address,undefined")
set(sanitizer_link_options)
if(HALYARD_SANITIZE)
  set(sanitizer_link_options -fsanitize=${HALYARD_SANITIZE})
endif()
# Clang's ThreadSanitizer, if linked statically, keeps tests from replacing operator new.
if(HALYARD_SANITIZE MATCHES thread AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  execute_process(
    COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=libclang_rt.tsan-${CMAKE_SYSTEM_PROCESSOR}.so
    OUTPUT_VARIABLE runtime OUTPUT_STRIP_TRAILING_WHITESPACE)
  cmake_path(GET runtime PARENT_PATH runtime)
  list(APPEND sanitizer_link_options -shared-libsan LINKER:-rpath,${runtime})
endif()

# Off while sources of the library change often, by edits or planted faults.
option(HALYARD_UNITY_LIBRARY "Apply CMAKE_UNITY_BUILD to the library's sources too" ON)
if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(-Wno-subobject-linkage)  # g++ treats an included source as a header
endif()
option(HALYARD_PRECOMPILE "Precompile the headers that the library's sources include" OFF)
# Starting a process takes longer than most cases, especially with a sanitizer.
option(HALYARD_TEST_PROGRAMS "ctest runs whole test programs, not each case in a process" OFF)

# Warnings, sanitizers, C++23, for every target of this project, public or not. __FILE__ is relative to the root, so
# that ccache recognizes a source that was compiled in another folder, even in a unity build.
function(halyard_common_options target)
  set_target_properties(${target} PROPERTIES CXX_STANDARD 23 CXX_STANDARD_REQUIRED ON
                        CXX_EXTENSIONS OFF)
  target_compile_options(${target} PRIVATE -fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=
                         -Wall -Wextra -Wshadow -Wpedantic -Wnon-virtual-dtor
                         -Woverloaded-virtual $<$<BOOL:${HALYARD_WARNINGS_AS_ERRORS}>:-Werror>
                         # 0-length arrays and designated initializers are used knowingly
                         -Wno-missing-field-initializers)
  if(HALYARD_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${HALYARD_SANITIZE}
                           -fno-omit-frame-pointer -fno-sanitize-recover=all
                           -fno-sanitize=vptr  # the library has no RTTI
                           # AddressSanitizer detects what this does; a fifth of the time to compile
                           $<$<CXX_COMPILER_ID:Clang>:-fno-sanitize=object-size>)
    target_link_options(${target} PRIVATE ${sanitizer_link_options})
  endif()
endfunction()

# The library: no exceptions, no RTTI, hidden symbols; public headers need C++20 only.
function(halyard_library_options target)
  halyard_common_options(${target})
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON
                        CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
                        VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions -fno-rtti>)
  # Lets the linker drop functions that are neither exported nor called.
  target_compile_options(${target} PRIVATE -ffunction-sections -fdata-sections)
  if(BUILD_SHARED_LIBS)
    target_link_options(${target} PRIVATE LINKER:$<IF:$<PLATFORM_ID:Darwin,iOS>,-dead_strip,--gc-sections>)
  endif()
  if(NOT HALYARD_UNITY_LIBRARY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD OFF)
  endif()
  if(HALYARD_PRECOMPILE)
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)  # for ccache
    target_precompile_headers(${target} PRIVATE
      <algorithm> <array> <atomic> <cassert> <chrono> <cstdint> <cstring> <deque> <functional>
      <memory> <new> <optional> <span> <string> <string_view> <type_traits> <utility> <vector>
      <fmt/core.h>)
  endif()
  target_include_directories(${target}
      PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>
      PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${target} PUBLIC Threads::Threads
                        PRIVATE ${CMAKE_DL_LIBS})
  # Headers only: base/format.cpp contains the parts of fmt that the library needs.
  target_include_directories(${target} SYSTEM PRIVATE
    $<TARGET_PROPERTY:fmt::fmt,INTERFACE_INCLUDE_DIRECTORIES>)
endfunction()

# For sources with thousands of expectations, where optimisation takes minutes and gains nothing. With -O0 g++ gains
# little and warns of less; clang takes half the time.
function(halyard_expectation_options target)
  if(HALYARD_SANITIZE OR CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    target_compile_options(${target} PRIVATE -O0)
  else()
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release,RelWithDebInfo>:-O1>)
  endif()
endfunction()

# For sources that parse a command line with CLI11, a header-only library: optimisation takes ten to twenty seconds a
# source.
function(halyard_command_line_sources)
  set_source_files_properties(${ARGV} PROPERTIES COMPILE_OPTIONS -O0)
endfunction()

# halyard_test_cases(NAME [PREFIX of its tests' names] [SHARDS n] [PROPERTIES of its tests...]): registers the cases of
# a GoogleTest program with ctest, each in its own process. With HALYARD_TEST_PROGRAMS on it registers the program
# instead, in this many shards.
function(halyard_test_cases name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "PREFIX;SHARDS" PROPERTIES)
  if(NOT HALYARD_TEST_PROGRAMS)
    gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST TEST_PREFIX "${arg_PREFIX}"
                         PROPERTIES TIMEOUT 120 ${arg_PROPERTIES})
    return()
  endif()
  if(NOT arg_SHARDS)
    set(arg_SHARDS 1)
  endif()
  math(EXPR last "${arg_SHARDS} - 1")
  foreach(shard RANGE ${last})
    set(test program.${arg_PREFIX}${name}.${shard})
    add_test(NAME ${test} COMMAND ${name} --gtest_brief=1)
    set_tests_properties(${test} PROPERTIES TIMEOUT 600 ${arg_PROPERTIES})
    set_property(TEST ${test} APPEND PROPERTY ENVIRONMENT GTEST_TOTAL_SHARDS=${arg_SHARDS}
                 GTEST_SHARD_INDEX=${shard})
  endforeach()
endfunction()

# halyard_test(NAME sources... [LIBRARY instead of halyard] [arguments of halyard_test_cases]): adds a GoogleTest
# program, build/<preset>/bin/NAME.
function(halyard_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "PREFIX;SHARDS;LIBRARY" PROPERTIES)
  if(NOT arg_LIBRARY)
    set(arg_LIBRARY halyard)
  endif()
  add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
  halyard_common_options(${name})
  halyard_expectation_options(${name})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/src
                                             ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(${name} PRIVATE ${arg_LIBRARY} halyard_format GTest::gmock GTest::gtest_main)
  halyard_test_cases(${name} PREFIX "${arg_PREFIX}" SHARDS "${arg_SHARDS}"
                     PROPERTIES ${arg_PROPERTIES})
endfunction()
