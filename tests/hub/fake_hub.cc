// SPDX-License-Identifier: Apache-2.0
#include "tests/hub/fake_hub.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cctype>
#include <csignal>
#include <cstdlib>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "hub/content_hash.h"

namespace anemone::hub::testing {
namespace {

bool send_all(int connection, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::send(connection, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

bool send_answer(int connection, std::string_view status, std::string_view body,
                 std::string_view headers = "") {
  return send_all(connection, fmt::format("HTTP/1.1 {}\r\nContent-Length: {}\r\n{}\r\n{}", status,
                                          body.size(), headers, body));
}

std::string hash_of(const std::string& content, bool is_large) {
  RemoteFile file;
  file.size = content.size();
  file.is_large = is_large;
  Digest hash = content_hash(file);
  hash.update(content);
  return hash.hex();
}

bool read_request(int connection, Seen& request) {
  std::string text;
  while (text.find("\r\n\r\n") == std::string::npos) {
    char block[4096];
    const ssize_t count = ::recv(connection, block, sizeof(block), 0);
    if (count <= 0 || text.size() > 65536) return false;
    text.append(block, static_cast<std::size_t>(count));
  }
  const std::size_t space = text.find(' ');
  request.path = text.substr(space + 1, text.find(' ', space + 1) - space - 1);
  std::size_t at = text.find("\r\n") + 2;
  while (text.compare(at, 2, "\r\n") != 0) {
    const std::size_t end = text.find("\r\n", at);
    const std::size_t colon = text.find(':', at);
    std::string name = text.substr(at, colon - at);
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    request.headers[name] = text.substr(colon + 2, end - colon - 2);
    at = end + 2;
  }
  return true;
}

}  // namespace

FakeHub::FakeHub() {
  listener_ = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* any = reinterpret_cast<sockaddr*>(&address);
  if (::bind(listener_, any, size) != 0 || ::listen(listener_, 16) != 0 ||
      ::getsockname(listener_, any, &size) != 0)
    std::abort();
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { serve(); });
}

FakeHub::~FakeHub() {
  stopping_ = true;
  ::shutdown(listener_, SHUT_RDWR);
  thread_.join();
  {
    const std::lock_guard guard(mutex_);
    for (const int connection : connections_) ::shutdown(connection, SHUT_RDWR);
  }
  for (std::thread& talk : talks_) talk.join();
  for (const int connection : connections_) ::close(connection);
  ::close(listener_);
}

std::string FakeHub::endpoint() const {
  return fmt::format("http://127.0.0.1:{}", port_);
}

void FakeHub::add(const std::string& path, std::string content, bool is_large) {
  files_[path] = {std::move(content), is_large, {}};
}

void FakeHub::fail(const std::string& path, std::vector<Fault> faults) {
  const std::lock_guard guard(mutex_);
  files_.at(path).faults.assign(faults.begin(), faults.end());
}

void FakeHub::fail_lists(std::vector<Fault> faults) {
  const std::lock_guard guard(mutex_);
  list_faults_.assign(faults.begin(), faults.end());
}

void FakeHub::answer_raw(const std::string& path, std::function<void(const Send&)> handler) {
  raw_.emplace_back(path, std::move(handler));
}

std::vector<Seen> FakeHub::seen() {
  const std::lock_guard guard(mutex_);
  return seen_;
}

int FakeHub::count(const std::string& path_part) {
  const auto all = seen();
  return static_cast<int>(std::count_if(all.begin(), all.end(), [&](const Seen& request) {
    return request.path.find(path_part) != std::string::npos;
  }));
}

void FakeHub::serve() {
  while (!stopping_) {
    const int connection = ::accept(listener_, nullptr, nullptr);
    if (connection < 0) return;
    const std::lock_guard guard(mutex_);
    connections_.push_back(connection);
    talks_.emplace_back([this, connection] { talk(connection); });
  }
}

void FakeHub::talk(int connection) {
  Seen request;
  while (read_request(connection, request)) {
    {
      const std::lock_guard guard(mutex_);
      seen_.push_back(request);
    }
    if (!answer(connection, request)) break;
    request = {};
  }
  ::shutdown(connection, SHUT_RDWR);
}

std::string FakeHub::listing(std::size_t page) {
  if (!list_.empty()) return list_;
  std::string out = R"([{"type":"directory","oid":"x","size":0,"path":"folder"})";
  std::size_t i = 0;
  for (const auto& [path, file] : files_) {
    if (i++ / page_ != page) continue;
    const std::string blob = hash_of(file.content, false);
    const std::string large =
        file.is_large ? fmt::format(R"(,"lfs":{{"oid":"{}","size":{},"pointerSize":134}})",
                                    hash_of(file.content, true), file.content.size())
                      : "";
    out += fmt::format(R"(,{{"type":"file","oid":"{}","size":{},"path":"{}"{}}})", blob,
                       file.content.size(), path, large);
  }
  return out + "]";
}

bool FakeHub::answer(int connection, const Seen& request) {
  const std::string api = "/api/models/Owner/Model/";
  const std::string contents = fmt::format("/Owner/Model/resolve/{}/", kCommit);
  for (const auto& [path, handler] : raw_) {
    if (!request.path.starts_with(path)) continue;
    handler([&](std::string_view bytes) { return !stopping_ && send_all(connection, bytes); });
    return false;
  }
  const bool is_list = request.path.starts_with(api);
  const auto authorization = request.headers.find("authorization");
  if (!token_.empty() && !request.path.starts_with("/cdn/") &&
      (authorization == request.headers.end() || authorization->second != "Bearer " + token_))
    return send_answer(connection, "401 Unauthorized", "Invalid credentials");
  if (is_list) {
    Fault fault;
    {
      const std::lock_guard guard(mutex_);
      if (!list_faults_.empty()) {
        fault = list_faults_.front();
        list_faults_.pop_front();
      }
    }
    if (fault.kind == Fault::Kind::kStatus)
      return send_answer(connection, fmt::format("{} Fault", fault.status), "no\n");
    if (fault.kind == Fault::Kind::kSilence) return false;
  }
  if (request.path == api + "revision/main" || request.path == api + "revision/" + kCommit)
    return send_answer(connection, "200 OK", fmt::format(R"({{"sha":"{}"}})", kCommit));
  if (const std::string tree = fmt::format("{}tree/{}?recursive=true", api, kCommit);
      request.path.starts_with(tree)) {
    const std::size_t at = request.path.find("&cursor=");
    const std::size_t page = at == std::string::npos
                                 ? 0
                                 : static_cast<std::size_t>(std::stoi(request.path.substr(at + 8)));
    const std::string more =
        (page + 1) * page_ < files_.size()
            ? fmt::format("Link: <{}{}&cursor={}>; rel=\"next\"\r\n", endpoint(), tree, page + 1)
            : "";
    return send_answer(connection, "200 OK", listing(page), more);
  }
  for (const std::string& prefix : {contents, std::string("/cdn/")}) {
    if (!request.path.starts_with(prefix)) continue;
    const auto found = files_.find(request.path.substr(prefix.size()));
    if (found == files_.end()) break;
    if (found->second.is_large && prefix == contents)
      // Another host, as far as names go.
      return send_answer(
          connection, "302 Found", "",
          fmt::format("Location: http://localhost:{}/cdn/{}\r\n", port_, found->first));
    return send_content(connection, request, found->second);
  }
  return send_answer(connection, "404 Not Found", "Repository not found");
}

bool FakeHub::send_content(int connection, const Seen& request, File& file) {
  Fault fault;
  {
    const std::lock_guard guard(mutex_);
    if (!file.faults.empty()) {
      fault = file.faults.front();
      file.faults.pop_front();
    }
  }
  using Kind = Fault::Kind;
  if (fault.kind == Kind::kSilence) return false;
  if (fault.kind == Kind::kStatus)
    return send_answer(connection, fmt::format("{} Fault", fault.status), "no\n",
                       fault.status == 429 ? "Retry-After: 0\r\n" : "");
  std::size_t begin = 0;
  if (const auto range = request.headers.find("range");
      range != request.headers.end() && fault.kind != Kind::kNoRange)
    begin = static_cast<std::size_t>(std::stoull(range->second.substr(6)));
  if (begin >= file.content.size() && begin > 0)
    return send_answer(connection, "416 Range Not Satisfiable", "");
  if (fault.kind == Kind::kWrongRange) ++begin;
  std::string body = file.content.substr(begin);
  if (fault.kind == Kind::kWrongBytes)
    for (char& c : body) c = static_cast<char>(c ^ 1);
  if (fault.kind == Kind::kTooLong) body += "and more";
  if (fault.kind == Kind::kShort) body.resize(std::min(body.size(), fault.bytes));
  const std::string head =
      begin == 0 ? "200 OK\r\n"
                 : fmt::format("206 Partial Content\r\nContent-Range: bytes {}-{}/{}\r\n", begin,
                               file.content.size() - 1, file.content.size());
  if (!send_all(connection,
                fmt::format("HTTP/1.1 {}Content-Length: {}\r\n\r\n", head, body.size())))
    return false;
  if (fault.kind == Kind::kDrop) {
    send_all(connection, std::string_view(body).substr(0, fault.bytes));
    return false;
  }
  if (fault.kind == Kind::kStall) {
    if (!send_all(connection, std::string_view(body).substr(0, fault.bytes))) return false;
    char byte = 0;
    ::recv(connection, &byte, 1, 0);  // the client asks for nothing more: this is its end
    return false;
  }
  return send_all(connection, body);
}

Variable::Variable(const char* name, const std::string& value) : name_(name) {
  ::setenv(name, value.c_str(), 1);
}
Variable::~Variable() {
  ::unsetenv(name_);
}

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace anemone::hub::testing
