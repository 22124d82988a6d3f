# SPDX-License-Identifier: Apache-2.0
# Libraries from the system packager; tools/install-deps installs them.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(nlohmann_json 3.10 REQUIRED)
find_package(CURL REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
find_package(Protobuf REQUIRED)
find_package(CLI11 REQUIRED)
find_package(simdjson REQUIRED)
# Headers only: Asio and the HTTP parser of Beast.
find_package(Boost 1.74 REQUIRED CONFIG)
find_package(PkgConfig REQUIRED)
pkg_check_modules(PCRE2 REQUIRED IMPORTED_TARGET libpcre2-8)
pkg_check_modules(UTF8PROC REQUIRED IMPORTED_TARGET libutf8proc)
if(ANEMONE_BUILD_TESTS)
  find_package(GTest REQUIRED)
endif()
