# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Sets HALYARD_SIM_MSL_SOURCES, with absolute paths. Targets with them also need simulation/fiber.cpp
# and base/content_hash.cpp.
set(msl ${CMAKE_CURRENT_LIST_DIR})
# The texts of shim/ become strings of the library.
set(texts "// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception\n#include \"simulation/metal/msl/shim_texts.h\"\nnamespace halyard::inline v0::sim::msl {\n")
foreach(part IN ITEMS Traits:traits.h Vec:vec.h Math:math.h Host:host.h Simd:simd.h Matrix:matrix.h
                      Reflect:reflect.h Macros:macros.h Abi:abi.h Glue:glue.c)
  string(REPLACE ":" ";" part ${part})
  list(GET part 0 name)
  list(GET part 1 file)
  file(READ ${msl}/shim/${file} text)
  string(APPEND texts "constexpr std::string_view kText${name} = R\"halyard(${text})halyard\";\nconst std::string_view kShim${name} = kText${name};\n")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${msl}/shim/${file})
endforeach()
string(APPEND texts "}  // namespace halyard::inline v0::sim::msl\n")
file(GENERATE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/shim_texts.cpp CONTENT "${texts}")
set(HALYARD_SIM_MSL_SOURCES
  ${CMAKE_CURRENT_BINARY_DIR}/shim_texts.cpp
  ${msl}/compiler.cpp
  ${msl}/execute.cpp
  ${msl}/group.cpp
  ${msl}/group_calls.cpp
  ${msl}/kernel_source.cpp
  ${msl}/library.cpp
  ${msl}/memory_check.cpp
  ${msl}/race_check.cpp
  ${msl}/rewrite.cpp
  ${msl}/rewrite_functions.cpp
  ${msl}/rewrite_scopes.cpp
  ${msl}/tokens.cpp
  ${msl}/trap.cpp
  ${msl}/worker.cpp)
