# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Which calls of the system the library uses: this file decides it, and docs/platforms.md describes it.
#
#   linux    Linux's own: futex(2), io_uring(7), memfd_create(2), /proc, processor affinity
#   posix    what POSIX, or several systems, have: HALYARD_POSIX. Built and tested on Linux
#   apple    the same, and where it has none Apple's own: always on macOS and iOS
#
# A source that differs has one file for each form: futex.cpp is Linux's, futex_posix.cpp and futex_apple.cpp are the
# others. A form without a file of its own takes the one before it in this list.

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

# halyard_system_sources(TARGET SOURCES...): adds the form of each source that this build takes. A source such as
# futex_table.cpp may lack Linux's form: then that build has none.
function(halyard_system_sources target)
  set(forms "")
  if(APPLE)
    list(APPEND forms _apple)
  endif()
  if(HALYARD_POSIX)
    list(APPEND forms _posix)
  endif()
  foreach(source IN LISTS ARGN)
    string(REGEX REPLACE "[.]cpp$" "" stem ${source})
    set(found FALSE)
    foreach(form IN ITEMS ${forms} "")
      if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${stem}${form}.cpp)
        target_sources(${target} PRIVATE ${stem}${form}.cpp)
        set(found TRUE)
        break()
      endif()
    endforeach()
    if(NOT found AND NOT EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${stem}_posix.cpp)
      message(FATAL_ERROR "No source ${source}")
    endif()
  endforeach()
endfunction()
