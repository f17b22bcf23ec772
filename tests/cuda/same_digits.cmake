# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Trains the digits on cpu:// and on another driver, and fails if the weights differ in a bit.
#
#   cmake -DPROGRAM=<digits> -DDRIVER=cuda|hip -DDEVICES=<the rest of the URI, after ://> -DFOLDER=<for the weights> -P same_digits.cmake
string(MAKE_C_IDENTIFIER "${PROGRAM} ${DEVICES}" name)
get_filename_component(name ${name} NAME)
set(on_cpu cpu://)
if(DEVICES MATCHES "devices=")
  set(on_cpu cpu://${DEVICES})
endif()
foreach(uri ${on_cpu} ${DRIVER}://${DEVICES})
  string(REGEX MATCH "^[a-z]+" driver ${uri})
  set(weights_${driver} ${FOLDER}/${name}_${driver}.npy)
  execute_process(COMMAND ${PROGRAM} --devices ${uri} --epochs 3 --quiet --save-weights ${weights_${driver}}
                  RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "on ${uri} (${result}):\n${output}")
  endif()
endforeach()
file(SHA256 ${weights_cpu} of_cpu)
file(SHA256 ${weights_${DRIVER}} of_it)
if(NOT of_cpu STREQUAL of_it)
  message(FATAL_ERROR "other weights: ${weights_cpu} and ${weights_${DRIVER}}")
endif()
