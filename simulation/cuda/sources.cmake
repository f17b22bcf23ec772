# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The sources of the simulated libcuda, which halyard-sim compiles too.
set(HALYARD_SIM_CUDA_SOURCES
  advice.cpp
  array.cpp
  attribute_calls.cpp
  call.cpp
  capture.cpp
  context.cpp
  copy_calls.cpp
  decompress.cpp
  device.cpp
  entry_points.cpp
  graph.cpp
  graph_calls.cpp
  graph_debug.cpp
  graph_node_calls.cpp
  image.cpp
  launch.cpp
  managed.cpp
  memory.cpp
  memory_calls.cpp
  module.cpp
  module_calls.cpp
  names.cpp
  options.cpp
  pointer.cpp
  pool.cpp
  process.cpp
  report.cpp
  stream.cpp
  stream_calls.cpp
  unsupported.cpp
  user_object.cpp
  virtual_memory.cpp
  work.cpp)
list(TRANSFORM HALYARD_SIM_CUDA_SOURCES PREPEND ${CMAKE_CURRENT_LIST_DIR}/)
