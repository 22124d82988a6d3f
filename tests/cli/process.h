// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <string>
#include <sys/wait.h>

#include "tests/support/shared_data.h"

namespace anemone::cli {

// Flags before the command of every run: some tests run once more with another executor.
#ifndef ANEMONE_FLAGS
#define ANEMONE_FLAGS ""
#endif

// Tests compare what is printed, and a machine may be so slow that a short command says how far it
// is.
inline const int kQuietProgress = ::setenv("ANEMONE_PROGRESS", "off", 0);

struct Outcome {
  int code = -1;
  std::string out;
  std::string err;
};

inline std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Runs the anemone executable through the shell, in a working directory (empty: this one) and after
// a command that begins the line; `arguments` is shell text.
inline Outcome run_in(const std::string& directory, const std::string& before,
                      const std::string& arguments, const std::string& stdin_text = "") {
  const testing::TemporaryFolder folder;
  std::ofstream(folder.file("in"), std::ios::binary) << stdin_text;
  const std::string place = directory.empty() ? "" : "cd '" + directory + "' && ";
  const std::string command = place + before + "'" ANEMONE_BINARY "' " ANEMONE_FLAGS " " +
                              arguments + " <'" + folder.file("in") + "' >'" + folder.file("out") +
                              "' 2>'" + folder.file("err") + "'";
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, contents(folder.file("out")),
          contents(folder.file("err"))};
}

inline Outcome run_anemone(const std::string& arguments, const std::string& stdin_text = "") {
  return run_in("", "", arguments, stdin_text);
}

}  // namespace anemone::cli
