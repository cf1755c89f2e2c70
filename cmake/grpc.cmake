# libgyre_grpc.so, of src/cluster/grpc: control links over gRPC. A library of its own, loaded by
# cluster/grpc_library.cc when a cluster or a worker asks for it: gRPC brings some fifty libraries.
# gyre_grpc()

# gRPC, with protobuf, which its headers need.
find_library(GYRE_GRPC grpc++ REQUIRED)
set(GYRE_GRPC_NAME libgyre_grpc.so.${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
set_source_files_properties(${CMAKE_SOURCE_DIR}/src/cluster/grpc_library.cc PROPERTIES
  COMPILE_DEFINITIONS "GYRE_GRPC_LIBRARY=\"${GYRE_GRPC_NAME}\"")

function(gyre_grpc)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/cluster/grpc/*.cc)
  add_library(gyre_grpc MODULE ${sources})
  set_target_properties(gyre_grpc PROPERTIES PREFIX "" SUFFIX "" OUTPUT_NAME ${GYRE_GRPC_NAME}
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib CXX_VISIBILITY_PRESET hidden)
  target_include_directories(gyre_grpc PRIVATE ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(gyre_grpc PRIVATE ${GYRE_GRPC} grpc gpr gyre::protobuf gyre::absl)
  gyre_uses_protobuf(gyre_grpc)
  gyre_precompile(gyre_grpc pch)
  install(TARGETS gyre_grpc LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endfunction()
