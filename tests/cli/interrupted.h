// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <csignal>
#include <filesystem>
#include <gtest/gtest.h>
#include <spawn.h>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <vector>

extern char** environ;

namespace anemone::cli {

// Names in a folder; none when it is not there.
inline std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error))
    names.push_back(entry.path().filename().string());
  return names;
}

// False if the condition does not hold within 20 seconds.
template <typename Condition>
bool wait_until(const Condition& holds) {
  for (int i = 0; i < 20'000 && !holds(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return holds();
}

// Starts the anemone executable, sends a signal as soon as something is in `folder`, and returns
// the wait status.
inline int interrupted(std::vector<std::string> words, const std::string& folder, int signal) {
  words.insert(words.begin(), ANEMONE_BINARY);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t pid = 0;
  EXPECT_EQ(::posix_spawn(&pid, ANEMONE_BINARY, nullptr, nullptr, argv.data(), environ), 0);
  wait_until([&] { return !names_in(folder).empty(); });
  ::kill(pid, signal);
  int status = 0;
  ::waitpid(pid, &status, 0);
  return status;
}

}  // namespace anemone::cli
