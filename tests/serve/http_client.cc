// SPDX-License-Identifier: Apache-2.0
#include "tests/serve/http_client.h"

#include <arpa/inet.h>
#include <array>
#include <charconv>
#include <csignal>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace anemone::serve::testing {
namespace {

constexpr int kPatienceMs = 60'000;

}  // namespace

std::string Answer::header(std::string_view name) const {
  for (const auto& [key, value] : headers)
    if (equal_ignoring_case(key, name)) return value;
  return {};
}

HttpClient::HttpClient(std::uint16_t port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  connect(reinterpret_cast<const sockaddr*>(&address), sizeof(address));
}

HttpClient::HttpClient(const std::string& socket_path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  socket_path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  connect(reinterpret_cast<const sockaddr*>(&address), sizeof(address));
}

void HttpClient::connect(const sockaddr* address, socklen_t size) {
  std::signal(SIGPIPE, SIG_IGN);
  fd_ = ::socket(address->sa_family, SOCK_STREAM, 0);
  if (::connect(fd_, address, size) != 0) close();
}

HttpClient::~HttpClient() {
  close();
}

void HttpClient::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

void HttpClient::end_sending() {
  ::shutdown(fd_, SHUT_WR);
}

void HttpClient::reset() {
  const linger at_once = {1, 0};
  ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
  close();
}

ssize_t HttpClient::read_socket(char* data, std::size_t size) {
  return ::read(fd_, data, size);
}
ssize_t HttpClient::write_socket(const char* data, std::size_t size) {
  return ::write(fd_, data, size);
}

bool HttpClient::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = write_socket(bytes.data(), bytes.size());
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

bool HttpClient::read_more() {
  pollfd wait = {fd_, POLLIN, 0};
  if (fd_ < 0 || ::poll(&wait, 1, kPatienceMs) <= 0) return false;
  std::array<char, 16 * 1024> chunk;
  const ssize_t count = read_socket(chunk.data(), chunk.size());
  if (count <= 0) return false;
  buffer_.append(chunk.data(), static_cast<std::size_t>(count));
  return true;
}

bool HttpClient::read_line(std::string& line) {
  std::size_t end = 0;
  while ((end = buffer_.find("\r\n")) == buffer_.npos)
    if (!read_more()) return false;
  line = buffer_.substr(0, end);
  buffer_.erase(0, end + 2);
  return true;
}

bool HttpClient::read_bytes(std::size_t count, std::string& out) {
  while (buffer_.size() < count)
    if (!read_more()) return false;
  out.append(buffer_, 0, count);
  buffer_.erase(0, count);
  return true;
}

bool HttpClient::wait_for(std::string_view text) {
  while (buffer_.find(text) == buffer_.npos)
    if (!read_more()) return false;
  return true;
}

bool HttpClient::is_closed_by_server() {
  if (!buffer_.empty()) return false;
  pollfd wait = {fd_, POLLIN, 0};
  if (::poll(&wait, 1, kPatienceMs) <= 0) return false;
  char byte = 0;
  return read_socket(&byte, 1) <= 0;
}

Answer HttpClient::receive(bool is_head) {
  Answer answer;
  std::string line;
  if (!read_line(line) || !line.starts_with("HTTP/1.1 ") || line.size() < 12) return answer;
  std::from_chars(line.data() + 9, line.data() + 12, answer.status);
  while (read_line(line) && !line.empty()) {
    const std::size_t colon = line.find(": ");
    answer.headers.emplace_back(line.substr(0, colon), line.substr(colon + 2));
  }
  const std::string length = answer.header("Content-Length");
  if (is_head || answer.status == 204 || answer.status == 100) {
    answer.is_complete = true;
  } else if (!length.empty()) {
    answer.is_complete = read_bytes(std::stoul(length), answer.body);
  } else if (answer.header("Transfer-Encoding") == "chunked") {
    while (read_line(line)) {
      const std::size_t size = std::stoul(line, nullptr, 16);
      if (!read_bytes(size, answer.body) || !read_line(line)) break;
      answer.is_complete = size == 0;
      if (answer.is_complete) break;
    }
  } else {
    while (read_more()) continue;
    answer.body.swap(buffer_);
    answer.is_complete = true;
  }
  return answer;
}

std::string post_text(std::string_view path, std::string_view body, std::string_view more_headers) {
  return fmt::format(
      "POST {} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
      "Content-Length: {}\r\n{}\r\n{}",
      path, body.size(), more_headers, body);
}

std::string get_text(std::string_view path, std::string_view more_headers) {
  return fmt::format("GET {} HTTP/1.1\r\nHost: localhost\r\n{}\r\n", path, more_headers);
}

Answer fetch(std::uint16_t port, std::string_view request) {
  HttpClient client(port);
  client.send(request);
  return client.receive(request.starts_with("HEAD "));
}

std::vector<std::string> events_of(const std::string& body) {
  std::vector<std::string> out;
  std::size_t at = 0;
  while (body.compare(at, 6, "data: ") == 0) {
    const std::size_t end = body.find("\n\n", at);
    if (end == body.npos) break;
    out.push_back(body.substr(at + 6, end - at - 6));
    at = end + 2;
  }
  if (at != body.size()) out.push_back("no event: " + body.substr(at));
  return out;
}

}  // namespace anemone::serve::testing
