# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Configures the project in add_kernels/ with kernel files that exist and that do not, and compares the errors.
# usage: cmake -DBUILD=<folder> -DGENERATOR=<name> -P add_kernels.cmake
cmake_minimum_required(VERSION 3.22)
set(source ${CMAKE_CURRENT_LIST_DIR}/add_kernels)

# Expects the words `expected` in the error of a call with the kernel files ARGN; no error if they are empty.
function(expect expected)
  file(REMOVE_RECURSE ${BUILD})
  execute_process(
    COMMAND ${CMAKE_COMMAND} -S ${source} -B ${BUILD} -G ${GENERATOR} "-DKERNELS=${ARGN}"
    RESULT_VARIABLE result OUTPUT_QUIET ERROR_VARIABLE error)
  string(REGEX REPLACE "[ \n]+" " " error "${error}")  # cmake breaks the lines
  string(FIND "${error}" "${expected}" at)
  if(expected STREQUAL "" AND NOT result EQUAL 0)
    message(SEND_ERROR "'${ARGN}' is refused: ${error}")
  elseif(NOT expected STREQUAL "" AND (result EQUAL 0 OR at EQUAL -1))
    message(SEND_ERROR "'${ARGN}': expected \"${expected}\", got (${result}): ${error}")
  endif()
endfunction()

expect("" square.hyk)
expect("" ${source}/square.hyk)
expect("" ${BUILD}/generated.hyk)
expect("halyard_add_kernels(app): no kernel files")
expect("halyard_add_kernels(app): no kernel file 'sqare.hyk' in ${source}" square.hyk sqare.hyk)
expect("halyard_add_kernels(app): no kernel file 'square.hyk' in ${source}/kernels" kernels/square.hyk)
expect("halyard_add_kernels(app): no kernel file 'square.hyk' in /nowhere" /nowhere/square.hyk)
expect("halyard_add_kernels(app): 'CMakeLists.txt' is not named as a kernel file: .hyk, .cu, .cl, .comp or .metal"
       CMakeLists.txt)
expect("halyard_add_kernels(app): no manifest 'square.json' in ${source}" square.hyk MANIFEST square.json)
expect("halyard_add_kernels(app): two kernel files would become square.hyx" square.hyk ${source}/square.hyk)

# Expects the options of the compiler for square.hyk in a configuration `type`, after a call with ARGN.
function(expect_options expected type)
  file(REMOVE_RECURSE ${BUILD})
  execute_process(
    COMMAND ${CMAKE_COMMAND} -S ${source} -B ${BUILD} -G ${GENERATOR} -DCMAKE_BUILD_TYPE=${type} "-DKERNELS=${ARGN}"
    RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_QUIET)
  file(GLOB stamp ${BUILD}/CMakeFiles/square-*.options)
  file(READ ${stamp} options)
  string(STRIP "${options}" options)
  if(NOT result EQUAL 0 OR NOT options STREQUAL expected)
    message(SEND_ERROR "'${ARGN}', ${type}: expected the options '${expected}', got (${result}): '${options}'")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

expect_options("" Debug square.hyk)
expect_options("--checked-cpu" Release square.hyk CHECKED)
expect_options("--checked-cpu" Debug square.hyk "$<$<CONFIG:Debug>:CHECKED>")
expect_options("" Release square.hyk "$<$<CONFIG:Debug>:CHECKED>")
expect_options("--target;default;--target;spirv-1.5  --checked-cpu" Debug
               square.hyk TARGETS default spirv-1.5 "$<$<CONFIG:Debug>:CHECKED>")
if(NOT output MATCHES "halyard_add_kernels\\(app\\): CHECKED is for CPUs: the images for spirv-1.5 have no checks")
  message(SEND_ERROR "CHECKED does not say what it leaves out: ${output}")
endif()
