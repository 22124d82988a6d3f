// SPDX-License-Identifier: Apache-2.0
// A stand-in for the hub on this machine: a repository in memory, and faults to order.
#pragma once

#include <atomic>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace anemone::hub::testing {

// What goes wrong with one request for a content.
struct Fault {
  enum class Kind {
    kNone,
    kStatus,      // answers `status`
    kDrop,        // closes the connection after `bytes` of the body
    kShort,       // says that the content is `bytes` long, and sends so many
    kWrongBytes,  // as many bytes as it should, other ones
    kNoRange,     // sends the whole, whatever part was asked for
    kWrongRange,  // sends from one byte further on
    kTooLong,     // more than it should
    kSilence,     // closes at once
    kStall,       // sends `bytes` of the body and then nothing, until the other side goes
  };
  Kind kind = Kind::kNone;
  int status = 0;
  std::size_t bytes = 0;
};

struct Seen {
  std::string path;
  std::map<std::string, std::string> headers;  // names in lower case
};

class FakeHub {
 public:
  FakeHub();
  ~FakeHub();
  FakeHub(const FakeHub&) = delete;
  FakeHub& operator=(const FakeHub&) = delete;

  std::string endpoint() const;
  static constexpr const char* kCommit = "0123456789abcdef0123456789abcdef01234567";

  // A file of the repository Owner/Model at main; large ones are named by SHA-256 and are answered
  // by a redirection.
  void add(const std::string& path, std::string content, bool is_large);
  // Sets the faults of the next requests for this content, one each.
  void fail(const std::string& path, std::vector<Fault> faults);
  // Sets the faults of the next requests for lists.
  void fail_lists(std::vector<Fault> faults);
  // Refuses requests without this token.
  void require_token(std::string token) { token_ = std::move(token); }
  // Answers requests whose path begins so byte by byte, and closes the connection. The handler gets
  // a function that sends and is false when the other side is gone.
  using Send = std::function<bool(std::string_view)>;
  void answer_raw(const std::string& path, std::function<void(const Send&)> handler);
  // Replaces the answer to the list of files.
  void set_list(std::string json) { list_ = std::move(json); }
  // Files of a page of the list.
  void set_page(std::size_t files) { page_ = files; }

  std::vector<Seen> seen();
  int count(const std::string& path_part);

 private:
  struct File {
    std::string content;
    bool is_large = false;
    std::deque<Fault> faults;
  };
  void serve();
  void talk(int connection);
  bool answer(int connection, const Seen& request);
  bool send_content(int connection, const Seen& request, File& file);
  std::string listing(std::size_t page);

  int listener_ = -1;
  int port_ = 0;
  std::atomic<bool> stopping_ = false;
  std::mutex mutex_;
  std::map<std::string, File> files_;
  std::deque<Fault> list_faults_;
  std::vector<Seen> seen_;
  std::vector<std::pair<std::string, std::function<void(const Send&)>>> raw_;
  std::string token_;
  std::string list_;
  std::size_t page_ = 1000;
  std::vector<std::thread> talks_;
  std::vector<int> connections_;
  std::thread thread_;
};

// Sets a variable of the environment for as long as it lives.
class Variable {
 public:
  Variable(const char* name, const std::string& value);
  ~Variable();
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

std::string text_of(const std::filesystem::path& path);

}  // namespace anemone::hub::testing
