# What folders turn into.
#   src/X/**/*.cc            static library gyre_X                         gyre_layer(X)
#   src/X/**/*.proto         compiled by protoc into gyre_X                (by gyre_layer)
#   src/devices/X/           a type of devices, which XDeviceType() makes   gyre_device_types()
#   src/front/ops_generator/main.cc  writes gyre/ops.h, gyre/functions.h, part of gyre_front   gyre_generated_ops()
#   the layers together      lib/libgyre.so                                gyre_library() in package.cmake
#   src/cli/main.cc          bin/gyre                                      gyre_program()
#   tests/X/**/*_test.cc     bin/tests/X_test, a GoogleTest program        gyre_tests()
#   tests/support/*.cc       what the tests share
#   tests/fake_cuda/*.cc     fake_cuda/libcuda.so.1, for machines without a GPU   gyre_fake_cuda()
#   tests/fuzz/*_fuzz.cc     bin/fuzz/NAME_fuzz, a libFuzzer program       gyre_fuzzers()
#   bench/*_bench.cc         bin/bench/NAME_bench, Google Benchmark        gyre_benchmarks()
#   examples/lessons/NAME.cc  bin/lessons/NAME, and of NAME_plugin.cc a plug-in    gyre_lessons()

set(GYRE_GENERATED_DIR ${CMAKE_BINARY_DIR}/generated)
set(GYRE_LAYERS "" CACHE INTERNAL "layers that have sources, lowest first")

# gyre_precompile(TARGET NAME [OPTIONS option...] [LIBS target...]): the precompiled header
# cmake/NAME.h, one for all targets that have the flags of the configuration and those named here.
function(gyre_precompile target name)
  cmake_parse_arguments(arg "" "" "OPTIONS;LIBS" ${ARGN})
  if(NOT GYRE_PCH)
    return()
  endif()
  if(NOT TARGET gyre_${name})
    set(unit ${CMAKE_BINARY_DIR}/${name}.cc)
    file(WRITE ${unit}.new "// The unit that owns the precompiled header.\n")
    file(COPY_FILE ${unit}.new ${unit} ONLY_IF_DIFFERENT)
    add_library(gyre_${name} STATIC ${unit})
    # Not by its full path, which would be in the precompiled header: nothing that is compiled with it
    # would be found in the cache by another checkout.
    target_include_directories(gyre_${name} PRIVATE ${CMAKE_SOURCE_DIR})
    target_compile_options(gyre_${name} PRIVATE ${arg_OPTIONS})
    target_link_libraries(gyre_${name} PRIVATE ${arg_LIBS})
    target_precompile_headers(gyre_${name} PRIVATE <cmake/${name}.h>)
  endif()
  target_precompile_headers(${target} REUSE_FROM gyre_${name})
endfunction()

# Debian's protobuf is built without tsan, under which its headers declare classes of another size.
# Who includes them must be told that there is no tsan; the code is instrumented all the same, and
# GYRE_TSAN says so.
function(gyre_uses_protobuf target)
  if(GYRE_SANITIZE MATCHES "thread")
    target_compile_options(${target} PRIVATE -U__SANITIZE_THREAD__ -DGYRE_TSAN)
    set_target_properties(${target} PROPERTIES DISABLE_PRECOMPILE_HEADERS ON)
  endif()
endfunction()

