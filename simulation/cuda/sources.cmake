# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The sources of the simulated libcuda beside the core, which halyard-sim compiles too.
set(HALYARD_SIM_CUDA_SOURCES
  advice_calls.cpp
  array_calls.cpp
  attribute_calls.cpp
  capture_calls.cpp
  code.cpp
  context.cpp
  copy_calls.cpp
  decompress.cpp
  device.cpp
  entry_points.cpp
  graph_calls.cpp
  graph_debug_calls.cpp
  graph_node_calls.cpp
  graph_params.cpp
  image.cpp
  launch_calls.cpp
  memory_calls.cpp
  module_calls.cpp
  names.cpp
  pointer_calls.cpp
  pool_calls.cpp
  rules.cpp
  stream_calls.cpp
  unsupported.cpp
  user_object_calls.cpp
  virtual_memory_calls.cpp)
list(TRANSFORM HALYARD_SIM_CUDA_SOURCES PREPEND ${CMAKE_CURRENT_LIST_DIR}/)
