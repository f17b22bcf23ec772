# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The files that `cmake --install` places under a prefix: the library, its headers, the halyard command, compiled
# kernels, documents, examples, and the packages for CMake and pkg-config. All paths inside are relative, so the prefix
# can be moved.

option(HALYARD_INSTALL "Install rules" ${PROJECT_IS_TOP_LEVEL})
if(NOT HALYARD_INSTALL)
  return()
endif()
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/halyard)
set(kernels_dir ${CMAKE_INSTALL_DATADIR}/halyard/kernels)

install(TARGETS halyard EXPORT halyard
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
set(absent "")  # defined by drivers that are not in this build
if(NOT HALYARD_DRIVER_CPU)
  set(absent REGEX "/halyard/hcq/cpu[.]h$" EXCLUDE)
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN *.h ${absent})
# As in the repository, so that the links between documents and examples hold.
install(FILES CONTRIBUTING.md LICENSE README.md SECURITY.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs examples DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY kernels DESTINATION ${CMAKE_INSTALL_DOCDIR}
        FILES_MATCHING REGEX "[.](hyk|h)$")
foreach(source IN ITEMS src/kernel/device_abi.h src/hcq/command_list.h src/drivers/cpu/hcq_device.cpp)
  cmake_path(GET source PARENT_PATH folder)
  install(FILES ${source} DESTINATION ${CMAKE_INSTALL_DOCDIR}/${folder})
endforeach()
file(RELATIVE_PATH docs_to_include ${CMAKE_INSTALL_FULL_DOCDIR} ${CMAKE_INSTALL_FULL_INCLUDEDIR})
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/installed-docs)
file(CREATE_LINK ${docs_to_include} ${PROJECT_BINARY_DIR}/installed-docs/include SYMBOLIC)
install(FILES ${PROJECT_BINARY_DIR}/installed-docs/include DESTINATION ${CMAKE_INSTALL_DOCDIR})

if(TARGET halyard_tool)
  file(RELATIVE_PATH bin_to_lib /${CMAKE_INSTALL_BINDIR} /${CMAKE_INSTALL_LIBDIR})
  set_target_properties(halyard_tool PROPERTIES EXPORT_NAME tool INSTALL_RPATH $ORIGIN/${bin_to_lib})
  install(TARGETS halyard_tool EXPORT halyard RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(FILES $<TARGET_PROPERTY:halyard_kernels,HALYARD_KERNELS>
          DESTINATION ${kernels_dir})
endif()

install(EXPORT halyard NAMESPACE halyard:: FILE halyard-targets.cmake DESTINATION ${package_dir})
configure_package_config_file(
  ${CMAKE_CURRENT_LIST_DIR}/halyard-config.cmake.in ${PROJECT_BINARY_DIR}/halyard-config.cmake
  INSTALL_DESTINATION ${package_dir} PATH_VARS kernels_dir NO_SET_AND_CHECK_MACRO)
# Before 1.0 a new minor version may change the interface.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/halyard-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/halyard-config.cmake
              ${PROJECT_BINARY_DIR}/halyard-config-version.cmake
              ${CMAKE_CURRENT_LIST_DIR}/HalyardKernels.cmake
        DESTINATION ${package_dir} OPTIONAL)

# The link line of a static library names its dependencies; a shared library links them itself.
if(BUILD_SHARED_LIBS)
  set(pc_dependencies "")
else()
  set(pc_dependencies " -pthread -ldl")
endif()
file(RELATIVE_PATH pc_prefix /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
configure_file(${CMAKE_CURRENT_LIST_DIR}/halyard.pc.in ${PROJECT_BINARY_DIR}/halyard.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/halyard.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
