// SPDX-License-Identifier: Apache-2.0
// OpenSSL between two buffers in memory: it takes encrypted bytes from one and leaves them in the
// other, and the socket operations here fill and empty them. So nothing blocks, and writes do not
// wait for reads.
#include "serve/http/tls_transport.h"

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <exception>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <span>
#include <string>
#include <utility>

namespace anemone::serve {
namespace {

// Plain bytes that are encrypted at a time: four records.
constexpr std::size_t kPieceBytes = 64 * 1024;
// What TLS itself may have to say (alerts, new keys) while something else is being sent.
constexpr std::size_t kMaxReplies = 16 * 1024;

struct SslReleaser {
  void operator()(SSL* ssl) const { SSL_free(ssl); }
};
using SslPointer = std::unique_ptr<SSL, SslReleaser>;

class TlsTransport : public Transport, public std::enable_shared_from_this<TlsTransport> {
 public:
  // `ssl` owns the buffers.
  TlsTransport(StreamSocket socket, SslPointer ssl, BIO* received, BIO* to_send)
      : socket_(std::move(socket)), ssl_(std::move(ssl)), received_(received), to_send_(to_send) {}

  bool needs_handshake() const override { return true; }

  void handshake(User user) override { receive(std::move(user), Step::kHandshake, {}); }

  void read_some(std::span<char> buffer, User user) override {
    std::size_t bytes = 0;
    switch (decrypt(buffer, bytes)) {
      case Outcome::kWaits:
        return receive(std::move(user), Step::kRead, buffer);
      case Outcome::kDone:
        return tell_later([user = std::move(user), bytes] { user->read_done({}, bytes); });
      case Outcome::kFailed:
        return tell_later([user = std::move(user)] { user->read_done(asio::error::eof, 0); });
    }
  }

  void write(std::string_view bytes, User user) override {
    unsent_ = bytes;
    const Outcome outcome = send();
    if (outcome == Outcome::kWaits)
      writer_ = std::move(user);
    else
      tell_later([user = std::move(user), error = error_of(outcome)] { user->write_done(error); });
  }

  void write_at_once(std::string_view bytes) noexcept override {
    if (is_sending_ || !encrypt(bytes)) return;
    AsioError ignored;
    socket_.non_blocking(true, ignored);
    char* data = nullptr;
    const long size = BIO_get_mem_data(to_send_, &data);
    if (size > 0) socket_.write_some(asio::buffer(data, static_cast<std::size_t>(size)), ignored);
  }

  void end_sending() noexcept override {
    ERR_clear_error();
    SSL_shutdown(ssl_.get());
    is_ending_ = true;
    try {
      send();
    } catch (const std::exception&) {
      // There is no memory to say it; the client notices the end all the same.
    }
  }

  void close() noexcept override {
    AsioError ignored;
    socket_.shutdown(StreamSocket::shutdown_both, ignored);
    socket_.close(ignored);
    // The event loop may end before the operation is told, and then the two would keep each other.
    unsent_ = {};
    try {
      if (User user = std::exchange(writer_, nullptr); user != nullptr)
        tell_later([user = std::move(user)] { user->write_done(asio::error::operation_aborted); });
    } catch (const std::exception&) {
      // Then the user is only let go.
    }
  }

 private:
  enum class Step { kHandshake, kRead };
  enum class Outcome { kWaits, kDone, kFailed };

  Outcome outcome_of(int result) const {
    if (result > 0) return Outcome::kDone;
    return SSL_get_error(ssl_.get(), result) == SSL_ERROR_WANT_READ ? Outcome::kWaits
                                                                    : Outcome::kFailed;
  }
  std::size_t waiting_bytes() const { return static_cast<std::size_t>(BIO_pending(to_send_)); }
  static AsioError error_of(Outcome outcome) {
    return outcome == Outcome::kFailed ? AsioError(asio::error::connection_aborted) : AsioError();
  }

  Outcome decrypt(std::span<char> buffer, std::size_t& bytes) {
    ERR_clear_error();
    const Outcome outcome =
        outcome_of(SSL_read_ex(ssl_.get(), buffer.data(), buffer.size(), &bytes));
    send();  // what TLS has to say itself
    // A client may ask for such answers again and again and take none of them.
    return waiting_bytes() > kMaxReplies ? Outcome::kFailed : outcome;
  }
  bool encrypt(std::string_view bytes) {
    if (bytes.empty()) return true;
    ERR_clear_error();
    std::size_t count = 0;
    // The buffer has room for everything, so it is all or nothing.
    return SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &count) == 1;
  }

