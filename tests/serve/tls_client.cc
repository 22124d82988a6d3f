// SPDX-License-Identifier: Apache-2.0
#include "tests/serve/tls_client.h"

#include <array>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <sys/time.h>

namespace anemone::serve::testing {
namespace {

constexpr timeval kPatience = {60, 0};

std::string take_text(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  std::string out(data, static_cast<std::size_t>(size));
  BIO_free(bio);
  return out;
}

}  // namespace

CertifiedKey make_certified_key(int days) {
  EVP_PKEY* const key = EVP_EC_gen("P-256");
  X509* const certificate = X509_new();
  X509_set_version(certificate, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
  constexpr long kDay = 24L * 3600;
  X509_gmtime_adj(X509_getm_notBefore(certificate), -100 * kDay);
  X509_gmtime_adj(X509_getm_notAfter(certificate), days * kDay + 60);
  X509_set_pubkey(certificate, key);
  X509_NAME* const name = X509_get_subject_name(certificate);
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>("localhost"), -1, -1, 0);
  X509_set_issuer_name(certificate, name);
  X509_sign(certificate, key, EVP_sha256());
  CertifiedKey out;
  BIO* bio = BIO_new(BIO_s_mem());
  PEM_write_bio_X509(bio, certificate);
  out.certificate = take_text(bio);
  bio = BIO_new(BIO_s_mem());
  PEM_write_bio_PrivateKey(bio, key, nullptr, nullptr, 0, nullptr, nullptr);
  out.key = take_text(bio);
  bio = BIO_new(BIO_s_mem());
  PEM_write_bio_PrivateKey(bio, key, EVP_aes_128_cbc(), reinterpret_cast<const unsigned char*>("x"),
                           1, nullptr, nullptr);
  out.locked_key = take_text(bio);
  X509_free(certificate);
  EVP_PKEY_free(key);
  return out;
}

TlsClient::TlsClient(std::uint16_t port, const std::string& certificate, int max_version)
    : HttpClient(port), context_(SSL_CTX_new(TLS_client_method())), ssl_(nullptr) {
  if (max_version != 0) {
    SSL_CTX_set_security_level(context_, 0);  // old versions have weak hashes
    SSL_CTX_set_max_proto_version(context_, max_version);
  }
  BIO* const bio = BIO_new_mem_buf(certificate.data(), static_cast<int>(certificate.size()));
  X509* const known = PEM_read_bio_X509(bio, nullptr, nullptr, nullptr);
  BIO_free(bio);
  X509_STORE_add_cert(SSL_CTX_get_cert_store(context_), known);
  X509_free(known);
  SSL_CTX_set_verify(context_, SSL_VERIFY_PEER, nullptr);
  constexpr std::array<unsigned char, 12> kOffered = {2,   'h', '2', 8,   'h', 't',
                                                      't', 'p', '/', '1', '.', '1'};
  SSL_CTX_set_alpn_protos(context_, kOffered.data(), kOffered.size());
  ssl_ = SSL_new(context_);
  if (!is_connected()) return;
  // A server that answers nothing must not stop the test.
  ::setsockopt(descriptor(), SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof(kPatience));
  SSL_set_fd(ssl_, descriptor());
  ERR_clear_error();
  is_ready_ = SSL_connect(ssl_) == 1;
}

TlsClient::~TlsClient() {
  SSL_free(ssl_);
  SSL_CTX_free(context_);
}

std::string TlsClient::protocol() const {
  const unsigned char* text = nullptr;
  unsigned size = 0;
  SSL_get0_alpn_selected(ssl_, &text, &size);
  return {reinterpret_cast<const char*>(text), size};
}

bool TlsClient::was_told_the_end() const {
  return (SSL_get_shutdown(ssl_) & SSL_RECEIVED_SHUTDOWN) != 0;
}

bool TlsClient::renegotiate() {
  ERR_clear_error();
  return SSL_renegotiate(ssl_) == 1 && SSL_do_handshake(ssl_) == 1;
}

ssize_t TlsClient::read_socket(char* data, std::size_t size) {
  ERR_clear_error();
  return is_ready_ ? SSL_read(ssl_, data, static_cast<int>(size)) : -1;
}
ssize_t TlsClient::write_socket(const char* data, std::size_t size) {
  ERR_clear_error();
  return is_ready_ ? SSL_write(ssl_, data, static_cast<int>(size)) : -1;
}

}  // namespace anemone::serve::testing
