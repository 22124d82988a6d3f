// SPDX-License-Identifier: Apache-2.0
// Internal to serve/http: how the bytes of a connection come and go, plain or encrypted.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "serve/http/asio_types.h"

namespace anemone::serve {

// The owner of the bytes, which is told the outcome of each handshake, read and write that it
// began. The transport keeps it alive until then, and calls it from the event loop, never from
// within a call of the transport.
class TransportUser {
 public:
  virtual ~TransportUser() = default;
  virtual void handshake_done(const AsioError& error) noexcept = 0;
  virtual void read_done(const AsioError& error, std::size_t bytes) noexcept = 0;
  virtual void write_done(const AsioError& error) noexcept = 0;
};

// The two directions of one accepted socket. At most one read and one write are in progress at a
// time. Calls that begin something may throw std::bad_alloc; then nothing was begun and the
// transport can only be closed. Single-thread.
class Transport {
 public:
  using User = std::shared_ptr<TransportUser>;

  virtual ~Transport() = default;
  // Whether a handshake has to come before everything else.
  virtual bool needs_handshake() const = 0;
  virtual void handshake(User user) = 0;
  // Reads some bytes into a buffer that stays until read_done().
  virtual void read_some(std::span<char> buffer, User user) = 0;
  // Sends all of the bytes, which stay until write_done().
  virtual void write(std::string_view bytes, User user) = 0;
  // Sends what the socket takes at once, when no write is in progress; close() is next.
  virtual void write_at_once(std::string_view bytes) noexcept = 0;
  // Tells the client that nothing more comes, so that it does not take the end for a cut; when no
  // write is in progress. Reads go on.
  virtual void end_sending() noexcept = 0;
  // What is in progress ends with an error.
  virtual void close() noexcept = 0;
};

std::shared_ptr<Transport> make_plain_transport(StreamSocket socket);

}  // namespace anemone::serve
