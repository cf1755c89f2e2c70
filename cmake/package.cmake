# What ships, and how it is installed:
#   libgyre.so            all layers, the command line among them           gyre_library()
#   bin/gyre              main(), which calls it                            gyre_program()
#   include/gyre/         the public headers and generated ones; in internal/ those of src/ that they include
#   lib/cmake/Gyre/       find_package(Gyre) -> Gyre::gyre
#   lib/pkgconfig/gyre.pc
#   share/doc/gyre/       LICENSE, NOTICE
# Nothing in them names a folder of the machine that built them.
#
# One shared library, because there must be one registry of ops in a process: a plug-in adds to the
# one that the program reads, whether that program is bin/gyre, one of C++ or another language's
# interpreter, which shows its modules' symbols to nobody.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(CMAKE_BUILD_RPATH_USE_ORIGIN ON)
set(GYRE_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/Gyre)
# Before 1.0 each minor version may change the interface, and with it the library's name.
set(GYRE_SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
set_source_files_properties(${CMAKE_SOURCE_DIR}/src/ops/plugin.cc PROPERTIES
  COMPILE_DEFINITIONS "GYRE_LIBRARY=\"libgyre.so.${GYRE_SOVERSION}\"")
# What code that includes the headers calls by itself. Debian's packages of these names, in CMake's
# and in pkg-config's spelling.
set(GYRE_ABSL_PACKAGES status statusor strings str_format flat_hash_map flat_hash_set inlined_vector
    span)

# The library gyre_library: of all layers that there are so far.
function(gyre_library)
  set(objects "")
  set(dependencies "")
  foreach(layer IN LISTS GYRE_LAYERS)
    list(APPEND objects $<TARGET_OBJECTS:gyre_${layer}>)
    if(TARGET gyre_${layer}_proto)
      list(APPEND objects $<TARGET_OBJECTS:gyre_${layer}_proto>)
    endif()
  endforeach()
  set(symbols ${CMAKE_SOURCE_DIR}/cmake/exported.map)
  add_library(gyre_library SHARED ${objects})
  set_target_properties(gyre_library PROPERTIES
    OUTPUT_NAME gyre EXPORT_NAME gyre VERSION ${PROJECT_VERSION} SOVERSION ${GYRE_SOVERSION}
    LINK_DEPENDS ${symbols} LINKER_LANGUAGE CXX LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
  # Functions call each other directly; what must be one in the whole process (types, inline
  # variables) is still found by name.
  target_link_options(gyre_library PRIVATE
    -Wl,--version-script=${symbols} -Wl,-Bsymbolic-functions)
  target_link_libraries(gyre_library PRIVATE
    gyre::absl gyre::protobuf gyre::highway gyre::onednn gyre::re2 ${CMAKE_DL_LIBS})
  target_include_directories(gyre_library INTERFACE
    $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include> $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/src>
    $<BUILD_INTERFACE:${GYRE_GENERATED_DIR}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(gyre_library INTERFACE $<BUILD_INTERFACE:gyre::absl>)
  foreach(package IN LISTS GYRE_ABSL_PACKAGES)
    target_link_libraries(gyre_library INTERFACE $<INSTALL_INTERFACE:absl::${package}>)
  endforeach()
  target_compile_features(gyre_library INTERFACE cxx_std_20)
endfunction()

# Everything that `cmake --install` puts below its prefix.
function(gyre_install)
  cmake_path(RELATIVE_PATH CMAKE_INSTALL_FULL_LIBDIR BASE_DIRECTORY ${CMAKE_INSTALL_FULL_BINDIR}
             OUTPUT_VARIABLE lib_from_bin)
  set_target_properties(gyre PROPERTIES INSTALL_RPATH $ORIGIN/${lib_from_bin})
  install(TARGETS gyre RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(TARGETS gyre_library EXPORT GyreTargets DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(EXPORT GyreTargets NAMESPACE Gyre:: DESTINATION ${GYRE_PACKAGE_DIR})

  set(made ${CMAKE_BINARY_DIR}/package)
  configure_package_config_file(cmake/GyreConfig.cmake.in ${made}/GyreConfig.cmake
    INSTALL_DESTINATION ${GYRE_PACKAGE_DIR} NO_SET_AND_CHECK_MACRO)
  write_basic_package_version_file(${made}/GyreConfigVersion.cmake
    COMPATIBILITY SameMinorVersion)
  install(FILES ${made}/GyreConfig.cmake ${made}/GyreConfigVersion.cmake
          DESTINATION ${GYRE_PACKAGE_DIR})

  set(pkgconfig_dir ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig)
  cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX BASE_DIRECTORY ${pkgconfig_dir}
             OUTPUT_VARIABLE GYRE_PREFIX_FROM_PC)
  list(TRANSFORM GYRE_ABSL_PACKAGES PREPEND absl_ OUTPUT_VARIABLE requires)
  list(JOIN requires " " GYRE_PC_REQUIRES)
  configure_file(cmake/gyre.pc.in ${made}/gyre.pc @ONLY)
  install(FILES LICENSE NOTICE DESTINATION ${CMAKE_INSTALL_DOCDIR})
  install(FILES ${made}/gyre.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

  install(CODE "
    set(GYRE_SOURCE_DIR \"${CMAKE_SOURCE_DIR}\")
    set(GYRE_HEADERS_GENERATED \"${GYRE_GENERATED_DIR}/gyre/ops.h\"
                               \"${GYRE_GENERATED_DIR}/gyre/functions.h\")
    set(GYRE_HEADERS_DIR \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_INCLUDEDIR}\")")
  install(SCRIPT ${CMAKE_SOURCE_DIR}/cmake/install_headers.cmake)
endfunction()
