# What Gyre stands on, all from Debian 12, as targets gyre::<name>. Found by file, not by the
# packages' CMake configurations: oneDNN's asks for OpenCL's headers, which Gyre has no use for.
#
# All are shared libraries. Debian's archives of Abseil and protobuf are not position-independent, so
# no shared library can hold them; and programs and plug-ins that hand Abseil's types to libgyre.so
# must have the same copy of it. --as-needed keeps what is not used from being loaded.

find_package(Threads REQUIRED)

# Abseil. Debian builds it with its own string_view: absl::string_view is a class apart from
# std::string_view, and the two do not convert into each other.
add_library(gyre_dep_absl INTERFACE)
add_library(gyre::absl ALIAS gyre_dep_absl)
find_library(GYRE_ABSL_STATUS NAMES libabsl_status.so REQUIRED)
cmake_path(GET GYRE_ABSL_STATUS PARENT_PATH _libdir)
file(GLOB _absl ${_libdir}/libabsl_*.so)
target_link_libraries(gyre_dep_absl INTERFACE ${_absl} Threads::Threads)

add_library(gyre_dep_highway INTERFACE)
add_library(gyre::highway ALIAS gyre_dep_highway)
find_library(GYRE_HIGHWAY hwy REQUIRED)
target_link_libraries(gyre_dep_highway INTERFACE ${GYRE_HIGHWAY})

# oneDNN 2.6, with libgomp, whose threads it would use were it not told to have one. Shared only; its
# 38 MB cost 0.7 ms at start.
add_library(gyre_dep_onednn INTERFACE)
add_library(gyre::onednn ALIAS gyre_dep_onednn)
find_library(GYRE_ONEDNN dnnl REQUIRED)
target_link_libraries(gyre_dep_onednn INTERFACE ${GYRE_ONEDNN} gomp)

# protobuf, and its compiler as protobuf::protoc.
find_package(Protobuf 3.21 REQUIRED)
add_library(gyre_dep_protobuf INTERFACE)
add_library(gyre::protobuf ALIAS gyre_dep_protobuf)
find_library(GYRE_PROTOBUF NAMES libprotobuf.so REQUIRED)
target_link_libraries(gyre_dep_protobuf INTERFACE ${GYRE_PROTOBUF} Threads::Threads)

# RE2. gRPC needs it, too.
add_library(gyre_dep_re2 INTERFACE)
add_library(gyre::re2 ALIAS gyre_dep_re2)
find_path(GYRE_RE2_INCLUDE re2/re2.h REQUIRED)
find_library(GYRE_RE2 re2 REQUIRED)
target_link_libraries(gyre_dep_re2 INTERFACE ${GYRE_RE2})

# nlohmann-json: headers alone, which the compiler finds by itself; looked for so that a machine
# without them is told at once.
find_path(GYRE_JSON nlohmann/json.hpp REQUIRED)

# Eigen: headers alone, likewise. It decomposes matrices and has special functions, as in TensorFlow.
find_path(GYRE_EIGEN eigen3/Eigen/Core REQUIRED)
# libjpeg-turbo and libpng: headers alone. The libraries are opened by programs that read or write
# such files (src/ops/codec).
find_path(GYRE_JPEG_INCLUDE jpeglib.h REQUIRED)
find_path(GYRE_PNG_INCLUDE png.h REQUIRED)
