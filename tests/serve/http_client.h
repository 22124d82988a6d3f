// SPDX-License-Identifier: Apache-2.0
// A client that sends bytes as they are, right or wrong, over a real socket.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <sys/types.h>
#include <vector>

#include "serve/http/message.h"

namespace anemone::serve::testing {

struct Answer {
  int status = 0;  // 0: the connection ended before there was one
  HeaderList headers;
  std::string body;  // put together, when it came in chunks
  bool is_complete = false;

  // Empty when there is none.
  std::string header(std::string_view name) const;
};

// Every wait ends after a generous time, with what there is.
class HttpClient {
 public:
  explicit HttpClient(std::uint16_t port);
  explicit HttpClient(const std::string& socket_path);  // of a Unix socket
  virtual ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  bool is_connected() const { return fd_ >= 0; }
  // False when the server has closed.
  bool send(std::string_view bytes);
  // The next answer; without a body when it is to a HEAD.
  Answer receive(bool is_head = false);
  // Waits until the bytes received so far hold `text`; it stays to be received.
  bool wait_for(std::string_view text);
  // Whether the server closes, without another byte.
  bool is_closed_by_server();
  // The server reads the end; its answer can still come.
  void end_sending();
  void close();
  // Ends with a reset, so that a server that writes notices at once.
  void reset();

 protected:
  int descriptor() const { return fd_; }

 private:
  // One read or write of the socket, as those of POSIX.
  virtual ssize_t read_socket(char* data, std::size_t size);
  virtual ssize_t write_socket(const char* data, std::size_t size);
  void connect(const sockaddr* address, socklen_t size);
  bool read_more();
  bool read_line(std::string& line);
  bool read_bytes(std::size_t count, std::string& out);

  int fd_ = -1;
  std::string buffer_;
};

std::string post_text(std::string_view path, std::string_view body,
                      std::string_view more_headers = "");
std::string get_text(std::string_view path, std::string_view more_headers = "");

// One request on a connection of its own.
Answer fetch(std::uint16_t port, std::string_view request);

// The data of every server-sent event of a body.
std::vector<std::string> events_of(const std::string& body);

}  // namespace anemone::serve::testing
