# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Sets HALYARD_SIM_METAL_SOURCES (C++) and HALYARD_SIM_METAL_OBJECTS (Objective-C++), with absolute
# paths. exit.cpp is not among them: halyard-sim has no end of the process.
set(framework ${CMAKE_CURRENT_LIST_DIR})
set(HALYARD_SIM_METAL_SOURCES
  ${framework}/command_buffer.cpp
  ${framework}/device.cpp
  ${framework}/event.cpp
  ${framework}/execute.cpp
  ${framework}/options.cpp
  ${framework}/pass.cpp
  ${framework}/process.cpp
  ${framework}/queue.cpp
  ${framework}/report.cpp
  ${framework}/resource.cpp)
set(HALYARD_SIM_METAL_OBJECTS
  ${framework}/argument_object.mm
  ${framework}/blit_object.mm
  ${framework}/buffer_object.mm
  ${framework}/compiler_object.mm
  ${framework}/compute_object.mm
  ${framework}/descriptors.mm
  ${framework}/device_object.mm
  ${framework}/devices.mm
  ${framework}/event_object.mm
  ${framework}/library_object.mm
  ${framework}/queue_object.mm
  ${framework}/reflection_object.mm
  ${framework}/residency_object.mm
  ${framework}/support.mm)
