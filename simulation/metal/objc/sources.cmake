# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The runtime; threads of the system or of halyard-sim come with os_threads.cpp or simulated_threads.cpp.
set(HALYARD_SIM_OBJC_SOURCES
  ${CMAKE_CURRENT_LIST_DIR}/arc.cpp
  ${CMAKE_CURRENT_LIST_DIR}/block.cpp
  ${CMAKE_CURRENT_LIST_DIR}/class.cpp
  ${CMAKE_CURRENT_LIST_DIR}/instance.cpp
  ${CMAKE_CURRENT_LIST_DIR}/message.S
  ${CMAKE_CURRENT_LIST_DIR}/pool.cpp
  ${CMAKE_CURRENT_LIST_DIR}/runtime_functions.cpp)
