// SPDX-License-Identifier: Apache-2.0
// The files that `anemone serve` reads and writes beside its models: API keys, certificates, the
// ready file.
#include "cli/serve_files.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>
#include <vector>

#include "base/json.h"
#include "cli/file_watch.h"
#include "cli/serve_reread.h"
#include "tests/cli/process.h"
#include "tests/cli/serve_command.h"
#include "tests/cli/serve_process.h"
#include "tests/serve/http_client.h"
#include "tests/serve/tls_client.h"

namespace anemone::cli {
namespace {

using serve::testing::fetch;
using serve::testing::get_text;
using serve::testing::post_text;

// The status of a list of models with this key.
int status_with(const ServeProcess& server, const std::string& key) {
  return fetch(server.port(), get_text("/v1/models", "X-Api-Key: " + key + "\r\n")).status;
}

TEST_F(ServeCommand, TakesTheKeyFromAFileOrTheEnvironment) {
  const anemone::testing::TemporaryFolder folder;
  std::ofstream(folder.file("key")) << "# clients\nof-the-file\r\n\nof-another-client\n";
  std::ofstream(folder.file("none")) << "# no keys\n\n";
  std::ofstream(folder.file("bad")) << "good\nis no key\n";
  std::ofstream(folder.file("rate")) << "good rate=5/min\n# ...\nis-no-key rate=fast\n";
  std::ofstream(folder.file("name")) << "good\n\nis-no-key speed=9 \n";
  std::ofstream(folder.file("two")) << "is-no-key\nis-no-key concurrency=1\n";
  std::ofstream(folder.file("limits")) << "fast\nslow\tconcurrency=4  rate=1/h \nfast\n";
  ::setenv("ANEMONE_API_KEY", "of-the-environment", 1);
  {
    const ServeProcess server(model(), ready());
    EXPECT_EQ(status_with(server, "of-the-environment"), 200);
    EXPECT_EQ(status_with(server, "other"), 401);
  }
  {
    const ServeProcess server(model(), ready(), {"--api-key-file", folder.file("key")});
    EXPECT_EQ(status_with(server, "of-the-file"), 200);
    EXPECT_EQ(status_with(server, "of-another-client"), 200);
    EXPECT_EQ(status_with(server, "# clients"), 401);
    EXPECT_EQ(status_with(server, "of-the-environment"), 401);
  }
  {
    const ServeProcess server(model(), ready(), {"--api-key-file", folder.file("limits")});
    const auto post = [&](const std::string& key) {
      return fetch(server.port(),
                   post_text("/v1/completions", R"({"prompt": "x", "max_tokens": 1})",
                             "X-Api-Key: " + key + "\r\n"))
          .status;
    };
    EXPECT_EQ(post("slow"), 200);
    EXPECT_EQ(post("slow"), 429);
    EXPECT_EQ(status_with(server, "slow"), 200) << "what is only told is not counted";
    EXPECT_EQ(post("fast"), 200);
    EXPECT_EQ(post("fast"), 200);
  }
  {
    const ServeProcess server(model(), ready(), {"--api-key", "of-the-line"});
    EXPECT_EQ(status_with(server, "of-the-line"), 200);
    EXPECT_EQ(status_with(server, "of-the-environment"), 401);
  }
  ::setenv("ANEMONE_API_KEY", "", 1);
  EXPECT_EQ(serve("--port 0").code, 2) << "empty is no key";
  const std::vector<std::pair<const char*, const char*>> files = {
      {"none", "an API key in each line"},
      {"bad", "line 2"},
      {"rate", "line 3"},
      {"name", "line 3"},
      {"two", "line 2"}};
  for (const auto& [name, part] : files) {
    const Outcome outcome = serve("--port 0 --api-key-file '" + folder.file(name) + "'");
    EXPECT_EQ(outcome.code, 2) << outcome.err;
    EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err;
    for (const char* shown : {"no key", "no-key", "fast", "speed"})
      EXPECT_EQ(outcome.err.find(shown), std::string::npos) << "a key is not shown";
  }
  EXPECT_EQ(serve("--stdin").code, 0) << "which only HTTP has";
  ::unsetenv("ANEMONE_API_KEY");
}

TEST_F(ServeCommand, ReadsItsKeysAgainWhenTheirFileChanges) {
  const testing::TemporaryFolder folder;
  const std::string path = folder.file("keys");
  std::ofstream(path) << "old\nkept\n";
  const ServeProcess server(model(), ready(), {"--api-key-file", path});
  EXPECT_EQ(status_with(server, "old"), 200);
  EXPECT_EQ(status_with(server, "new"), 401);
  const auto wait_for = [&](const std::string& key, int status) {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (status_with(server, key) != status && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return status_with(server, key);
  };
  std::ofstream(path) << "kept\nnew\n";
  EXPECT_EQ(wait_for("new", 200), 200);
  EXPECT_EQ(status_with(server, "old"), 401);
  EXPECT_EQ(status_with(server, "kept"), 200);
  // Another file in its place, as editors and certificate tools write them.
  std::ofstream(folder.file("next")) << "newest\n";
  std::filesystem::rename(folder.file("next"), path);
  EXPECT_EQ(wait_for("newest", 200), 200);
  EXPECT_EQ(status_with(server, "new"), 401);
  // What is no file of keys changes nothing.
  std::ofstream(path) << "is no key\n";
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  EXPECT_EQ(status_with(server, "newest"), 200);
  EXPECT_EQ(status_with(server, "is"), 401);
  std::filesystem::remove(path);
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  EXPECT_EQ(status_with(server, "newest"), 200);
  std::ofstream(path) << "last\n";
  EXPECT_EQ(wait_for("last", 200), 200);
}

TEST_F(ServeCommand, ReadsItsCertificateAgainWhenItsFilesChange) {
  const testing::TemporaryFolder folder;
  const auto write = [&](const serve::testing::CertifiedKey& certified) {
    std::ofstream(folder.file("key")) << certified.key;
    std::ofstream(folder.file("cert")) << certified.certificate;
  };
  const auto first = serve::testing::make_certified_key();
  write(first);
  const ServeProcess server(model(), ready(),
                            {"--tls-cert", folder.file("cert"), "--tls-key", folder.file("key")});
  const auto has = [&](const serve::testing::CertifiedKey& certified) {
    return serve::testing::TlsClient(server.port(), certified.certificate).has_tls();
  };
  EXPECT_TRUE(has(first));
  const auto second = serve::testing::make_certified_key();
  write(second);
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (!has(second) && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_TRUE(has(second));
  EXPECT_FALSE(has(first));
  // The key of another certificate changes nothing.
  std::ofstream(folder.file("key")) << first.key;
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  EXPECT_TRUE(has(second));
}

TEST(FileWatch, TellsWhatHasChangedOnceASecond) {
  const testing::TemporaryFolder folder;
  const std::string path = folder.file("file");
  std::ofstream(path) << "1";
  FileWatch::Clock::time_point now{};
  FileWatch watch({path}, [&] { return now; });
  const auto look = [&] {
    now += std::chrono::seconds(1);
    return watch.has_changed();
  };
  EXPECT_EQ(*look(), false);
  std::ofstream(path) << "22";
  EXPECT_EQ(*watch.has_changed(), false) << "it has just looked";
  EXPECT_EQ(*look(), true);
  EXPECT_EQ(*look(), false);
  std::filesystem::remove(path);
  const auto gone = look();
  EXPECT_EQ(gone.status().code(), Code::kIo);
  EXPECT_EQ(*look(), false) << "the error is given once";
  std::ofstream(path) << "22";
  EXPECT_EQ(*look(), true);
}

TEST(KeysOfAFile, AreSaidToStayInOneLine) {
  const testing::TemporaryFolder folder;
  ServeOptions options;
  options.key.file = folder.file("keys");
  std::ofstream(options.key.file) << "secret-one\n";
  const auto reread = reread_keys(options);
  ASSERT_TRUE(reread != nullptr);
  EXPECT_FALSE(reread().has_value());
  std::ofstream(options.key.file) << "secret two three\n";
  // It looks at the file a second after it was made.
  std::string lines;
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (lines.empty() && std::chrono::steady_clock::now() < end) {
    ::testing::internal::CaptureStderr();
    EXPECT_FALSE(reread().has_value());
    lines = ::testing::internal::GetCapturedStderr();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_TRUE(lines.starts_with("anemone: cannot read the API keys again: ")) << lines;
  EXPECT_NE(lines.find("line 1"), std::string::npos) << lines;
  EXPECT_EQ(std::ranges::count(lines, '\n'), 1) << lines;
  EXPECT_EQ(lines.find("secret"), std::string::npos) << lines;
  options.key.file.clear();
  EXPECT_TRUE(reread_keys(options) == nullptr);
}

// A log of JSON has no other lines.
TEST_F(ServeCommand, LogsTheWarningAboutACertificate) {
  const testing::TemporaryFolder folder;
  const auto expired = serve::testing::make_certified_key(-2);
  std::ofstream(folder.file("cert")) << expired.certificate;
  std::ofstream(folder.file("key")) << expired.key;
  const std::string flags = "--port 0 --models-memory 1kb --tls-cert '" + folder.file("cert") +
                            "' --tls-key '" + folder.file("key") + "'";
  const Outcome text = serve(flags);
  EXPECT_TRUE(text.err.starts_with("anemone: [--tls-cert] the certificate ended on ")) << text.err;
  const Outcome log = serve(flags + " --log-format json");
  const auto json = parse_json(log.err.substr(0, log.err.find('\n')), "line");
  ASSERT_TRUE(json.ok()) << log.err;
  EXPECT_EQ((*json)["event"], "tls_certificate");
  EXPECT_TRUE((*json)["warning"].get<std::string>().starts_with("the certificate ended on "));
}

TEST_F(ServeCommand, LeavesAReadyFileAloneThatIsNoReadyFile) {
  const anemone::testing::TemporaryFolder folder;
  const std::string path = folder.file("diary");
  for (const char* text : {"dear diary\n", "http://127.0.0.1:1\nand more\n"}) {
    std::ofstream(path) << text;
    const Outcome outcome = serve("--port 0 --ready-file '" + path + "'");
    EXPECT_EQ(outcome.code, 5) << outcome.err;
    EXPECT_NE(outcome.err.find("diary"), std::string::npos);
    EXPECT_EQ(contents(path), text);
  }
  std::filesystem::remove(path);
  std::filesystem::create_symlink(folder.file("elsewhere"), path);
  EXPECT_EQ(serve("--port 0 --ready-file '" + path + "'").code, 5);
  for (const std::string& other : {folder.file("none") + "/ready", folder.file(""),
                                   std::string("/dev/full"), std::string("/dev/null")}) {
    const Outcome outcome = serve("--port 0 --ready-file '" + other + "'");
    EXPECT_EQ(outcome.code, 5) << outcome.err;
    EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 1) << outcome.err;
  }
}

TEST(ReadyFile, IsThatOfOneServer) {
  const testing::TemporaryFolder folder;
  const std::string path = folder.file("ready");
  {
    auto ready = ReadyFile::prepare(path);
    ASSERT_TRUE(ready.ok());
    ASSERT_TRUE(ready->write("http://127.0.0.1:1").ok());
    const auto second = ReadyFile::prepare(path);
    EXPECT_EQ(second.status().code(), Code::kIo);
    EXPECT_NE(second.status().message().find("a server that runs"), std::string::npos);
    EXPECT_EQ(contents(path), "http://127.0.0.1:1\n");
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(ReadyFile, ReplacesNothingThatCameMeanwhile) {
  const anemone::testing::TemporaryFolder folder;
  const std::string path = folder.file("ready");
  std::ofstream(path) << "http://127.0.0.1:1\n";
  {
    auto ready = ReadyFile::prepare(path);
    ASSERT_TRUE(ready.ok()) << ready.status().message();
    EXPECT_FALSE(std::filesystem::exists(path)) << "of a server that is gone";
    std::ofstream(path) << "dear diary\n";
    EXPECT_EQ(ready->write("http://127.0.0.1:2").code(), Code::kIo);
  }
  EXPECT_EQ(contents(path), "dear diary\n");
  std::filesystem::remove(path);
  {
    auto ready = ReadyFile::prepare(path);
    ASSERT_TRUE(ready.ok());
    EXPECT_TRUE(ready->write("http://127.0.0.1:2").ok());
    EXPECT_EQ(contents(path), "http://127.0.0.1:2\n");
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

// The error comes before the server listens, and so before the models are read.
TEST_F(ServeCommand, RefusesAPlaceWhereNoReadyFileCanBe) {
  const anemone::testing::TemporaryFolder folder;
  std::filesystem::create_directory(folder.file("folder"));
  std::vector<std::string> places = {folder.file("absent/ready"), "/proc/ready",
                                     folder.file("folder"), folder.file("folder/.")};
  for (const std::string& place : places) {
    SCOPED_TRACE(place);
    const Outcome outcome = serve("--port 0 --ready-file '" + place + "'");
    EXPECT_EQ(outcome.code, 5) << outcome.err;
    EXPECT_EQ(outcome.err.find("serving"), std::string::npos) << outcome.err;
  }
}

}  // namespace
}  // namespace anemone::cli
