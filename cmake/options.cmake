# Flags that every target gets, and the options that the presets set.

option(GYRE_WERROR "Warnings are errors (all presets set it)" OFF)
option(GYRE_PCH "Precompile the common std and Abseil headers" ON)
option(GYRE_TESTS "Build tests/<folder>" ON)
option(GYRE_FUZZ "Build tests/fuzz (needs clang)" OFF)
option(GYRE_BENCH "Build bench/ (needs Google Benchmark)" OFF)
option(GYRE_COVERAGE "Count executed lines (gcov)" OFF)
set(GYRE_SANITIZE "" CACHE STRING "Sanitizers, as in -fsanitize=")

if(CMAKE_SOURCE_DIR STREQUAL CMAKE_BINARY_DIR)
  message(FATAL_ERROR "Build outside the source tree: ./dev build, or cmake --preset release")
endif()
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)

# Release is optimised and without debug information; NDEBUG is set, so assert() and Abseil's
# debug checks are for the debug and sanitizer presets. Invariants that must hold in release are
# written as Status (INTERNAL), which no build type removes.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g1 -D_GLIBCXX_ASSERTIONS")

# No contraction: a*b+c rounds twice on every machine, so engines agree bit for bit.
# No errno: sqrt and friends become instructions; no value changes.
add_compile_options(-ffp-contract=off -fno-math-errno -fno-plt -ffunction-sections -fdata-sections)
# All code may become part of libgyre.so. It calls itself directly all the same: nobody replaces a function of it.
add_compile_options(-fPIC -fno-semantic-interposition)
# It shows what include/ declares, marked GYRE_EXPORT, and the seams marked GYRE_INTERNAL_EXPORT.
add_compile_options(-fvisibility=hidden -fvisibility-inlines-hidden)
add_compile_options(-Wall -Wextra -Wnon-virtual-dtor -Woverloaded-virtual)
# Options structs are initialised by the few fields that differ: {.engine = "reference"}.
add_compile_options(-Wno-missing-field-initializers)
if(GYRE_WERROR)
  add_compile_options(-Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # False alarms of g++ 12 inside its own headers and Abseil's InlinedVector (GCC bugs 105651, 105562, 80635), which
  # drown the real ones: clang (./dev lint) and the sanitizers look for both.
  add_compile_options(-Wno-restrict -Wno-maybe-uninitialized -Wno-uninitialized -Wno-array-bounds
                      -Wno-stringop-overflow -Wno-stringop-overread)
else()
  # libstdc++'s std::stable_sort uses what C++17 has deprecated; clang says so where it is instantiated.
  add_compile_options(-Wno-error=deprecated-declarations)
endif()

add_link_options(-Wl,--gc-sections -Wl,--as-needed)
find_program(GYRE_MOLD mold)
if(GYRE_MOLD)
  add_link_options(-fuse-ld=mold)
endif()

if(GYRE_SANITIZE)
  # -O1 keeps a sanitized run within a few times the release run; -g1 is enough for file:line.
  set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g1 -fno-omit-frame-pointer -D_GLIBCXX_ASSERTIONS")
  add_compile_options(-fsanitize=${GYRE_SANITIZE})
  add_link_options(-fsanitize=${GYRE_SANITIZE})
  if(GYRE_SANITIZE MATCHES "undefined")
    # A float that does not fit its integer is undefined too, and not in g++'s set.
    add_compile_options(-fsanitize=float-cast-overflow -fno-sanitize-recover=all)
    add_link_options(-fsanitize=float-cast-overflow)
  endif()
endif()
if(GYRE_COVERAGE)
  add_compile_options(--coverage)
  add_link_options(--coverage)
endif()

# ccache, told to see through checkouts in other folders and through the precompiled header.
find_program(GYRE_CCACHE ccache)
if(GYRE_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${GYRE_CCACHE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-fpch-preprocess)
  endif()
else()
  # What ccache does to names of source files by itself: no folder of this machine in what is built.
  add_compile_options(-ffile-prefix-map=${CMAKE_SOURCE_DIR}/=)
endif()
