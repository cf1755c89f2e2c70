# The Python module gyre._gyre, of src/python: one for all versions of Python from 3.11 on (abi3).
# nanobind's own library comes with the package nanobind-backend. gyre_python()
#
# Where things lie: the module beside the package's Python files, libgyre.so and libgyre_grpc.so
# beside the module, descriptors of messages beside gyre/_impl/proto/messages.py (installed), or all
# in the build's lib folder (built).
option(GYRE_PYTHON "Build the Python module (needs nanobind)" OFF)

function(gyre_python)
  find_package(Python 3.11 REQUIRED COMPONENTS Interpreter Development.Module)
  execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir
                  OUTPUT_VARIABLE nanobind_ROOT OUTPUT_STRIP_TRAILING_WHITESPACE
                  COMMAND_ERROR_IS_FATAL ANY)
  find_package(nanobind CONFIG REQUIRED)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/python/*.cc)
  nanobind_add_module(gyre_python BACKEND_MODULE nanobind_backend STABLE_ABI_VERSION 3.11
                      NB_SUPPRESS_WARNINGS NOMINSIZE ${sources})
  target_link_libraries(gyre_python PRIVATE gyre_library)
  set(symbols ${CMAKE_SOURCE_DIR}/cmake/python.map)
  target_link_options(gyre_python PRIVATE -Wl,--version-script=${symbols}
                      -Wl,--wrap=__gxx_personality_v0)  # src/python/thread_exit.cc
  target_compile_definitions(gyre_python PRIVATE GYRE_VERSION="${PROJECT_VERSION}")
  set_target_properties(gyre_python PROPERTIES
    LINK_DEPENDS ${symbols} OUTPUT_NAME _gyre LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib
    BUILD_RPATH $ORIGIN INSTALL_RPATH $ORIGIN)
  # In a wheel: all beside the package's files.
  install(TARGETS gyre_python LIBRARY DESTINATION gyre COMPONENT python EXCLUDE_FROM_ALL)
  install(FILES $<TARGET_FILE:gyre_library> DESTINATION gyre COMPONENT python EXCLUDE_FROM_ALL
          RENAME $<TARGET_SONAME_FILE_NAME:gyre_library>)
  gyre_python_messages(${CMAKE_BINARY_DIR}/lib/messages.binpb)
  # libgyre.so looks for it beside itself.
  add_dependencies(gyre_python gyre_grpc)
  if(TARGET gyre_codegen)
    add_dependencies(gyre_python gyre_codegen)  # which the module opens when a loop is hot
  endif()
  install(TARGETS gyre_grpc LIBRARY DESTINATION gyre COMPONENT python EXCLUDE_FROM_ALL)
  if(SKBUILD)
    gyre_python_stubs()
    return()
  endif()
  # For development, Python finds it in the source tree; the loader looks for libgyre.so there, too.
  set(package ${CMAKE_SOURCE_DIR}/python/gyre)
  add_custom_command(TARGET gyre_python POST_BUILD
    COMMAND ${CMAKE_COMMAND} -E create_symlink
            $<TARGET_FILE:gyre_python> ${package}/$<TARGET_FILE_NAME:gyre_python>
    COMMAND ${CMAKE_COMMAND} -E create_symlink
            $<TARGET_FILE:gyre_library> ${package}/$<TARGET_SONAME_FILE_NAME:gyre_library>)
  add_custom_command(TARGET gyre_python_messages POST_BUILD
    COMMAND ${CMAKE_COMMAND} -E create_symlink
            ${CMAKE_BINARY_DIR}/lib/messages.binpb ${package}/_impl/proto/messages.binpb)
endfunction()

# The descriptors of all messages that programs hold, with their comments, in one file: a
# FileDescriptorSet.
function(gyre_python_messages file)
  file(GLOB protos CONFIGURE_DEPENDS
       ${CMAKE_SOURCE_DIR}/src/wire/*.proto ${CMAKE_SOURCE_DIR}/src/python/wire/*.proto)
  add_custom_command(
    OUTPUT ${file}
    COMMAND protobuf::protoc --proto_path=${CMAKE_SOURCE_DIR}/src --include_imports --include_source_info
            --descriptor_set_out=${file} ${protos}
    DEPENDS ${protos} COMMENT "protoc messages.binpb" VERBATIM)
  add_custom_target(gyre_python_messages DEPENDS ${file})
  add_dependencies(gyre_python gyre_python_messages)
  install(FILES ${file} DESTINATION gyre/_impl/proto COMPONENT python EXCLUDE_FROM_ALL)
  # Beside the package: where KERAS_BACKEND=gyre is set, Keras finds the backend in any program.
  install(FILES ${CMAKE_SOURCE_DIR}/python/gyre_keras.pth DESTINATION . COMPONENT python
          EXCLUDE_FROM_ALL)
endfunction()

# Stubs of the public names, in a wheel beside its modules: made by the module itself, from a copy
# of the package in which it can be imported.
function(gyre_python_stubs)
  set(package ${CMAKE_BINARY_DIR}/package)
  set(stubs ${CMAKE_BINARY_DIR}/stubs)
  add_custom_command(TARGET gyre_python POST_BUILD
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${package} ${stubs}
    COMMAND ${CMAKE_COMMAND} -E copy_directory ${CMAKE_SOURCE_DIR}/python/gyre ${package}/gyre
    COMMAND ${CMAKE_COMMAND} -E rm -f ${package}/gyre/$<TARGET_FILE_NAME:gyre_python>
            ${package}/gyre/$<TARGET_SONAME_FILE_NAME:gyre_library>
            ${package}/gyre/_impl/proto/messages.binpb  # links of ./dev python
    COMMAND ${CMAKE_COMMAND} -E copy $<TARGET_FILE:gyre_python> ${package}/gyre
    COMMAND ${CMAKE_COMMAND} -E copy $<TARGET_FILE:gyre_library>
            ${package}/gyre/$<TARGET_SONAME_FILE_NAME:gyre_library>
    COMMAND ${CMAKE_COMMAND} -E copy
            ${CMAKE_BINARY_DIR}/lib/messages.binpb ${package}/gyre/_impl/proto
    COMMAND ${CMAKE_COMMAND} -E env PYTHONPATH=${package} ${Python_EXECUTABLE}
            ${CMAKE_SOURCE_DIR}/python/tools/make_stubs.py --beside ${stubs}
    VERBATIM)
  install(DIRECTORY ${stubs}/ DESTINATION gyre COMPONENT python EXCLUDE_FROM_ALL)
endfunction()
