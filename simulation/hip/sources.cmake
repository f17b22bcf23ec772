# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The sources of the simulated libamdhip64 beside the core.
file(GLOB HALYARD_SIM_HIP_SOURCES CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.cpp)
list(REMOVE_ITEM HALYARD_SIM_HIP_SOURCES ${CMAKE_CURRENT_LIST_DIR}/built_version.cpp)
# Those that declare all exported functions, and so are no part of a unity build.
set(HALYARD_SIM_HIP_NAME_SOURCES ${CMAKE_CURRENT_LIST_DIR}/names.cpp
                                 ${CMAKE_CURRENT_LIST_DIR}/unsupported.cpp)