  // Takes more from the socket, and goes on with the step.
  void receive(User user, Step step, std::span<char> buffer) {
    socket_.async_read_some(asio::buffer(chunk_),
                            [self = shared_from_this(), user = std::move(user), step, buffer](
                                const AsioError& error, std::size_t bytes) mutable {
                              self->on_received(std::move(user), step, buffer, error, bytes);
                            });
  }

  void on_received(User user, Step step, std::span<char> buffer, AsioError error,
                   std::size_t bytes) noexcept {
    std::size_t count = 0;
    try {
      const auto size = static_cast<int>(bytes);
      if (!error && BIO_write(received_, chunk_.data(), size) != size)
        error = asio::error::no_memory;
      if (!error) {
        const Outcome outcome =
            step == Step::kRead ? decrypt(buffer, count) : go_on_with_handshake();
        if (outcome == Outcome::kWaits) return receive(user, step, buffer);
        if (outcome == Outcome::kFailed) error = asio::error::eof;
      }
    } catch (const std::exception&) {
      error = asio::error::no_memory;
    }
    if (step == Step::kRead)
      user->read_done(error, count);
    else
      user->handshake_done(error);
  }

  Outcome go_on_with_handshake() {
    ERR_clear_error();
    const Outcome outcome = outcome_of(SSL_do_handshake(ssl_.get()));
    send();
    return outcome;
  }

  // Sends what is encrypted, else encrypts the next piece and sends that; one socket operation at a
  // time. kWaits: one is in progress, and on_sent() goes on. kDone: all is sent.
  Outcome send() {
    if (is_sending_) return Outcome::kWaits;
    if (waiting_bytes() == 0) {
      const std::string_view piece = unsent_.substr(0, kPieceBytes);
      if (!encrypt(piece)) {
        unsent_ = {};
        return Outcome::kFailed;
      }
      unsent_.remove_prefix(piece.size());
    }
    const std::size_t size = waiting_bytes();
    if (size == 0) {
      sending_ = {};
      AsioError ignored;
      if (is_ending_) socket_.shutdown(StreamSocket::shutdown_send, ignored);
      return Outcome::kDone;
    }
    sending_.resize(size);
    BIO_read(to_send_, sending_.data(), static_cast<int>(size));
    asio::async_write(socket_, asio::buffer(sending_),
                      [self = shared_from_this()](const AsioError& error, std::size_t /*bytes*/) {
                        self->on_sent(error);
                      });
    is_sending_ = true;
    return Outcome::kWaits;
  }

  void on_sent(AsioError error) noexcept {
    is_sending_ = false;
    if (error) {
      unsent_ = {};
    } else {
      try {
        const Outcome outcome = send();
        if (outcome == Outcome::kWaits) return;
        error = error_of(outcome);
      } catch (const std::exception&) {
        error = asio::error::no_memory;
      }
    }
    if (const User user = std::exchange(writer_, nullptr); user != nullptr) user->write_done(error);
  }

  template <typename Action>
  void tell_later(Action action) {
    asio::post(socket_.get_executor(), std::move(action));
  }

  StreamSocket socket_;
  const SslPointer ssl_;
  BIO* const received_;  // encrypted bytes of the client
  BIO* const to_send_;   // and for it
  std::array<char, 16 * 1024> chunk_;
  std::string sending_;  // taken from to_send_, on the way
  bool is_sending_ = false;
  bool is_ending_ = false;
  std::string_view unsent_;  // of the write in progress, not encrypted yet
  User writer_;              // null: no write is in progress
};

}  // namespace

std::shared_ptr<Transport> make_tls_transport(StreamSocket socket, const TlsContext& context) {
  SslPointer ssl(SSL_new(context.get()));
  BIO* const received = BIO_new(BIO_s_mem());
  BIO* const to_send = BIO_new(BIO_s_mem());
  if (ssl == nullptr || received == nullptr || to_send == nullptr) {
    BIO_free(received);
    BIO_free(to_send);
    return nullptr;
  }
  SSL_set_bio(ssl.get(), received, to_send);
  SSL_set_accept_state(ssl.get());
  return std::make_shared<TlsTransport>(std::move(socket), std::move(ssl), received, to_send);
}

}  // namespace anemone::serve
