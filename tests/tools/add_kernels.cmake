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
