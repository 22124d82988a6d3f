# SPDX-License-Identifier: Apache-2.0
# Options, compiler settings and sanitizers. Everything hangs on the interface target anemone_options,
# which only our own targets link: no global flags.
option(ANEMONE_BUILD_TESTS "Build the tests" OFF)
option(ANEMONE_BUILD_FUZZERS "Build the fuzz targets (clang only)" OFF)
option(ANEMONE_BUILD_BENCHMARKS "Build the micro-benchmarks" OFF)
# Several sources of a target are compiled at a time, because most of the time of one is its headers. Names in
# anonymous namespaces must therefore differ within a target.
set(CMAKE_UNITY_BUILD ON CACHE BOOL "Compile several sources at a time")
set(CMAKE_UNITY_BUILD_BATCH_SIZE 16 CACHE STRING "How many of them")
option(ANEMONE_WERROR "Treat warnings as errors" OFF)
set(ANEMONE_SANITIZE "" CACHE STRING "Sanitizers, as -fsanitize takes them: address,undefined or thread")

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

find_program(ANEMONE_CCACHE ccache)
if(ANEMONE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${ANEMONE_CCACHE})
endif()

add_library(anemone_options INTERFACE)
# One result for one input on every machine: the compiler may not fuse a*b+c on its own.
target_compile_options(anemone_options INTERFACE -Wall -Wextra -Wconversion -ffp-contract=off
  # GCC 12 reports std::optional and std::variant members as uninitialised where they are not.
  $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
if(ANEMONE_WERROR)
  target_compile_options(anemone_options INTERFACE -Werror)
endif()
if(ANEMONE_SANITIZE)
  target_compile_options(anemone_options INTERFACE -fsanitize=${ANEMONE_SANITIZE} -fno-omit-frame-pointer
                                                   -fno-sanitize-recover=all)
  target_link_options(anemone_options INTERFACE -fsanitize=${ANEMONE_SANITIZE})
endif()
if(ANEMONE_BUILD_FUZZERS)
  target_compile_options(anemone_options INTERFACE -fsanitize=fuzzer-no-link)
endif()
