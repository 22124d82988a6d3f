#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Configures a project that adds this one as a subdirectory without the executable, the server and the hub client: it
# must need none of their libraries, and the parent's own settings must stay as they were.
# usage: subdirectory_test.sh SOURCE CMAKE
set -eu

source=$1
cmake=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cat >"$work/CMakeLists.txt" <<TEXT
cmake_minimum_required(VERSION 3.25)
project(parent LANGUAGES CXX)
set(ANEMONE_BUILD_CLI OFF)
set(ANEMONE_BUILD_SERVER OFF)
set(ANEMONE_BUILD_HUB OFF)
foreach(package CLI11 Boost CURL)
  set(CMAKE_DISABLE_FIND_PACKAGE_\${package} ON)
endforeach()
add_subdirectory("$source" anemone)
foreach(setting CMAKE_BUILD_TYPE CMAKE_UNITY_BUILD CMAKE_CXX_COMPILER_LAUNCHER CMAKE_CXX_STANDARD)
  if(DEFINED \${setting} AND NOT "\${\${setting}}" STREQUAL "")
    message(FATAL_ERROR "[\${setting}] expected the parent's to stay unset, got \${\${setting}}")
  endif()
endforeach()
foreach(target engine compiler exec_cpu)
  if(NOT TARGET anemone::\${target})
    message(FATAL_ERROR "expected a target anemone::\${target}")
  endif()
endforeach()
foreach(target anemone anemone_serve anemone_hub)
  if(TARGET \${target})
    message(FATAL_ERROR "expected no target \${target}")
  endif()
endforeach()
TEXT
"$cmake" -S "$work" -B "$work/build" -G Ninja >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
