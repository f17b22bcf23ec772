# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
set(HALYARD_SIM_DISPATCH_SOURCES
  ${CMAKE_CURRENT_LIST_DIR}/dispatch.mm
  ${CMAKE_CURRENT_LIST_DIR}/queue.cpp)
