// SPDX-License-Identifier: Apache-2.0
// JSON lines on a Unix socket.
#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <list>
#include <mutex>
#include <nlohmann/json.hpp>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "serve/jsonl/socket_server.h"
#include "tests/serve/jsonl_fixture.h"
#include "tests/support/shared_data.h"

namespace anemone::serve::jsonl {
namespace {

using testing::json_of;

class Client {
 public:
  explicit Client(const std::string& path) : fd_(::socket(AF_UNIX, SOCK_STREAM, 0)) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    is_connected_ =
        ::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  }
  ~Client() { close(); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  bool is_connected() const { return is_connected_; }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }
  void send(const std::string& line) {
    EXPECT_EQ(::write(fd_, line.data(), line.size()), static_cast<ssize_t>(line.size()));
  }
  void end_sending() { ::shutdown(fd_, SHUT_WR); }
  std::string receive() {
    std::string line;
    char byte = 0;
    while (::read(fd_, &byte, 1) == 1 && byte != '\n') line += byte;
    return line;
  }

 private:
  int fd_;
  bool is_connected_ = false;
};

class SocketTest : public JsonlTest {
 protected:
  SocketTest() { EXPECT_EQ(::pipe(stop_.data()), 0); }
  ~SocketTest() override {
    gate_.open();
    stop();
    for (const int end : stop_) ::close(end);
  }
  Status start(SocketOptions options = {}) {
    options.path = path_;
    ANEMONE_ASSIGN_OR_RETURN(server_, SocketServer::listen(*models_, engine_, options));
    thread_ = std::thread([this] { EXPECT_TRUE(server_->run(stop_[0]).ok()); });
    return {};
  }
  // Whether the request that runs comes to be cancelled, in a generous time.
  bool wait_for_cancelling() const {
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (std::chrono::steady_clock::now() < end) {
      if (engine_.counts().cancelling == 1) return true;
      std::this_thread::yield();
    }
    return false;
  }
  void stop() {
    if (!thread_.joinable()) return;
    EXPECT_EQ(::write(stop_[1], "x", 1), 1);
    thread_.join();
    server_.reset();
  }

