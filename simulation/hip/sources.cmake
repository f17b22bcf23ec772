# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The sources of the simulated libamdhip64 beside the core.
set(HALYARD_SIM_HIP_SOURCES
  bugs.cpp
  call.cpp
  capture_calls.cpp
  code.cpp
  context.cpp
  copy_calls.cpp
  device.cpp
  entry_points.cpp
  errors.cpp
  event_calls.cpp
  fill_calls.cpp
  graph_calls.cpp
  graph_node_calls.cpp
  launch_calls.cpp
  library_calls.cpp
  memory_calls.cpp
  module_calls.cpp
  names.cpp
  node_work.cpp
  pool_calls.cpp
  properties.cpp
  refused.cpp
  registered.cpp
  rules.cpp
  settings.cpp
  stream_calls.cpp
  unsupported.cpp
  virtual_memory_calls.cpp)
list(TRANSFORM HALYARD_SIM_HIP_SOURCES PREPEND ${CMAKE_CURRENT_LIST_DIR}/)
# Sources that declare all exported functions, and so cannot be part of a unity build.
set(HALYARD_SIM_HIP_NAME_SOURCES ${CMAKE_CURRENT_LIST_DIR}/names.cpp
                                 ${CMAKE_CURRENT_LIST_DIR}/unsupported.cpp)
