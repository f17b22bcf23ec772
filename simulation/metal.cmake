# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The simulated Metal framework once more, with Objective-C's runtime, Foundation and dispatch, under the scheduler of
# halyard-sim, and the metal driver over it. Objects, because the runtime finds classes that no symbol refers to.
enable_language(ASM C)
include(metal/objc/sources.cmake)
include(metal/dispatch/sources.cmake)
include(metal/foundation/sources.cmake)
include(metal/msl/sources.cmake)
include(metal/framework/sources.cmake)
set(system_sources ${HALYARD_SIM_OBJC_SOURCES} ${HALYARD_SIM_FOUNDATION_SOURCES} ${HALYARD_SIM_DISPATCH_SOURCES}
                   metal/objc/simulated_threads.cpp)
set(framework_sources ${HALYARD_SIM_MSL_SOURCES} ${HALYARD_SIM_METAL_SOURCES} ${HALYARD_SIM_METAL_OBJECTS})
add_library(halyard_simulated_objc OBJECT ${system_sources})
add_library(halyard_simulated_metal OBJECT ${framework_sources})
set_target_properties(halyard_simulated_objc PROPERTIES UNITY_BUILD OFF)
foreach(library halyard_simulated_objc halyard_simulated_metal)
  get_target_property(objective_cpp ${library} SOURCES)
  list(FILTER objective_cpp INCLUDE REGEX "\\.mm$")
  halyard_common_options(${library})
  halyard_objective_cpp(${library} ${objective_cpp})
  set_property(SOURCE ${objective_cpp} APPEND PROPERTY COMPILE_OPTIONS
    # Methods of Metal that are not simulated are absent.
    -Wno-protocol -Wno-objc-protocol-property-synthesis -Wno-objc-protocol-method-implementation
    -Wno-incomplete-implementation -Wno-atomic-property-with-user-defined-accessor -Wno-nullability-completeness
    -Wno-missing-designated-field-initializers -Wno-unused-parameter)
  target_compile_definitions(${library} PRIVATE HALYARD_SIMULATION=1)
  target_compile_options(${library} PRIVATE -UNDEBUG $<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions -fno-rtti>)
  target_include_directories(${library} PRIVATE
    ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src metal/include)
  target_sources(halyard_simulated INTERFACE $<TARGET_OBJECTS:${library}>)
endforeach()
# Arrays of the ABI without a length.
target_compile_options(halyard_simulated_objc PRIVATE -Wno-pedantic)
get_target_property(driver halyard_simulated SOURCES)
list(FILTER driver INCLUDE REGEX "/src/drivers/metal/")
halyard_objective_cpp(halyard_simulated ${driver})
target_sources(halyard_simulated INTERFACE $<TARGET_OBJECTS:halyard_objc_image>)
target_link_libraries(halyard_simulated PUBLIC ${CMAKE_DL_LIBS})
