# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Runs a program on Vulkan's validation layer, with synchronization validation, and fails on any message.
#
#   cmake -DFOLDER=<of the layer's settings and messages> -DLIBRARY=<the loader of tests/vulkan> -P validate.cmake -- \
#     <program> [arguments]
#
# If the layer is not installed it writes no file. Then this prints "skipped: ...", and the test is skipped.
include(${CMAKE_CURRENT_LIST_DIR}/../command_line.cmake)  # sets `command`

set(messages ${FOLDER}/messages.txt)
file(REMOVE_RECURSE ${FOLDER})
file(MAKE_DIRECTORY ${FOLDER})
file(WRITE ${FOLDER}/vk_layer_settings.txt
"khronos_validation.enables = VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT
khronos_validation.report_flags = error,warn
khronos_validation.debug_action = VK_DBG_LAYER_ACTION_LOG_MSG
khronos_validation.log_filename = ${messages}
khronos_validation.enable_message_limit = true
khronos_validation.duplicate_message_limit = 3
")
# Serialized: see fake_vulkan.h.
execute_process(
  COMMAND ${CMAKE_COMMAND} -E env VK_INSTANCE_LAYERS=VK_LAYER_KHRONOS_validation
          VK_LAYER_SETTINGS_PATH=${FOLDER} HALYARD_VULKAN_LIBRARY=${LIBRARY}
          HALYARD_FAKE_VULKAN=serialized,gpu ${command}
  RESULT_VARIABLE result)
if(NOT EXISTS ${messages})
  set(absent "the validation layer wrote nothing; it is in vulkan-validationlayers")
  if(DEFINED ENV{HALYARD_REQUIRE_VULKAN})
    message(FATAL_ERROR "failed: ${absent}")
  endif()
  message("skipped: ${absent}")
  return()
endif()
file(READ ${messages} text LIMIT 20000)
if(NOT text STREQUAL "")
  message(FATAL_ERROR "failed: the validation layer says:\n${text}")
elseif(NOT result EQUAL 0)
  message(FATAL_ERROR "failed: the program ended with ${result}")
endif()
message("no message of the validation layer")
