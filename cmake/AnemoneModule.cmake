# SPDX-License-Identifier: Apache-2.0

# anemone_module(NAME [OPTIMISED] SOURCES a.cc b.cc DEPS other_module... LIBS third::party...)
# One folder of src/ as a static library anemone::NAME. DEPS are our own modules and must agree with the
# table in tools/check_layers; LIBS are third-party and stay private unless listed after PUBLIC_LIBS. OPTIMISED is for a
# module that the tests spend their time in: any other is compiled with ANEMONE_PLAIN_MODULE_OPTIONS.
function(anemone_module name)
  cmake_parse_arguments(ARG "OPTIMISED" "" "SOURCES;DEPS;LIBS;PUBLIC_LIBS" ${ARGN})
  add_library(anemone_${name} STATIC ${ARG_SOURCES})
  add_library(anemone::${name} ALIAS anemone_${name})
  target_include_directories(anemone_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
  foreach(dep IN LISTS ARG_DEPS)
    target_link_libraries(anemone_${name} PUBLIC anemone::${dep})
  endforeach()
  target_link_libraries(anemone_${name} PRIVATE anemone_options ${ARG_LIBS} PUBLIC ${ARG_PUBLIC_LIBS})
  if(NOT ARG_OPTIMISED)
    target_compile_options(anemone_${name} PRIVATE ${ANEMONE_PLAIN_MODULE_OPTIONS})
  endif()
  # What guides libFuzzer to new paths; the code of tests has no use for it.
  if(ANEMONE_BUILD_FUZZERS)
    target_compile_options(anemone_${name} PRIVATE -fsanitize=fuzzer-no-link)
  endif()
endfunction()

# anemone_test(NAME [OPTIMISED] SOURCES a_test.cc DEPS module... LIBS third::party... [SECONDS n])
# One gtest binary, registered with ctest as a whole; test data is found under ANEMONE_SOURCE_DIR.
# SECONDS is about what a long one takes: ctest starts the longest first, so that none is left over for one core
# at the end of a first run. OPTIMISED is for a test that spends its time in its own code or in templates of headers; any
# other compiles for longer than it runs, so it is compiled without optimisation.
function(anemone_test name)
  cmake_parse_arguments(ARG "OPTIMISED" "SECONDS" "SOURCES;DEPS;LIBS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  foreach(dep IN LISTS ARG_DEPS)
    target_link_libraries(${name} PRIVATE anemone::${dep})
  endforeach()
  target_link_libraries(${name} PRIVATE anemone_options anemone_test_main ${ARG_LIBS})
  target_compile_options(${name} PRIVATE $<IF:$<BOOL:${ARG_OPTIMISED}>,-O1,-O0>)
  target_compile_definitions(${name} PRIVATE ANEMONE_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  add_test(NAME ${name} COMMAND ${name})
  if(ARG_SECONDS)
    set_tests_properties(${name} PROPERTIES COST ${ARG_SECONDS})
  endif()
endfunction()
