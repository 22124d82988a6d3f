# SPDX-License-Identifier: Apache-2.0
# Options, compiler settings and sanitizers. Everything hangs on the interface target anemone_options,
# which only our own targets link: no global flags.
option(ANEMONE_BUILD_CLI "Build the executable; needs the server and the hub client" ON)
option(ANEMONE_BUILD_SERVER "Build the HTTP and JSON-lines server (needs Boost)" ON)
option(ANEMONE_BUILD_HUB "Build the client of the Hugging Face hub (needs curl)" ON)
option(ANEMONE_BUILD_TESTS "Build the tests" OFF)
option(ANEMONE_BUILD_FUZZERS "Build the fuzz targets (clang only)" OFF)
option(ANEMONE_BUILD_BENCHMARKS "Build the micro-benchmarks" OFF)
# Apple documents none of it, may change it with any system, and takes no application that uses it into its store.
option(ANEMONE_PRIVATE_ANE "Call the private classes of the Neural Engine (macOS; never for the App Store)" OFF)
option(ANEMONE_WERROR "Treat warnings as errors" OFF)
set(ANEMONE_PLAIN_MODULE_OPTIONS "" CACHE STRING "Compile options of the modules that compute little")
set(ANEMONE_SANITIZE "" CACHE STRING "Sanitizers, as -fsanitize takes them: address,undefined or thread")

foreach(part CLI TESTS FUZZERS)
  if(ANEMONE_BUILD_${part} AND NOT (ANEMONE_BUILD_SERVER AND ANEMONE_BUILD_HUB))
    message(FATAL_ERROR "ANEMONE_BUILD_${part} expected ANEMONE_BUILD_SERVER and ANEMONE_BUILD_HUB to be ON")
  endif()
endforeach()
if(ANEMONE_BUILD_TESTS AND NOT ANEMONE_BUILD_CLI)
  message(FATAL_ERROR "ANEMONE_BUILD_TESTS expected ANEMONE_BUILD_CLI to be ON")
endif()

# A project that adds this one decides itself how it builds.
if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

find_program(ANEMONE_CCACHE ccache)
if(PROJECT_IS_TOP_LEVEL AND ANEMONE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # It takes the included files from the compiler, so that a first build need not run the preprocessor before it.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_DEPEND=1 ${ANEMONE_CCACHE})
endif()

# Each test is a program of its own: linking them all takes a fifth of the time with lld.
find_program(ANEMONE_LLD ld.lld)
if(ANEMONE_BUILD_TESTS AND PROJECT_IS_TOP_LEVEL AND ANEMONE_LLD AND NOT CMAKE_CROSSCOMPILING AND NOT APPLE)
  add_link_options(-fuse-ld=lld)
endif()

add_library(anemone_options INTERFACE)
# One result for one input on every machine: the compiler may not fuse a*b+c on its own.
target_compile_options(anemone_options INTERFACE -Wall -Wextra -Wconversion -ffp-contract=off
  # GCC 12 reports std::optional and std::variant members as uninitialised where they are not, and copies of std::string
  # that overlap where they do not (GCC bug 105651).
  $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized;-Wno-restrict>
  # GCC collects its garbage from a gigabyte on, which saves a tenth of its time and costs a quarter more memory.
  $<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-heapsize=1000000;--param=ggc-min-expand=1000>)
if(ANEMONE_WERROR)
  target_compile_options(anemone_options INTERFACE -Werror)
endif()
if(ANEMONE_SANITIZE)
  target_compile_options(anemone_options INTERFACE -fsanitize=${ANEMONE_SANITIZE} -fno-omit-frame-pointer
                                                   -fno-sanitize-recover=all)
  target_link_options(anemone_options INTERFACE -fsanitize=${ANEMONE_SANITIZE})
  # These two checks stand before every access, and the address sanitizer reports what they find when memory is touched.
  # The check for overflow of pointers stays: the address sanitizer does not see where a pointer wraps round.
  if(ANEMONE_SANITIZE MATCHES "address" AND ANEMONE_SANITIZE MATCHES "undefined")
    target_compile_options(anemone_options INTERFACE -fno-sanitize=null,object-size)
  endif()
endif()
