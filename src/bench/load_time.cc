// SPDX-License-Identifier: Apache-2.0
#include "bench/load_time.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <spawn.h>
#include <string_view>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include "artifact/manifest.h"
#include "base/descriptor.h"
#include "base/error.h"
#include "engine/model/model.h"
#include "engine/session/session.h"

extern "C" char** environ;

namespace anemone::bench {
namespace {

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

double ms_since(std::int64_t start_ns) {
  return static_cast<double>(now_ns() - start_ns) * 1e-6;
}

struct FileActions {
  FileActions() { ::posix_spawn_file_actions_init(&actions); }
  ~FileActions() { ::posix_spawn_file_actions_destroy(&actions); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  posix_spawn_file_actions_t actions;
};

// Everything up to the end; the answer is one line.
std::string read_all(int fd) {
  constexpr std::size_t kMost = 1 << 16;
  std::string out;
  char buffer[1024];
  while (out.size() < kMost) {
    const ssize_t count = ::read(fd, buffer, sizeof(buffer));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    out.append(buffer, static_cast<std::size_t>(count));
  }
  return out;
}

Result<LoadTime> measure_once(const std::string& executable, std::vector<std::string> arguments) {
  int ends[2];
  if (::pipe(ends) != 0)
    return io_error("[bench] cannot open a pipe to a new process: {}", std::strerror(errno));
  Descriptor reading(ends[0]);
  Descriptor writing(ends[1]);
  FileActions files;
  ::posix_spawn_file_actions_addclose(&files.actions, reading.get());
  ::posix_spawn_file_actions_adddup2(&files.actions, writing.get(), STDOUT_FILENO);
  ::posix_spawn_file_actions_addopen(&files.actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);

  arguments.insert(arguments.begin(), executable);
  arguments.push_back(std::to_string(now_ns()));
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  pid_t child = 0;
  const int error =
      ::posix_spawn(&child, executable.c_str(), &files.actions, nullptr, argv.data(), environ);
  if (error != 0)
    return io_error("[{}] cannot start this program again: {}", executable, std::strerror(error));
  writing.close();
  const std::string answer = read_all(reading.get());
  int state = 0;
  while (::waitpid(child, &state, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(state) || WEXITSTATUS(state) != 0)
    return internal_error("[bench] the process that loads the model ended with exit code {}",
                          WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state));
  return load_time_from_json(answer);
}

}  // namespace

Result<LoadTime> measure_own_load(const std::string& artifact_dir, exec::Executor& executor,
                                  std::int64_t start_ns) {
  LoadTime out;
  ANEMONE_ASSIGN_OR_RETURN(const auto model, engine::Model::load(artifact_dir, executor));
  ANEMONE_ASSIGN_OR_RETURN(const auto session, engine::Session::create(model));
  out.ready_ms = ms_since(start_ns);
  constexpr std::int32_t kToken = 0;
  ANEMONE_RETURN_IF_ERROR(session->prefill({&kToken, 1}));
  const auto logits = session->logits();
  // The answer is looked at, as who waits for it would.
  if (!logits.empty() && *std::ranges::max_element(logits) != *std::ranges::max_element(logits))
    return internal_error("[bench] the logits are not finite numbers");
  out.first_token_ms = ms_since(start_ns);
  out.memory = memory_use();
  const artifact::Manifest& manifest = model->manifest();
  for (const artifact::FileEntry& file : manifest.files)
    if (file.path.ends_with(".bin")) out.weight_bytes += file.bytes;
  for (const artifact::Shard& shard : manifest.shards)
    for (const artifact::Cache& cache : shard.caches)
      out.cache_bytes +=
          dtype_bytes(cache.dtype, static_cast<std::uint64_t>(element_count(cache.shape)));
  return out;
}

Json load_time_to_json(const LoadTime& load) {
  return {{"ready_ms", load.ready_ms},         {"first_token_ms", load.first_token_ms},
          {"resident", load.memory.resident},  {"anonymous", load.memory.anonymous},
          {"mapped", load.memory.mapped},      {"peak", load.memory.peak},
          {"weight_bytes", load.weight_bytes}, {"cache_bytes", load.cache_bytes}};
}

Result<LoadTime> load_time_from_json(const std::string& text) {
  ANEMONE_ASSIGN_OR_RETURN(const Json json, parse_json(text, "load"));
  LoadTime out;
  const auto read = [&](const char* name, auto& value) {
    const auto it = json.find(name);
    if (it == json.end() || !it->is_number()) return false;
    value = it->template get<std::decay_t<decltype(value)>>();
    return true;
  };
  if (!json.is_object() || !read("ready_ms", out.ready_ms) ||
      !read("first_token_ms", out.first_token_ms) || !read("resident", out.memory.resident) ||
      !read("anonymous", out.memory.anonymous) || !read("mapped", out.memory.mapped) ||
      !read("peak", out.memory.peak) || !read("weight_bytes", out.weight_bytes) ||
      !read("cache_bytes", out.cache_bytes))
    return internal_error(
        "[bench] expected the process that loads the model to print its times, got \"{}\"", text);
  return out;
}

Result<LoadTime> measure_load(const std::string& executable,
                              const std::vector<std::string>& arguments, int repetitions) {
  std::vector<LoadTime> times;
  for (int i = 0; i <= repetitions; ++i) {
    ANEMONE_ASSIGN_OR_RETURN(const LoadTime time, measure_once(executable, arguments));
    if (i > 0) times.push_back(time);
  }
  std::ranges::sort(times, {}, &LoadTime::first_token_ms);
  return times[times.size() / 2];
}

}  // namespace anemone::bench
