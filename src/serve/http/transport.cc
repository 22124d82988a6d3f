// SPDX-License-Identifier: Apache-2.0
#include "serve/http/transport.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>
#include <utility>

namespace anemone::serve {
namespace {

class PlainTransport : public Transport {
 public:
  explicit PlainTransport(StreamSocket socket) : socket_(std::move(socket)) {}

  bool needs_handshake() const override { return false; }
  void handshake(User /*user*/) override {}
  void read_some(std::span<char> buffer, User user) override {
    socket_.async_read_some(asio::buffer(buffer.data(), buffer.size()),
                            [user = std::move(user)](const AsioError& error, std::size_t bytes) {
                              user->read_done(error, bytes);
                            });
  }
  void write(std::string_view bytes, User user) override {
    asio::async_write(socket_, asio::buffer(bytes.data(), bytes.size()),
                      [user = std::move(user)](const AsioError& error, std::size_t /*bytes*/) {
                        user->write_done(error);
                      });
  }
  void write_at_once(std::string_view bytes) noexcept override {
    AsioError ignored;
    socket_.non_blocking(true, ignored);
    socket_.write_some(asio::buffer(bytes.data(), bytes.size()), ignored);
  }
  void end_sending() noexcept override {
    AsioError ignored;
    socket_.shutdown(StreamSocket::shutdown_send, ignored);
  }
  void close() noexcept override {
    AsioError ignored;
    socket_.shutdown(StreamSocket::shutdown_both, ignored);
    socket_.close(ignored);
  }

 private:
  StreamSocket socket_;
};

}  // namespace

std::shared_ptr<Transport> make_plain_transport(StreamSocket socket) {
  return std::make_shared<PlainTransport>(std::move(socket));
}

}  // namespace anemone::serve
