// SPDX-License-Identifier: Apache-2.0
// The main function of every test program. What a person or a machine has in its environment
// (NO_COLOR, proxies, a home of its own, ignored signals) decides nothing about the tests, and the
// tests write nothing into that home.
#include <csignal>
#include <cstdlib>
#include <gtest/gtest.h>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include "tests/support/shared_data.h"

extern char** environ;

namespace anemone::testing {
namespace {

// Variables that the tests themselves read, and ANEMONE_PROGRESS, which tests of the executable set
// before main() (tests/cli/process.h).
bool belongs_to_the_tests(std::string_view name) {
  return name == "ANEMONE_SHARED" || name == "ANEMONE_RECORD" ||
         name == "ANEMONE_ALL_CHECKPOINTS" || name == "ANEMONE_PROGRESS";
}

// Variables that the library, the executable, libcurl and libedit read.
bool is_read_by_the_product(std::string_view name) {
  for (const std::string_view prefix : {"ANEMONE_", "HF_", "XDG_"})
    if (name.starts_with(prefix)) return true;
  for (const std::string_view ending : {"_proxy", "_PROXY"})
    if (name.ends_with(ending)) return true;
  return name == "NO_COLOR" || name == "COLUMNS" || name == "LINES" || name == "EDITRC";
}

void clear_environment() {
  std::vector<std::string> names;
  for (char** at = environ; *at != nullptr; ++at) {
    const std::string_view entry = *at;
    const std::string_view name = entry.substr(0, entry.find('='));
    if (is_read_by_the_product(name) && !belongs_to_the_tests(name)) names.emplace_back(name);
  }
  for (const std::string& name : names) ::unsetenv(name.c_str());
}

}  // namespace
}  // namespace anemone::testing

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  anemone::testing::clear_environment();
  // Thousands of small packages: to wait for the disk would take a third of the time.
  ::setenv("ANEMONE_FSYNC", "off", 1);
  const anemone::testing::TemporaryFolder home;
  ::setenv("HOME", home.path().c_str(), 1);
  for (const int signal : {SIGINT, SIGQUIT, SIGHUP, SIGTERM, SIGPIPE, SIGCHLD})
    ::signal(signal, SIG_DFL);
  ::umask(022);
  return RUN_ALL_TESTS();
}
