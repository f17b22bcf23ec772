# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# For scripts that run a program: sets `command` to the arguments after "--" in their command line.
set(command "")
set(found OFF)
math(EXPR last "${CMAKE_ARGC} - 1")
foreach(i RANGE ${last})
  if(found)
    list(APPEND command "${CMAKE_ARGV${i}}")
  elseif(CMAKE_ARGV${i} STREQUAL "--")
    set(found ON)
  endif()
endforeach()
