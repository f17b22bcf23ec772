# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The core of the simulated libraries, which each of them and halyard-sim compile. exit.cpp has what
# a process of the system needs, simulated_process.cpp what halyard-sim does.
set(HALYARD_SIM_GPU_SOURCES
  advice.cpp
  allocation.cpp
  array.cpp
  call.cpp
  capture.cpp
  context.cpp
  copy.cpp
  graph.cpp
  graph_debug.cpp
  graph_nodes.cpp
  graph_structure.cpp
  launch.cpp
  managed.cpp
  memory.cpp
  module.cpp
  module_operations.cpp
  options.cpp
  pointer.cpp
  pool.cpp
  process.cpp
  report.cpp
  stream.cpp
  stream_operations.cpp
  user_object.cpp
  virtual_memory.cpp
  work.cpp)
list(TRANSFORM HALYARD_SIM_GPU_SOURCES PREPEND ${CMAKE_CURRENT_LIST_DIR}/)
