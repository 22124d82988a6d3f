// SPDX-License-Identifier: Apache-2.0
#include "tests/cli/hostile.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "tests/support/sanitized.h"

namespace anemone::cli {
namespace {

namespace fs = std::filesystem;
using anemone::testing::source_path;
using anemone::testing::TemporaryFolder;
using Clock = std::chrono::steady_clock;

constexpr auto kTimeLimit = std::chrono::seconds(testing::kIsSanitized ? 60 : 10);
constexpr std::uint64_t kMemoryLimit = 1'000'000'000;

// What the cases of this process needed, printed at its end.
struct Totals : public ::testing::Environment {
  int refusals = 0;
  double slowest_seconds = 0;
  std::uint64_t max_bytes = 0;
  void TearDown() override {
    std::printf("%d refusals in %d tests; the slowest took %.2f s, the largest %.0f MB\n", refusals,
                ::testing::UnitTest::GetInstance()->test_to_run_count(), slowest_seconds,
                static_cast<double>(max_bytes) / 1e6);
  }
};
Totals& totals() {
  // googletest owns it.
  static auto* const all = static_cast<Totals*>(::testing::AddGlobalTestEnvironment(new Totals));
  return *all;
}
const Totals& registered = totals();  // before the tests run

[[noreturn]] void become_anemone(const std::vector<std::string>& words,
                                 const TemporaryFolder& folder) {
  if (!testing::kIsSanitized) {
    const rlimit limit = {kMemoryLimit, kMemoryLimit};
    ::setrlimit(RLIMIT_AS, &limit);
  }
  ::dup2(::open("/dev/null", O_RDONLY), STDIN_FILENO);
  ::dup2(::open(folder.file("out").c_str(), O_WRONLY | O_CREAT, 0600), STDOUT_FILENO);
  ::dup2(::open(folder.file("err").c_str(), O_WRONLY | O_CREAT, 0600), STDERR_FILENO);
  std::vector<char*> argv = {const_cast<char*>(ANEMONE_BINARY)};
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  ::execv(ANEMONE_BINARY, argv.data());
  ::_exit(127);
}

std::uint64_t resident_bytes(const rusage& usage) {
#ifdef __APPLE__
  return static_cast<std::uint64_t>(usage.ru_maxrss);
#else
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
#endif
}

}  // namespace

Outcome run_limited(const std::vector<std::string>& words) {
  const TemporaryFolder folder;
  const auto start = Clock::now();
  const pid_t pid = ::fork();
  if (pid == 0) become_anemone(words, folder);
  int status = 0;
  rusage usage = {};
  while (::wait4(pid, &status, WNOHANG, &usage) == 0) {
    if (Clock::now() - start > kTimeLimit) {
      ADD_FAILURE() << "still running after " << kTimeLimit.count()
                    << " s: " << fmt::format("{}", fmt::join(words, " "));
      ::kill(pid, SIGKILL);
      ::wait4(pid, &status, 0, &usage);
      break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_LT(resident_bytes(usage), kMemoryLimit);
  EXPECT_FALSE(WIFSIGNALED(status)) << "signal " << WTERMSIG(status);
  totals().slowest_seconds = std::max(totals().slowest_seconds,
                                      std::chrono::duration<double>(Clock::now() - start).count());
  totals().max_bytes = std::max(totals().max_bytes, resident_bytes(usage));
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, contents(folder.file("out")),
          contents(folder.file("err"))};
}

void expect_refusal(const Outcome& outcome, int code) {
  ++totals().refusals;
  const bool is_right =
      code != 0 ? outcome.code == code
                : outcome.code == kBadInput || outcome.code == kUnsupported || outcome.code == kIo;
  EXPECT_TRUE(is_right) << "expected exit code " << code << ", got " << outcome.code << "\n"
                        << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_TRUE(outcome.err.starts_with("anemone: ")) << outcome.err;
  EXPECT_LE(outcome.err.size(), 401u);  // with the line end
  ASSERT_FALSE(outcome.err.empty());
  EXPECT_EQ(outcome.err.find('\n'), outcome.err.size() - 1) << outcome.err;
  for (const char c : outcome.err.substr(0, outcome.err.size() - 1))
    EXPECT_TRUE(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f) << outcome.err;
}

void PrintTo(const Case& one, std::ostream* out) {
  *out << one.name;
}

std::string case_name(const ::testing::TestParamInfo<Case>& test) {
  std::string name = test.param.name;
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  return fmt::format("{}_{}", name, test.index);
}

void write_text(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

std::string tiny_checkpoint() {
  return source_path("tests/compiler/data/tiny/qwen2");
}

const std::string& tiny_artifact() {
  static const TemporaryFolder folder;
  static const std::string path = [] {
    const std::string made = folder.file("artifact");
    const Outcome outcome =
        run_anemone("compile " + tiny_checkpoint() + " --quant-threshold 0 -o " + made);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return made;
  }();
  return path;
}

DamageFolder bytes_of(const std::string& file, const std::function<void(std::string&)>& edit) {
  return [=](const std::string& folder) {
    std::string bytes = contents(folder + "/" + file);
    edit(bytes);
    write_text(folder + "/" + file, bytes);
  };
}

DamageFolder json_of(const std::string& file, const std::string& pointer, const Json& value) {
  return bytes_of(file, [=](std::string& text) {
    auto json = parse_json(text, file);
    ASSERT_TRUE(json.ok()) << json.status().message();
    (*json)[Json::json_pointer(pointer)] = value;
    text = dump_json(*json);
  });
}

DamageFolder json_without(const std::string& file, const std::string& pointer) {
  return bytes_of(file, [=](std::string& text) {
    auto json = parse_json(text, file);
    ASSERT_TRUE(json.ok()) << json.status().message();
    const Json::json_pointer at(pointer);
    ASSERT_EQ((*json)[at.parent_pointer()].erase(at.back()), 1u);
    text = dump_json(*json);
  });
}

DamageFolder header_of(const std::string& file, const std::function<void(Json&)>& edit) {
  return bytes_of(file, [=](std::string& bytes) {
    std::uint64_t length = 0;
    std::memcpy(&length, bytes.data(), sizeof length);
    auto json = parse_json(bytes.substr(8, length), file);
    ASSERT_TRUE(json.ok());
    const std::string data = bytes.substr(8 + length);
    edit(*json);
    const std::string text = dump_json(*json);
    length = text.size();
    bytes.assign(reinterpret_cast<const char*>(&length), sizeof length);
    bytes += text + data;
  });
}

DamageFolder first_tensor(const std::string& file, const std::string& key, const Json& value) {
  return header_of(file, [=](Json& json) {
    for (auto& [name, entry] : json.items()) {
      if (name == "__metadata__") continue;
      entry[key] = value;
      return;
    }
  });
}

DamageFolder odd(const std::string& file, const std::string& kind) {
  return [=](const std::string& folder) {
    const std::string path = folder + "/" + file;
    fs::remove_all(path);
    if (kind == "folder") fs::create_directory(path);
    if (kind == "loop") fs::create_symlink(fs::path(path).filename(), path);
    if (kind == "pipe") {
      ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    }
    if (kind == "endless") fs::create_symlink("/dev/zero", path);
  };
}

}  // namespace anemone::cli