# gyre_layer(NAME [LIBS target...] [APART layer...]). One with gyre::protobuf among its LIBS sees the
# messages of src/wire.
function(gyre_layer name)
  cmake_parse_arguments(arg "" "" "LIBS;APART" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${name}/*.cc)
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$|/main\\.cc$|/cluster/grpc/|/compiled/llvm/")
  file(GLOB_RECURSE protos CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${name}/*.proto)
  if(NOT sources AND NOT protos)
    return()
  endif()
  set(below ${GYRE_LAYERS})
  if(arg_APART)
    list(REMOVE_ITEM below ${arg_APART})
  endif()
  list(TRANSFORM below PREPEND gyre_)
  set(target gyre_${name})
  add_library(${target} STATIC ${sources})
  target_include_directories(${target} PUBLIC ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/src)
  if(protos)
    gyre_proto(${target}_proto ${protos})
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${target}_proto>)
    set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX)
    add_dependencies(${target} ${target}_proto)
  endif()
  if(protos OR gyre::protobuf IN_LIST arg_LIBS)
    add_dependencies(${target} gyre_wire_proto)
    target_include_directories(${target} SYSTEM PRIVATE ${GYRE_GENERATED_DIR})
    gyre_uses_protobuf(${target})
  endif()
  target_link_libraries(${target} PUBLIC ${below} ${arg_LIBS})
  gyre_precompile(${target} pch)
  set(GYRE_LAYERS ${GYRE_LAYERS} ${name} CACHE INTERNAL "")
endfunction()

# Compiles .proto files below src/ into an object library. `import` and #include paths start at
# src/: "wire/graph.proto" gives "wire/graph.pb.h".
function(gyre_proto target)
  set(generated "")
  foreach(proto IN LISTS ARGN)
    cmake_path(RELATIVE_PATH proto BASE_DIRECTORY ${CMAKE_SOURCE_DIR}/src OUTPUT_VARIABLE path)
    cmake_path(REMOVE_EXTENSION path)
    set(outputs ${GYRE_GENERATED_DIR}/${path}.pb.cc ${GYRE_GENERATED_DIR}/${path}.pb.h)
    add_custom_command(
      OUTPUT ${outputs}
      COMMAND ${CMAKE_COMMAND} -E make_directory ${GYRE_GENERATED_DIR}
      COMMAND protobuf::protoc --proto_path=${CMAKE_SOURCE_DIR}/src
              --cpp_out=${GYRE_GENERATED_DIR} ${proto}
      DEPENDS ${ARGN} COMMENT "protoc ${path}.proto" VERBATIM)
    list(APPEND generated ${outputs})
  endforeach()
  add_library(${target} OBJECT ${generated})
  target_include_directories(${target} SYSTEM PRIVATE ${GYRE_GENERATED_DIR})
  target_link_libraries(${target} PRIVATE gyre::protobuf)
  target_compile_options(${target} PRIVATE -w -fvisibility=hidden)
  gyre_uses_protobuf(${target})
endfunction()

# The types of devices are the folders of src/devices: each defines a DeviceType NameDeviceType(), of
# which this writes the list.
function(gyre_device_types)
  file(GLOB folders LIST_DIRECTORIES true CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/devices/*)
  set(declarations "")
  set(calls "")
  foreach(folder IN LISTS folders)
    if(IS_DIRECTORY ${folder})
      cmake_path(GET folder FILENAME name)
      string(SUBSTRING ${name} 0 1 first)
      string(SUBSTRING ${name} 1 -1 rest)
      string(TOUPPER ${first} first)
      string(APPEND declarations "DeviceType ${first}${rest}DeviceType();\n")
      string(APPEND calls "${first}${rest}DeviceType(), ")
    endif()
  endforeach()
  set(source ${GYRE_GENERATED_DIR}/devices/device_types.cc)
  file(CONFIGURE OUTPUT ${source} @ONLY CONTENT
"// The folders of src/devices.
#include \"devices/device_type.h\"
namespace gyre {
@declarations@std::vector<DeviceType> BuiltinDeviceTypes() { return {@calls@}; }
}  // namespace gyre
")
  target_sources(gyre_devices PRIVATE ${source})
endfunction()

# gyre/ops.h and gyre/functions.h, the C++ functions of ops and of ops/functions, and their
# implementation: written by a program that knows the registries, as part of gyre_front.
function(gyre_generated_ops)
  set(generator gyre_ops_generator)
  add_executable(${generator} ${CMAKE_SOURCE_DIR}/src/front/ops_generator/main.cc)
  target_link_libraries(${generator} PRIVATE gyre_ops)
  gyre_precompile(${generator} pch)
  set(headers ${GYRE_GENERATED_DIR}/gyre/ops.h ${GYRE_GENERATED_DIR}/gyre/functions.h)
  set(source ${GYRE_GENERATED_DIR}/front/ops.cc)
  add_custom_command(
    OUTPUT ${headers} ${source}
    COMMAND ${CMAKE_COMMAND} -E make_directory
            ${GYRE_GENERATED_DIR}/gyre ${GYRE_GENERATED_DIR}/front
    COMMAND ${generator} ${headers} ${source}
    DEPENDS ${generator} COMMENT "gyre/ops.h" VERBATIM)
  target_sources(gyre_front PRIVATE ${source} ${headers})
  target_include_directories(gyre_front SYSTEM PUBLIC ${GYRE_GENERATED_DIR})
endfunction()

# Every layer that has sources, as link names, for what stands on top of all of them.
function(gyre_all_layers result)
  set(layers ${GYRE_LAYERS})
  list(REVERSE layers)
  list(TRANSFORM layers PREPEND gyre_)
  set(${result} ${layers} PARENT_SCOPE)
endfunction()

# An executable: its main file, over libgyre.so.
function(gyre_program name main)
  add_executable(${name} ${main})
  target_link_libraries(${name} PRIVATE gyre_library)
  gyre_precompile(${name} pch)
endfunction()

# An executable of test code: sees all layers, tests/, and tests/support as a library.
function(gyre_test_program target folder)
  gyre_all_layers(layers)
  add_executable(${target} ${ARGN})
  set_target_properties(${target} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/${folder})
  target_link_libraries(${target} PRIVATE gyre_test_support ${layers})
  target_include_directories(${target} PRIVATE
    ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/tests)
  target_include_directories(${target} SYSTEM PRIVATE ${GYRE_GENERATED_DIR})
  gyre_uses_protobuf(${target})
  if(TARGET gyre_codegen)
    add_dependencies(${target} gyre_codegen)
  endif()
endfunction()

# tests/support/*.cc. paths.cc alone knows where the checkout and the build are: a definition on
# every test would keep ccache from recognising them in another checkout.
function(gyre_test_support)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/support/*.cc)
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  add_library(gyre_test_support STATIC ${sources})
  gyre_all_layers(layers)
  target_link_libraries(gyre_test_support PRIVATE ${layers})
  target_include_directories(gyre_test_support PRIVATE
    ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/tests)
  target_include_directories(gyre_test_support SYSTEM PRIVATE ${GYRE_GENERATED_DIR})
  gyre_uses_protobuf(gyre_test_support)
  gyre_precompile(gyre_test_support pch)
  set_source_files_properties(${CMAKE_SOURCE_DIR}/tests/support/paths.cc PROPERTIES
    COMPILE_DEFINITIONS
    "GYRE_SOURCE_DIR=\"${CMAKE_SOURCE_DIR}\";GYRE_BINARY_DIR=\"${CMAKE_BINARY_DIR}\"")
endfunction()

# A driver of GPUs that are some of the host's memory and threads. Who has loaded it, or finds it by
# LD_LIBRARY_PATH, has CUDA devices.
function(gyre_fake_cuda)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/fake_cuda/*.cc)
  add_library(gyre_fake_cuda SHARED ${sources})
  set_target_properties(gyre_fake_cuda PROPERTIES OUTPUT_NAME cuda SOVERSION 1
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fake_cuda)
  target_include_directories(gyre_fake_cuda PRIVATE
    ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/tests)
endfunction()

# One GoogleTest program per folder: a process start per folder, not per test. ctest runs it as
# GYRE_TEST_SHARDS entries, each with its share of the tests, so the longest folder fills all cores.
set(GYRE_TEST_SHARDS 2 CACHE STRING "ctest entries per test folder")
function(gyre_tests)
  file(GLOB_RECURSE tests CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}/tests
       ${CMAKE_SOURCE_DIR}/tests/*_test.cc)
  list(TRANSFORM tests REPLACE "/.*" "")
  list(REMOVE_DUPLICATES tests)
  if(tests)
    find_package(GTest REQUIRED)
    if(NOT TARGET gyre_test_support)
      gyre_test_support()
    endif()
  endif()
  foreach(folder IN LISTS tests)
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/${folder}/*.cc)
    gyre_test_program(${folder}_test tests ${sources})
    target_link_libraries(${folder}_test PRIVATE GTest::gmock GTest::gtest_main)
    # What is tested is as it ships; the tests themselves compile in two thirds of the time. (Without any
    # optimisation, some run four times as long.)
    set(options $<$<CONFIG:Release>:-O1>)
    target_compile_options(${folder}_test PRIVATE ${options})
    gyre_precompile(${folder}_test test_pch OPTIONS ${options} LIBS GTest::gmock)
    math(EXPR last "${GYRE_TEST_SHARDS} - 1")
    foreach(shard RANGE ${last})
      add_test(NAME ${folder}.${shard} COMMAND ${folder}_test --gtest_brief=1)
      set_tests_properties(${folder}.${shard} PROPERTIES LABELS unit TIMEOUT 900
        ENVIRONMENT "GTEST_TOTAL_SHARDS=${GYRE_TEST_SHARDS};GTEST_SHARD_INDEX=${shard}")
    endforeach()
  endforeach()
  find_program(GYRE_INTERPRETER python3 REQUIRED)
  set(budgets ${CMAKE_SOURCE_DIR}/tests/project/budgets.py)
  add_test(NAME project.budgets COMMAND ${GYRE_INTERPRETER} ${budgets} ${CMAKE_SOURCE_DIR})
  add_test(NAME project.budgets_can_fail COMMAND ${GYRE_INTERPRETER} ${budgets} --self-test)
  set(twins ${CMAKE_SOURCE_DIR}/tests/project/twins.py)
  add_test(NAME project.twins COMMAND ${GYRE_INTERPRETER} ${twins} ${CMAKE_BINARY_DIR})
  add_test(NAME project.twins_can_fail COMMAND ${GYRE_INTERPRETER} ${twins} --self-test)
  set(exports ${CMAKE_SOURCE_DIR}/tests/project/exports.py)
  add_test(NAME project.exports
           COMMAND ${GYRE_INTERPRETER} ${exports} ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR})
  add_test(NAME project.exports_can_fail COMMAND ${GYRE_INTERPRETER} ${exports} --self-test)
  set(examples ${CMAKE_SOURCE_DIR}/tests/project/worked_examples.py)
  add_test(NAME project.worked_examples COMMAND ${GYRE_INTERPRETER} ${examples} ${CMAKE_BINARY_DIR})
  add_test(NAME project.worked_examples_can_fail COMMAND ${GYRE_INTERPRETER} ${examples} --self-test)
endfunction()

# A lesson that is linked with a program that was compiled ahead of time, and not with Gyre.
function(gyre_lesson_without_gyre target source)
  cmake_path(GET source STEM name)
  set(graph ${CMAKE_SOURCE_DIR}/examples/lessons/10_controller.gyre)
  set(made ${CMAKE_BINARY_DIR}/lessons)
  add_custom_command(OUTPUT ${made}/10_controller.o ${made}/10_controller.h
    COMMAND ${CMAKE_COMMAND} -E make_directory ${made}
    COMMAND gyre compile ${graph} --name controller --fetch force
            -o ${made}/10_controller.o --header ${made}/10_controller.h
    DEPENDS gyre gyre_codegen ${graph} VERBATIM)
  add_executable(${target} ${source} ${made}/10_controller.o ${made}/10_controller.h)
  target_include_directories(${target} PRIVATE ${made})
  target_link_libraries(${target} PRIVATE m)
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name}
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/lessons)
endfunction()

# The lessons see what users see: the public headers and libgyre.so, without a precompiled header.
function(gyre_lessons)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/examples/lessons/*.cc)
  foreach(source IN LISTS sources)
    cmake_path(GET source STEM name)
    set(target lesson_${name})
    if(name STREQUAL 10_control_loop)
      if(TARGET gyre_codegen)
        gyre_lesson_without_gyre(${target} ${source})
      endif()
      continue()
    endif()
    if(name MATCHES "_plugin$")
      add_library(${target} MODULE ${source})
    else()
      add_executable(${target} ${source})
    endif()
    target_link_libraries(${target} PRIVATE gyre_library)
    set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name} PREFIX ""
      RUNTIME_OUTPUT_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/lessons
      LIBRARY_OUTPUT_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/lessons)
  endforeach()
  set(lessons ${CMAKE_SOURCE_DIR}/tests/project/lessons.py)
  add_test(NAME project.lessons COMMAND ${GYRE_INTERPRETER} ${lessons} ${CMAKE_BINARY_DIR})
  add_test(NAME project.lessons_can_fail COMMAND ${GYRE_INTERPRETER} ${lessons} --self-test)
endfunction()

function(gyre_fuzzers)
  file(GLOB fuzzers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/fuzz/*_fuzz.cc)
  if(fuzzers AND NOT TARGET gyre_test_support)
    gyre_test_support()
  endif()
  foreach(source IN LISTS fuzzers)
    cmake_path(GET source STEM name)
    gyre_test_program(${name} fuzz ${source})
    gyre_precompile(${name} pch)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  endforeach()
endfunction()

function(gyre_benchmarks)
  file(GLOB benches CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/bench/*_bench.cc)
  if(benches)
    find_package(benchmark REQUIRED)
    if(NOT TARGET gyre_test_support)
      gyre_test_support()
    endif()
  endif()
  foreach(source IN LISTS benches)
    cmake_path(GET source STEM name)
    gyre_test_program(${name} bench ${source})
    gyre_precompile(${name} pch)
    target_link_libraries(${name} PRIVATE benchmark::benchmark benchmark::benchmark_main)
  endforeach()
endfunction()
