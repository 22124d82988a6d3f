// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <memory>
#include <string>

struct ssl_ctx_st;  // SSL_CTX of OpenSSL

namespace anemone::serve {

// The certificate of a server, its private key, and what TLS may be spoken with them: version 1.2
// or 1.3, HTTP/1.1, no renegotiation, no compression. Both files are read once. Immutable and
// thread-safe.
class TlsContext {
 public:
  // `certificate_file`: the server's certificate and those between it and a root, in PEM and in
  // this order. `key_file`: the private key of the first one, in PEM without a passphrase. kIo when
  // a file cannot be read, kParseError when it does not hold that, kInvalidArgument when the key is
  // another one's or OpenSSL finds one of them too weak.
  static Result<std::shared_ptr<const TlsContext>> load(const std::string& certificate_file,
                                                        const std::string& key_file);
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

  ssl_ctx_st* get() const { return context_; }
  // A warning if the certificate has expired or expires within two weeks ("the certificate ends on
  // Feb  1 12:00:00 2026 GMT"); else empty.
  std::string warning() const;

 private:
  explicit TlsContext(ssl_ctx_st* context) : context_(context) {}
  ssl_ctx_st* const context_;
};

}  // namespace anemone::serve
