# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# halyard_add_kernels(<target> <file>... [TARGETS <name>...] [MANIFEST <file.json>] [CHECKED])
#
# Compiles each kernel file (.hyk; .cu, .cl, .comp or .metal) to <file>.hyx with `halyard compile`, as part of building
# <target>. Creates <target>, built by default, if it does not exist. TARGETS are targets of the kernel compiler, as in
# `halyard compile --target`, by default the compiler's. MANIFEST describes the kernels of files other than .hyk.
# CHECKED makes the images for CPUs checked builds (`halyard compile --checked-cpu`); it does not affect other images.
# It may depend on the configuration: $<$<CONFIG:Debug>:CHECKED>.
# A kernel file or manifest that does not exist is an error of the call, unless a command above generates it; so is a
# kernel file with another ending.
#
# The results are in the folder `kernels` beside the programs: ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/kernels if that is
# set, otherwise ${CMAKE_CURRENT_BINARY_DIR}/kernels. The property HALYARD_KERNELS of <target> lists their paths. A
# kernel file is compiled again if it, a file that it includes, the options or the compiler have changed; with
# HALYARD_KERNELS_ONCE a changed compiler is ignored.

# Stops unless the file exists or is generated. `what` is its kind, for the message.
function(_halyard_require_file target what path)
  get_source_file_property(generated ${path} GENERATED)
  if(generated OR (EXISTS ${path} AND NOT IS_DIRECTORY ${path}))
    return()
  endif()
  get_filename_component(name ${path} NAME)
  get_filename_component(folder ${path} DIRECTORY)
  message(FATAL_ERROR "halyard_add_kernels(${target}): no ${what} '${name}' in ${folder}")
endfunction()

function(halyard_add_kernels target)
  set(checked "")
  set(arguments ${ARGN})
  foreach(argument IN LISTS arguments)
    if(argument MATCHES "^\\$<.*CHECKED")  # by a generator expression, wherever it is
      list(REMOVE_ITEM arguments "${argument}")
      string(REPLACE CHECKED --checked-cpu checked "${argument}")
    endif()
  endforeach()
  cmake_parse_arguments(arg CHECKED MANIFEST TARGETS ${arguments})
  if(arg_CHECKED)
    set(checked --checked-cpu)
  endif()
  if(NOT arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "halyard_add_kernels(${target}): no kernel files")
  endif()
  if(TARGET halyard_tool)
    set(tool halyard_tool)
  elseif(TARGET halyard::tool)
    set(tool halyard::tool)
  else()
    message(FATAL_ERROR "halyard_add_kernels(${target}): this Halyard was built without its tools")
  endif()

  set(directory ${CMAKE_CURRENT_BINARY_DIR}/kernels)
  if(CMAKE_RUNTIME_OUTPUT_DIRECTORY)
    set(directory ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/kernels)
  endif()
  file(MAKE_DIRECTORY ${directory})
  set(options "")
  foreach(name IN LISTS arg_TARGETS)
    list(APPEND options --target ${name})
  endforeach()
  set(others ${arg_TARGETS})
  list(FILTER others EXCLUDE REGEX "^(default|x86-64.*|aarch64)$")
  if(checked AND others)
    list(JOIN others ", " others)
    message(STATUS
      "halyard_add_kernels(${target}): CHECKED is for CPUs: the images for ${others} have no checks")
  endif()
  get_property(many_configurations GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)

  set(compiler ${tool})
  if(HALYARD_KERNELS_ONCE)
    set(compiler "")
  endif()
  set(outputs "")
  if(arg_MANIFEST)
    get_filename_component(path ${arg_MANIFEST} ABSOLUTE)
    _halyard_require_file(${target} manifest ${path})
  endif()
  foreach(source IN LISTS arg_UNPARSED_ARGUMENTS)
    get_filename_component(path ${source} ABSOLUTE)
    if(NOT path MATCHES "[.](hyk|cu|cl|comp|metal)$")
      message(FATAL_ERROR
        "halyard_add_kernels(${target}): '${source}' is not named as a kernel file: .hyk, .cu, .cl, .comp or .metal")
    endif()
    _halyard_require_file(${target} "kernel file" ${path})
    get_filename_component(name ${source} NAME_WE)
    set(output ${directory}/${name}.hyx)
    if(output IN_LIST outputs)
      message(FATAL_ERROR "halyard_add_kernels(${target}): two kernel files would become ${name}.hyx")
    endif()
    set(manifest "")
    if(arg_MANIFEST AND NOT path MATCHES "[.]hyk$")
      get_filename_component(manifest ${arg_MANIFEST} ABSOLUTE)
      set(manifest --manifest ${manifest})
    endif()
    # Changes with the options: makefiles do not depend on their commands.
    string(MD5 folder ${directory})
    string(SUBSTRING ${folder} 0 8 folder)
    set(stamp ${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/${name}-${folder}.options)
    if(many_configurations)
      string(APPEND stamp .$<CONFIG>)
    endif()
    file(GENERATE OUTPUT ${stamp} CONTENT "${options} ${manifest} ${checked}\n")
    add_custom_command(
      OUTPUT ${output}
      COMMAND $<TARGET_FILE:${tool}> compile ${path} -o ${output} --depfile ${output}.d
              ${options} ${manifest} "${checked}"
      DEPENDS ${path} ${compiler} ${stamp}
      DEPFILE ${output}.d
      COMMENT "Compiling kernels ${name}.hyx"
      COMMAND_EXPAND_LISTS
      VERBATIM)
    list(APPEND outputs ${output})
  endforeach()

  if(TARGET ${target})
    # A unique name for each call, short for any number of files.
    string(MD5 files "${outputs}")
    string(SUBSTRING ${files} 0 8 files)
    set(step ${target}_kernels_${files})
    add_custom_target(${step} DEPENDS ${outputs})
    add_dependencies(${target} ${step})
  else()
    add_custom_target(${target} ALL DEPENDS ${outputs})
  endif()
  set_property(TARGET ${target} APPEND PROPERTY HALYARD_KERNELS ${outputs})
endfunction()
