// SPDX-License-Identifier: Apache-2.0
#include "serve/http/tls_context.h"

#include <algorithm>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <string_view>

#include "base/error.h"
#include "base/file.h"

namespace anemone::serve {
namespace {

constexpr std::size_t kMaxFileBytes = std::size_t{1} << 20;

template <auto release>
struct Releaser {
  template <typename T>
  void operator()(T* object) const {
    release(object);
  }
};
using BioPointer = std::unique_ptr<BIO, Releaser<BIO_free>>;
using CertificatePointer = std::unique_ptr<X509, Releaser<X509_free>>;
using KeyPointer = std::unique_ptr<EVP_PKEY, Releaser<EVP_PKEY_free>>;

// What OpenSSL says of its last error.
std::string reason() {
  const unsigned long code = ERR_peek_last_error();
  const char* const text = ERR_reason_error_string(code);
  ERR_clear_error();
  return text == nullptr ? "unknown error" : text;
}

// Nobody is asked for a passphrase.
int no_passphrase(char* /*buffer*/, int /*size*/, int /*is_writing*/, void* /*data*/) {
  return -1;
}

BioPointer bio_of(std::string_view text) {
  return BioPointer(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

Status use_certificates(SSL_CTX* context, const std::string& path) {
  ANEMONE_ASSIGN_OR_RETURN(const std::string text, read_file(path, kMaxFileBytes));
  const BioPointer bio = bio_of(text);
  bool is_first = true;
  while (true) {
    ERR_clear_error();
    CertificatePointer certificate(PEM_read_bio_X509(bio.get(), nullptr, no_passphrase, nullptr));
    if (certificate == nullptr) {
      // The end of the file, which has no further beginning of anything.
      const bool is_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
      if (is_end && !is_first) break;
      return parse_error("[{}] expected certificates in PEM, got {}", path,
                         is_end ? "none" : reason());
    }
    const bool is_taken = is_first ? SSL_CTX_use_certificate(context, certificate.get()) == 1
                                   : SSL_CTX_add1_chain_cert(context, certificate.get()) == 1;
    if (!is_taken)
      return invalid_argument("[{}] expected a certificate for TLS, got one with: {}", path,
                              reason());
    is_first = false;
  }
  ERR_clear_error();
  return {};
}

Status use_key(SSL_CTX* context, const std::string& path, const std::string& certificate_file) {
  ANEMONE_ASSIGN_OR_RETURN(const std::string text, read_file(path, kMaxFileBytes));
  ERR_clear_error();
  const KeyPointer key(
      PEM_read_bio_PrivateKey(bio_of(text).get(), nullptr, no_passphrase, nullptr));
  if (key == nullptr) {
    ERR_clear_error();
    return parse_error("[{}] expected a private key in PEM without a passphrase, got none", path);
  }
  if (SSL_CTX_use_PrivateKey(context, key.get()) == 1 && SSL_CTX_check_private_key(context) == 1)
    return {};
  ERR_clear_error();
  return invalid_argument("[{}] expected the private key of {}, got another", path,
                          certificate_file);
}

// The only protocol that is spoken here; clients that offer HTTP/2 as well take it.
int choose_protocol(SSL* /*ssl*/, const unsigned char** chosen, unsigned char* chosen_size,
                    const unsigned char* offered, unsigned offered_size, void* /*data*/) {
  constexpr std::string_view kHttp = "http/1.1";
  for (unsigned at = 0; at < offered_size; at += 1U + offered[at]) {
    const unsigned size = std::min<unsigned>(offered[at], offered_size - at - 1);
    if (std::string_view(reinterpret_cast<const char*>(offered) + at + 1, size) != kHttp) continue;
    *chosen = offered + at + 1;
    *chosen_size = static_cast<unsigned char>(size);
    return SSL_TLSEXT_ERR_OK;
  }
  return SSL_TLSEXT_ERR_NOACK;
}

}  // namespace

Result<std::shared_ptr<const TlsContext>> TlsContext::load(const std::string& certificate_file,
                                                           const std::string& key_file) {
  ERR_clear_error();
  SSL_CTX* const context = SSL_CTX_new(TLS_server_method());
  if (context == nullptr) return internal_error("[TLS] cannot be set up: {}", reason());
  std::shared_ptr<const TlsContext> out(new TlsContext(context));
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  // A client that renegotiates makes the server sign again and again.
  SSL_CTX_set_options(
      context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  // Sessions are resumed by tickets, which the clients keep.
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_alpn_select_cb(context, choose_protocol, nullptr);
  ANEMONE_RETURN_IF_ERROR(use_certificates(context, certificate_file));
  ANEMONE_RETURN_IF_ERROR(use_key(context, key_file, certificate_file));
  return out;
}

std::string TlsContext::warning() const {
  constexpr int kSoonDays = 14;
  const X509* const certificate = SSL_CTX_get0_certificate(context_);
  if (certificate == nullptr) return "";
  const ASN1_TIME* const end = X509_get0_notAfter(certificate);
  int days = 0, seconds = 0;
  // The time from now until the certificate ends; days and seconds have the same sign.
  if (ASN1_TIME_diff(&days, &seconds, nullptr, end) != 1 || days >= kSoonDays) return "";
  const BioPointer text(BIO_new(BIO_s_mem()));
  if (text == nullptr || ASN1_TIME_print(text.get(), end) != 1) return "";
  const char* data = nullptr;
  const auto size = BIO_get_mem_data(text.get(), &data);
  const bool has_ended = days < 0 || seconds < 0;
  return fmt::format("the certificate {} on {}", has_ended ? "ended" : "ends",
                     std::string_view(data, static_cast<std::size_t>(size)));
}

TlsContext::~TlsContext() {
  SSL_CTX_free(context_);
}

}  // namespace anemone::serve
