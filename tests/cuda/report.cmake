# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Runs a program on a simulated library and fails if it fails, or if the library's report has a misuse, a leak or a
# function that is not built.
#
#   cmake -DKIND=CUDA|HIP -DLIBRARY=<simulated library> -DMODE=<HALYARD_SIM_*_MODE> -DREPORT=<file> -P report.cmake -- \
#     <program> [arguments]
include(${CMAKE_CURRENT_LIST_DIR}/../command_line.cmake)  # sets `command`
file(REMOVE ${REPORT})
execute_process(
  COMMAND ${CMAKE_COMMAND} -E env HALYARD_SIM_${KIND}_MODE=${MODE} HALYARD_${KIND}_LIBRARY=${LIBRARY}
          HALYARD_SIM_${KIND}_REPORT=${REPORT} ${command}
  RESULT_VARIABLE result OUTPUT_VARIABLE output)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "failed (${result}):\n${output}")
endif()
file(STRINGS ${REPORT} lines)
set(found "")
foreach(line IN LISTS lines)
  if(line MATCHES "^(misuse|leak|unsupported) ")
    string(APPEND found "${line}\n")
  endif()
endforeach()
if(found)
  message(FATAL_ERROR "the report of the simulated library:\n${found}")
endif()
