# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Selects the system calls that the library uses; docs/platforms.md describes the choices.
#
#   linux    Linux's own: futex(2), io_uring(7), memfd_create(2), /proc, processor affinity
#   posix    calls of POSIX, or of several systems: HALYARD_POSIX. Built and tested on Linux
#   apple    as posix, and Apple's own calls where POSIX has none: always on macOS and iOS
#
# A source that differs between systems has a file for each form: futex.cpp is for Linux, futex_posix.cpp and
# futex_apple.cpp are the others. A form without its own file uses the file of the previous form in this list.

if(APPLE)
  set(HALYARD_POSIX ON)
else()
  option(HALYARD_POSIX "Use POSIX's calls instead of Linux's own, as on Apple's systems" OFF)
endif()
set(HALYARD_PAGE_SIZE 0 CACHE STRING
    "With HALYARD_POSIX: the least size of a page, e.g. 16384, as Apple's processors have; 0 is the system's")
if(HALYARD_POSIX)
  add_compile_definitions(HALYARD_POSIX=1)
elseif(NOT HALYARD_PAGE_SIZE EQUAL 0)
  message(FATAL_ERROR "HALYARD_PAGE_SIZE needs HALYARD_POSIX")
endif()

# halyard_system_forms(VARIABLE SOURCES...): sets the variable to the form of each source that this build uses, as
# absolute paths. A source without a form for Linux, such as futex_table.cpp, is not part of that build.
function(halyard_system_forms variable)
  set(forms "")
  if(APPLE)
    list(APPEND forms _apple)
  endif()
  if(HALYARD_POSIX)
    list(APPEND forms _posix)
  endif()
  set(found "")
  foreach(source IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH source NORMALIZE OUTPUT_VARIABLE path)
    string(REGEX REPLACE "[.]cpp$" "" stem ${path})
    if(NOT EXISTS ${path} AND NOT EXISTS ${stem}_posix.cpp)
      message(FATAL_ERROR "No source ${source}")
    endif()
    foreach(form IN ITEMS ${forms} "")
      if(EXISTS ${stem}${form}.cpp)
        list(APPEND found ${stem}${form}.cpp)
        break()
      endif()
    endforeach()
  endforeach()
  set(${variable} ${found} PARENT_SCOPE)
endfunction()

# halyard_system_sources(TARGET SOURCES...): adds these forms to a target.
function(halyard_system_sources target)
  halyard_system_forms(sources ${ARGN})
  target_sources(${target} PRIVATE ${sources})
endfunction()

# Apple's frameworks that the metal driver calls, as a target; nothing elsewhere. Newer symbols are looked up, so that
# the library also runs on systems without them.
add_library(halyard_apple_frameworks INTERFACE)
if(APPLE)
  foreach(framework IN ITEMS Metal Foundation CoreGraphics)
    if(framework STREQUAL "CoreGraphics" AND CMAKE_SYSTEM_NAME STREQUAL "iOS")
      continue()  # MTLCreateSystemDefaultDevice() needs it to be linked on macOS only
    endif()
    target_link_libraries(halyard_apple_frameworks INTERFACE "-framework ${framework}")
  endforeach()
endif()

# Threads, time, futexes and native calls, for programs that do not link the library and compile these sources.
set(HALYARD_THREAD_SOURCES clock futex futex_table native_call thread thread_name timed_condition)
list(TRANSFORM HALYARD_THREAD_SOURCES REPLACE "(.+)" "${PROJECT_SOURCE_DIR}/src/base/\\1.cpp")
halyard_system_forms(HALYARD_THREAD_SOURCES ${HALYARD_THREAD_SOURCES})
