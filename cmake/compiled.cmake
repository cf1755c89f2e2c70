# libgyre_compiled.so, of src/compiled/llvm: the code generator. A library of its own, loaded by
# compiled/library.cc when the first loop is compiled: LLVM is larger than all of Gyre. Built where
# LLVM 19 and its clang are; without it, loops are interpreted. LLVM and the C++ library are built in,
# with all their names hidden: another LLVM in the process is none of its business, and its objects are not taken from
# threads that compile when the process ends, nor is it short of memory (compiled/llvm/runtime.cc).
#
# Kernels' files are compiled twice: to what libgyre.so is made of, and by clang to bitcode, of which
# pack_scalars keeps the functions that compute single elements. So generated code has them from the
# same source.
# gyre_codegen()

set(GYRE_COMPILED_NAME libgyre_compiled.so.${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
set_source_files_properties(${CMAKE_SOURCE_DIR}/src/compiled/library.cc PROPERTIES
  COMPILE_DEFINITIONS "GYRE_COMPILED_LIBRARY=\"${GYRE_COMPILED_NAME}\"")
find_program(GYRE_LLVM_CLANG clang++-19)
find_program(GYRE_LLVM_CONFIG llvm-config-19)

# Sets `result` to the words that llvm-config prints.
function(gyre_llvm_config result)
  execute_process(COMMAND ${GYRE_LLVM_CONFIG} --link-static ${ARGN}
    OUTPUT_VARIABLE words OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(words UNIX_COMMAND "${words}")
  set(${result} ${words} PARENT_SCOPE)
endfunction()

function(gyre_codegen)
  if(NOT GYRE_LLVM_CLANG OR NOT GYRE_LLVM_CONFIG)
    message(STATUS "No LLVM 19 with clang: loops will not be compiled")
    return()
  endif()
  gyre_llvm_config(include --includedir)
  gyre_llvm_config(libraries --ldflags --libs --system-libs
    orcjit orctargetprocess native nvptx passes bitreader bitwriter irreader linker)
  add_executable(gyre_pack_scalars ${CMAKE_SOURCE_DIR}/src/compiled/llvm/pack/main.cc)
  gyre_scalar_bitcode(bitcode)
  gyre_gpu_bitcode(gpu_bitcode)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/compiled/llvm/*.cc)
  add_library(gyre_codegen MODULE ${sources})
  set_target_properties(gyre_codegen PROPERTIES PREFIX "" SUFFIX ""
    OUTPUT_NAME ${GYRE_COMPILED_NAME} LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib
    CXX_VISIBILITY_PRESET hidden)
  set_source_files_properties(${CMAKE_SOURCE_DIR}/src/compiled/llvm/scalar_bitcode.cc PROPERTIES
    COMPILE_DEFINITIONS "GYRE_SCALAR_BITCODE=\"${bitcode}\"" OBJECT_DEPENDS ${bitcode})
  set_source_files_properties(${CMAKE_SOURCE_DIR}/src/compiled/llvm/gpu_bitcode.cc PROPERTIES
    COMPILE_DEFINITIONS "GYRE_GPU_BITCODE=\"${gpu_bitcode}\"" OBJECT_DEPENDS ${gpu_bitcode})
  foreach(target IN ITEMS gyre_pack_scalars gyre_codegen)
    target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/src)
    target_include_directories(${target} SYSTEM PRIVATE ${include})
    target_link_libraries(${target} PRIVATE ${libraries} gyre::absl)
  endforeach()
  set(exports ${CMAKE_SOURCE_DIR}/src/compiled/llvm/exports.map)
  target_link_options(gyre_codegen PRIVATE -static-libstdc++ -Wl,--version-script,${exports}
    -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=free)
  set_target_properties(gyre_codegen PROPERTIES LINK_DEPENDS ${exports})
  install(TARGETS gyre_codegen LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endfunction()

# Sets `result` to the file with the code for GPUs (src/compiled/gpu): compiled by the same clang,
# without any library, and with floating-point numbers as they are written.
function(gyre_gpu_bitcode result)
  set(source ${CMAKE_SOURCE_DIR}/src/compiled/gpu/main.cc)
  set(bitcode ${CMAKE_BINARY_DIR}/scalars/gpu/main.bc)
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/scalars/gpu)
  add_custom_command(OUTPUT ${bitcode}
    COMMAND ${CMAKE_CXX_COMPILER_LAUNCHER} ${GYRE_LLVM_CLANG} --target=nvptx64-nvidia-cuda
            -Xclang -target-cpu -Xclang sm_60 -Xclang -target-feature -Xclang +ptx60
            -std=c++20 -O2 -ffp-contract=off -ffreestanding -fno-builtin -fno-exceptions -nostdinc++
            -I${CMAKE_SOURCE_DIR}/src -MD -MF ${bitcode}.d -emit-llvm -c ${source} -o ${bitcode}
    DEPENDS ${source} DEPFILE ${bitcode}.d
    COMMENT "Compiling the code for GPUs to bitcode" VERBATIM)
  set(${result} ${bitcode} PARENT_SCOPE)
endfunction()

# Sets `result` to the file with the functions of all files that include one of the headers which say
# what generated code inlines.
function(gyre_scalar_bitcode result)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/ops/*.cc)
  set(folder ${CMAKE_BINARY_DIR}/scalars)
  file(MAKE_DIRECTORY ${folder})
  set(modules "")
  foreach(source IN LISTS sources)
    file(STRINGS ${source} includes REGEX "#include \"ops/(math/elementwise|list/list_code|scalar_code).h\"")
    if(NOT includes)
      continue()
    endif()
    cmake_path(GET source STEM name)
    set(module ${folder}/${name}.bc)
    # With errno, so that calls of the C library stay calls; without types' promises on aliasing,
    # which do not hold where operands are bytes.
    add_custom_command(OUTPUT ${module}
      COMMAND ${CMAKE_CXX_COMPILER_LAUNCHER} ${GYRE_LLVM_CLANG} -std=c++20 -O2 -DNDEBUG
              -ffp-contract=off -fmath-errno -fno-strict-aliasing -w
              -I${CMAKE_SOURCE_DIR}/include -I${CMAKE_SOURCE_DIR}/src
              -MD -MF ${module}.d -emit-llvm -c ${source} -o ${module}
      DEPENDS ${source} DEPFILE ${module}.d
      COMMENT "Compiling ${name}.cc to bitcode" VERBATIM)
    list(APPEND modules ${module})
  endforeach()
  set(packed ${folder}/scalars.bc)
  add_custom_command(OUTPUT ${packed}
    COMMAND gyre_pack_scalars ${packed} ${modules}
    DEPENDS gyre_pack_scalars ${modules}
    COMMENT "Packing the functions of single elements" VERBATIM)
  set(${result} ${packed} PARENT_SCOPE)
endfunction()
