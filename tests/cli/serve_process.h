// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <sstream>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include "tests/cli/process.h"

namespace anemone::cli {

// How long a test waits for what a busy machine may do late.
inline constexpr auto kPatience = std::chrono::minutes(1);

// A server over a model that runs beside the test, under the names "one" and "two". `ready` is its
// ready file. The destructor kills it.
class ServeProcess {
 public:
  ServeProcess(const std::string& model, const std::string& ready,
               const std::vector<std::string>& more = {}, rlim_t address_space = RLIM_INFINITY) {
    std::filesystem::remove(ready);  // of a server that did not end in order
    pid_ = ::fork();
    if (pid_ == 0) {
      std::vector<std::string> arguments = {ANEMONE_BINARY, "serve",   model,    "--ready-file",
                                            ready,          "--alias", "one,two"};
      arguments.insert(arguments.end(), more.begin(), more.end());
      if (std::ranges::find(more, "--http-socket") == more.end())
        arguments.insert(arguments.end(), {"--port", "0"});
      std::istringstream flags(ANEMONE_FLAGS);
      for (std::string flag; flags >> flag;) arguments.push_back(flag);
      std::vector<char*> pointers;
      for (std::string& argument : arguments) pointers.push_back(argument.data());
      pointers.push_back(nullptr);
      const rlimit limit = {address_space, address_space};
      if (address_space != RLIM_INFINITY) ::setrlimit(RLIMIT_AS, &limit);
      ::execv(ANEMONE_BINARY, pointers.data());
      ::_exit(127);
    }
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (!url_.ends_with('\n') && std::chrono::steady_clock::now() < end) {
      url_ = contents(ready);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    if (url_.starts_with("http"))
      port_ = static_cast<std::uint16_t>(std::stoi(url_.substr(url_.rfind(':') + 1)));
  }
  ~ServeProcess() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  ServeProcess(const ServeProcess&) = delete;
  ServeProcess& operator=(const ServeProcess&) = delete;

  std::uint16_t port() const { return port_; }
  const std::string& url() const { return url_; }  // with the end of the line
  void signal(int number) const { ::kill(pid_, number); }
  // The exit code; -1 when a signal ended it.
  int wait() {
    int status = 0;
    ::waitpid(std::exchange(pid_, -1), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  pid_t pid_ = -1;
  std::string url_;
  std::uint16_t port_ = 0;
};

}  // namespace anemone::cli