  anemone::testing::TemporaryFolder folder_;
  std::string path_ = folder_.file("socket");
  std::array<int, 2> stop_;
  std::unique_ptr<SocketServer> server_;
  std::thread thread_;
};

TEST_F(SocketTest, KeepsASessionForEachConnection) {
  ASSERT_TRUE(start().ok());
  struct stat info = {};
  ASSERT_EQ(::lstat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600U);
  Client one(path_), two(path_);
  one.send("{\"prompt_ids\": [1, 2], \"max_new\": 2}\n");
  EXPECT_EQ(json_of(one.receive())["cache_seq_len"], 3);
  two.send("{\"prompt_ids\": [7], \"max_new\": 2, \"reset\": false}\n");
  EXPECT_EQ(json_of(two.receive())["cache_seq_len"], 2);
  one.send("{\"prompt_ids\": [3], \"max_new\": 2, \"reset\": false}\nbad\n");
  one.end_sending();
  EXPECT_EQ(json_of(one.receive())["cache_seq_len"], 5);
  EXPECT_EQ(json_of(one.receive())["ok"], false);
  stop();
  EXPECT_NE(::lstat(path_.c_str(), &info), 0) << "the file goes with the server";
}

TEST_F(SocketTest, EndsTheRequestOfAClientThatLeaves) {
  ASSERT_TRUE(start().ok());
  gate_.close();
  {
    Client gone(path_);
    gone.send("{\"prompt\": \"x\", \"max_new\": 300}\n");
    ASSERT_TRUE(gate_.wait_for_waiting(1));
  }
  EXPECT_TRUE(wait_for_cancelling());
  gate_.open();
  // The only place is free for the next one soon.
  Client next(path_);
  next.send("{\"prompt\": \"x\", \"max_new\": 1}\n");
  EXPECT_EQ(json_of(next.receive())["text"], "b");
  EXPECT_LT(model_->runs(), 300);
}

TEST_F(SocketTest, EndsRequestsWhenItStops) {
  ASSERT_TRUE(start().ok());
  gate_.close();
  Client client(path_);
  client.send("{\"prompt\": \"x\", \"max_new\": 300}\n");
  ASSERT_TRUE(gate_.wait_for_waiting(1));
  ASSERT_EQ(::write(stop_[1], "x", 1), 1);
  EXPECT_TRUE(wait_for_cancelling());
  gate_.open();
  EXPECT_EQ(json_of(client.receive())["ok"], false);
  thread_.join();
  EXPECT_LT(model_->runs(), 300);
}

TEST_F(SocketTest, StopsAlthoughAClientDoesNotReadItsAnswers) {
  ASSERT_TRUE(start().ok());
  Client client(path_);
  std::string lines;
  for (int i = 0; i < 20'000; ++i) lines += "bad\n";  // the answers are far longer
  client.send(lines);
  stop();
  EXPECT_FALSE(Client(path_).is_connected());
}

TEST_F(SocketTest, TakesNoMoreConnectionsThanItMay) {
  SocketOptions options;
  options.max_connections = 1;
  ASSERT_TRUE(start(options).ok());
  gate_.close();
  Client one(path_);
  one.send("{\"prompt\": \"x\", \"max_new\": 1}\n");
  ASSERT_TRUE(gate_.wait_for_waiting(1));
  Client two(path_);
  EXPECT_EQ(json_of(two.receive())["ok"], false);
  gate_.open();
  EXPECT_EQ(json_of(one.receive())["ok"], true);
}

TEST_F(SocketTest, AClientThatHasAPartOfItsAnswerIsBusy) {
  SocketOptions options;
  options.max_connections = 1;
  ASSERT_TRUE(start(options).ok());
  gate_.close();
  Client one(path_);
  one.send("{\"prompt\": \"x\", \"max_new\": 3, \"stream\": true}\n");
  gate_.permit(1);
  EXPECT_TRUE(json_of(one.receive()).contains("delta"));
  Client two(path_);
  EXPECT_EQ(json_of(two.receive())["code"], "busy");
  gate_.open();
  Json last;
  while (!last.contains("ok")) last = json_of(one.receive());
  EXPECT_EQ(last["text"], "bcd");
}

TEST_F(SocketTest, WelcomesAClientAfterManyThatAreYoung) {
  SocketOptions options;
  options.max_connections = 2;
  ASSERT_TRUE(start(options).ok());
  std::list<Client> young;
  for (int i = 0; i < 4; ++i) young.emplace_back(path_).send("{");
  Client client(path_);
  client.send("{\"prompt\": \"x\", \"max_new\": 1}\n");
  EXPECT_EQ(json_of(client.receive())["ok"], true);
}

TEST_F(SocketTest, DropsWhoWaitsLongestForOthers) {
  SocketOptions options;
  options.max_connections = 2;
  ASSERT_TRUE(start(options).ok());
  const std::string request = "{\"prompt\": \"x\", \"max_new\": 1}\n";
  Client idle(path_);
  idle.send(request);
  EXPECT_EQ(json_of(idle.receive())["ok"], true);
  Client busy(path_);
  gate_.close();
  busy.send(request);
  ASSERT_TRUE(gate_.wait_for_waiting(1));
  Client next(path_);
  EXPECT_EQ(idle.receive(), "") << "closed";
  next.send(request);
  gate_.open();
  EXPECT_EQ(json_of(busy.receive())["ok"], true);
  EXPECT_EQ(json_of(next.receive())["ok"], true);
}

TEST_F(SocketTest, EndsConnectionsThatTakeTooLong) {
  SocketOptions options;
  options.timeouts = {.idle = std::chrono::milliseconds(200),
                      .line = std::chrono::milliseconds(200)};
  ASSERT_TRUE(start(options).ok());
  Client idle(path_), slow(path_);
  slow.send("{\"prompt\"");
  for (Client* client : {&idle, &slow}) {
    EXPECT_EQ(json_of(client->receive())["ok"], false);
    EXPECT_EQ(client->receive(), "") << "closed";
  }
  // An answer may take longer.
  gate_.close();
  Client patient(path_);
  patient.send("{\"prompt\": \"x\", \"max_new\": 1}\n");
  ASSERT_TRUE(gate_.wait_for_waiting(1));
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  gate_.open();
  EXPECT_EQ(json_of(patient.receive())["ok"], true);
}

TEST_F(SocketTest, StopsInTheMiddleOfALine) {
  ASSERT_TRUE(start().ok());
  Client half(path_);
  half.send("{\"prompt\": \"");
  stop();
  EXPECT_EQ(half.receive(), "");
}

TEST_F(SocketTest, LeavesWhatIsNotItsOwn) {
  ASSERT_TRUE(start().ok());
  // Somebody put another file in its place.
  ASSERT_EQ(::unlink(path_.c_str()), 0);
  std::ofstream(path_) << "text";
  stop();
  EXPECT_EQ(std::ifstream(path_).get(), 't');
  // Nothing is left of the name that the socket had at first.
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
    files += 1;
    EXPECT_EQ(entry.path().string(), path_);
  }
  EXPECT_EQ(files, 1U);
}

TEST_F(SocketTest, OneOfSeveralTakesADeadSocketOver) {
  {
    auto dead = SocketFile::listen(path_);
    ASSERT_TRUE(dead.ok());
    // Its file stays, as of a process that was killed.
    std::filesystem::create_hard_link(path_, folder_.file("kept"));
  }
  std::filesystem::rename(folder_.file("kept"), path_);
  std::vector<Result<SocketFile>> files;
  std::mutex mutex;
  std::vector<std::thread> servers;
  for (int i = 0; i < 8; ++i)
    servers.emplace_back([&] {
      auto file = SocketFile::listen(path_);
      const std::lock_guard lock(mutex);
      files.push_back(std::move(file));
    });
  for (std::thread& server : servers) server.join();
  EXPECT_EQ(std::ranges::count_if(files, [](const auto& file) { return file.ok(); }), 1);
  EXPECT_TRUE(Client(path_).is_connected());
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
    EXPECT_EQ(entry.path().string(), path_);
}

TEST_F(SocketTest, ReplacesADeadSocketAndNothingElse) {
  {
    // Bound, and never unlinked.
    const int dead = ::socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    path_.copy(address.sun_path, sizeof(address.sun_path) - 1);
    ASSERT_EQ(::bind(dead, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    ::close(dead);
  }
  ASSERT_TRUE(start().ok());
  EXPECT_TRUE(Client(path_).is_connected());
  SocketOptions options;
  options.path = path_;
  EXPECT_EQ(SocketServer::listen(*models_, engine_, options).status().code(), Code::kIo)
      << "in use";
  EXPECT_TRUE(Client(path_).is_connected()) << "and still there";
  options.path = folder_.file("file");
  std::ofstream(options.path) << "text";
  EXPECT_EQ(SocketServer::listen(*models_, engine_, options).status().code(), Code::kIo);
  EXPECT_EQ(std::ifstream(options.path).get(), 't');
  options.path = folder_.file(std::string(200, 'x'));
  EXPECT_EQ(SocketServer::listen(*models_, engine_, options).status().code(),
            Code::kInvalidArgument);
  options.path = folder_.file("no/folder");
  EXPECT_EQ(SocketServer::listen(*models_, engine_, options).status().code(), Code::kIo);
}

}  // namespace
}  // namespace anemone::serve::jsonl
