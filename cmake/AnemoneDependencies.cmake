# SPDX-License-Identifier: Apache-2.0
# Libraries from the system packager; tools/install-deps installs them. The parts that are left out need none.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(nlohmann_json 3.10 REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto SSL)
find_package(Protobuf REQUIRED)
find_package(simdjson REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(PCRE2 REQUIRED IMPORTED_TARGET libpcre2-8)
pkg_check_modules(UTF8PROC REQUIRED IMPORTED_TARGET libutf8proc)
if(ANEMONE_BUILD_CLI)
  find_package(CLI11 REQUIRED)
  # Line editing with a history in a chat; without it lines are read as the terminal gives them.
  pkg_check_modules(LIBEDIT IMPORTED_TARGET libedit)
  # Pictures for `anemone predict`, which refuses them without it.
  pkg_check_modules(PNG IMPORTED_TARGET libpng)
endif()
if(ANEMONE_BUILD_SERVER)
  # Headers only: Asio and the HTTP parser of Beast.
  find_package(Boost 1.74 REQUIRED CONFIG)
endif()
if(ANEMONE_BUILD_HUB)
  find_package(CURL REQUIRED)
endif()
if(ANEMONE_BUILD_TESTS)
  find_package(GTest REQUIRED)
endif()
