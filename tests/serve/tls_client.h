// SPDX-License-Identifier: Apache-2.0
// A client that speaks TLS, and certificates to test with.
#pragma once

#include <cstdint>
#include <openssl/ssl.h>
#include <string>

#include "tests/serve/http_client.h"

namespace anemone::serve::testing {

// In PEM.
struct CertifiedKey {
  std::string certificate;
  std::string key;
  std::string locked_key;  // the same one, behind a passphrase
};

// A new key on the curve P-256, with a certificate for localhost that it has signed itself and that
// ends in this many days.
CertifiedKey make_certified_key(int days = 100);

// Checks that the server has this certificate. Without a connection when the handshake fails.
class TlsClient : public HttpClient {
 public:
  // `max_version`: of TLS, as OpenSSL numbers it; 0: the newest.
  TlsClient(std::uint16_t port, const std::string& certificate, int max_version = 0);
  ~TlsClient() override;

  bool has_tls() const { return is_ready_; }
  // "TLSv1.3".
  std::string version() const { return SSL_get_version(ssl_); }
  // "http/1.1".
  std::string protocol() const;
  // Whether the server has said that nothing more comes, which a cut does not.
  bool was_told_the_end() const;
  // Asks for new keys of the connection: renegotiates. False when the server does not.
  bool renegotiate();

 private:
  ssize_t read_socket(char* data, std::size_t size) override;
  ssize_t write_socket(const char* data, std::size_t size) override;

  SSL_CTX* context_;
  SSL* ssl_;
  bool is_ready_ = false;
};

}  // namespace anemone::serve::testing
