# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The driver on the simulated libamdhip64, which checks these programs: no misuse and no leak.
set(library $<TARGET_FILE:halyard_sim_hip>)
function(hip_report_of name mode)
  add_test(NAME hip.report_of_${name} ${deep}
           COMMAND ${CMAKE_COMMAND} -DKIND=HIP -DLIBRARY=${library} -DMODE=${mode}
                   -DREPORT=${CMAKE_CURRENT_BINARY_DIR}/report_${name}.txt
                   -P ${CMAKE_CURRENT_SOURCE_DIR}/../cuda/report.cmake -- ${ARGN})
  set_tests_properties(hip.report_of_${name} PROPERTIES TIMEOUT 300)
endfunction()
function(hip_conformance name mode uri)
  hip_report_of(conformance_${name} ${mode} $<TARGET_FILE:halyard_tool> verify --device ${uri} ${ARGN})
endfunction()
if(TARGET halyard_conformance)
  # Four devices on two GPUs.
  hip_conformance(strict strict hip://?devices=4)
  # A seed chooses among the behaviours that HIP permits.
  hip_conformance(adversarial adversarial hip://?devices=4 --filter !stress.*)
  hip_conformance(adversarial_event_graph adversarial
                  hip://?devices=2&completion_mode=event&command_buffer_mode=graph --filter !stress.*)
  hip_conformance(apart strict hip://?devices=2&peers=0)
  hip_conformance(event strict hip://?devices=2&completion_mode=event)
  hip_conformance(host_callback strict hip://?devices=2&completion_mode=host_callback)
  hip_conformance(async_allocations strict hip://?devices=2&async_allocations=1)
  hip_conformance(managed strict hip://?devices=2&host_visible=managed)
  # Recordings in either form from the first replay on.
  foreach(mode graph stream)
    hip_conformance(${mode} strict hip://?devices=2&command_buffer_mode=${mode})
  endforeach()
  hip_conformance(checked strict hip://?devices=2&check=1)
  # With devices of other drivers in the same process.
  hip_conformance(beside_cpu strict cpu://?workers=1,hip://0)
  if(TARGET halyard_sim_cuda AND HALYARD_DRIVER_CUDA)
    hip_conformance(beside_cuda strict cuda://0,hip://0,cpu://?workers=1 --filter !stress.*)
    set_tests_properties(hip.report_of_conformance_beside_cuda PROPERTIES
                         ENVIRONMENT HALYARD_CUDA_LIBRARY=$<TARGET_FILE:halyard_sim_cuda>)
  endif()
  # HIP 5.6 and 6.3.
  foreach(version 5 6)
    set(library $<TARGET_FILE_DIR:halyard_sim_hip>/libamdhip64.so.${version})
    hip_conformance(of_hip_${version} strict hip://?devices=2 --filter !stress.*)
  endforeach()
  set(library $<TARGET_FILE:halyard_sim_hip>)
  set(deep CONFIGURATIONS deep)
  foreach(mode completion_mode=host_callback completion_mode=event completion_mode=flag command_buffer_mode=graph
          command_buffer_mode=stream async_allocations=1 peers=0)
    string(MAKE_C_IDENTIFIER ${mode} name)
    hip_conformance(deep_${name} adversarial hip://?devices=2&${mode})
  endforeach()
  unset(deep)
endif()

# The tests of async that do not depend on the driver.
if(TARGET test_async)
  hip_report_of(async strict ${CMAKE_COMMAND} -E env HALYARD_TEST_DEVICES=hip://?devices=2
                $<TARGET_FILE:test_async> --gtest_brief=1
                --gtest_filter=-AsyncDlpack.*:AsyncRuntime.HasTheDevicesOfItsUri:*EndOfItsScopeCancelsItsTasks)
endif()

# The digits, trained to the same weights as on the CPU, bit for bit.
if(HALYARD_BUILD_EXAMPLES AND TARGET halyard_tool)
  foreach(program digits digits-hal)
    foreach(devices 0 ?devices=2)
      set(name ${program}_on_hip://${devices})
      add_test(NAME ${name}
               COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:${program}> -DDRIVER=hip -DDEVICES=${devices}
                       -DFOLDER=${CMAKE_CURRENT_BINARY_DIR}
                       -P ${CMAKE_CURRENT_SOURCE_DIR}/../cuda/same_digits.cmake)
      set_tests_properties(${name} PROPERTIES TIMEOUT 300
                           ENVIRONMENT HALYARD_HIP_LIBRARY=$<TARGET_FILE:halyard_sim_hip>)
    endforeach()
  endforeach()
endif()
