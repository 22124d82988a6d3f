// SPDX-License-Identifier: Apache-2.0
#include "hub/http_client.h"

#include <algorithm>
#include <cctype>
#include <curl/curl.h>
#include <fmt/format.h>

#include "base/ascii.h"
#include "base/error.h"
#include "base/version.h"

namespace anemone::hub {
namespace {

constexpr std::size_t kRefusalBytes = 4096;
// libcurl may count a little less than the time after which it stops.
constexpr std::chrono::milliseconds kClockSlack{500};
// Most bytes that are read of the body of a refusal.
constexpr std::size_t kMaxRefusalBytes = 64 << 10;
// Most bytes of all headers of one request, redirects included.
constexpr std::size_t kMaxHeaderBytes = 256 << 10;

std::string_view trim(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())))
    text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())))
    text.remove_suffix(1);
  return text;
}

}  // namespace

bool HttpAnswer::is_transient() const {
  if (is_hopeless) return false;
  return !is_whole() || status == 408 || status == 429 || status >= 500;
}

struct HttpClient::Handle {
  CURL* curl = nullptr;
};

struct HttpClient::Transfer {
  CURL* curl = nullptr;
  HttpAnswer answer;
  const Begin* begin = nullptr;
  const Take* take = nullptr;
  bool has_begun = false;
  std::size_t header_bytes = 0;
  std::size_t refusal_bytes = 0;
  Status status;

  bool has_long_headers() const { return header_bytes > kMaxHeaderBytes; }
  bool has_long_refusal() const { return refusal_bytes > kMaxRefusalBytes; }

  bool is_content() {
    long code = 0;
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &code);
    answer.status = static_cast<int>(code);
    return code == 200 || code == 206;
  }

  bool start() {
    if (has_begun) return true;
    has_begun = true;
    status = (*begin)(answer);
    return status.ok();
  }

  static std::size_t on_header(char* data, std::size_t size, std::size_t count, void* self) {
    auto& transfer = *static_cast<Transfer*>(self);
    const std::string_view line(data, size * count);
    transfer.header_bytes += line.size();
    if (transfer.has_long_headers()) return 0;  // anything but the size ends the transfer
    // A redirection has headers of its own.
    if (line.starts_with("HTTP/")) transfer.answer.headers.clear();
    if (const std::size_t colon = line.find(':'); colon != std::string_view::npos)
      transfer.answer.headers[ascii_lower(trim(line.substr(0, colon)))] =
          std::string(trim(line.substr(colon + 1)));
    return size * count;
  }

  static std::size_t on_body(char* data, std::size_t size, std::size_t count, void* self) {
    auto& transfer = *static_cast<Transfer*>(self);
    const std::size_t bytes = size * count;
    if (!transfer.is_content()) {
      std::string& body = transfer.answer.body;
      body.append(data, std::min(bytes, kRefusalBytes - std::min(kRefusalBytes, body.size())));
      transfer.refusal_bytes += bytes;
      return transfer.has_long_refusal() ? 0 : bytes;
    }
    if (!transfer.start()) return 0;
    transfer.status = (*transfer.take)({reinterpret_cast<const std::byte*>(data), bytes});
    return transfer.status.ok() ? bytes : 0;
  }
};

HttpClient::HttpClient(const HttpLimits& limits)
    : handle_(std::make_unique<Handle>()), limits_(limits) {
  static const CURLcode initialized = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (initialized == CURLE_OK) handle_->curl = curl_easy_init();
}

HttpClient::~HttpClient() {
  if (handle_->curl != nullptr) curl_easy_cleanup(handle_->curl);
}

void HttpClient::perform(const HttpRequest& request, std::chrono::seconds most,
                         Transfer& transfer) {
  CURL* const curl = handle_->curl;
  if (curl == nullptr) {
    transfer.answer.error = "libcurl cannot be set up";
    return;
  }
  curl_easy_reset(curl);  // the connection stays
  transfer.curl = curl;
  char reason[CURL_ERROR_SIZE] = {};
  curl_slist* headers = nullptr;
  if (!request.token.empty())
    // libcurl leaves it out when another host is asked after a redirection.
    headers = curl_slist_append(headers, ("Authorization: Bearer " + request.token).c_str());
  const std::string range = std::to_string(request.offset) + "-";
  // A redirect must not lead from https to plain http.
  const bool is_secure = request.url.starts_with("https:");
  curl_easy_setopt(curl, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
  if (request.offset > 0) curl_easy_setopt(curl, CURLOPT_RANGE, range.c_str());
#if LIBCURL_VERSION_NUM >= 0x075500
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, is_secure ? "https" : "http,https");
  curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, is_secure ? "https" : "http,https");
#else
  const long protocols = is_secure ? CURLPROTO_HTTPS : CURLPROTO_HTTP | CURLPROTO_HTTPS;
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS, protocols);
  curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS, protocols);
#endif
  curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
  curl_easy_setopt(curl, CURLOPT_MAXREDIRS, 10L);
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_USERAGENT, fmt::format("anemone/{}", version()).c_str());
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, static_cast<long>(limits_.connect.count()));
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1000L);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, static_cast<long>(limits_.silence.count()));
  curl_easy_setopt(curl, CURLOPT_TIMEOUT, static_cast<long>(most.count()));
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, reason);
  curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, &Transfer::on_header);
  curl_easy_setopt(curl, CURLOPT_HEADERDATA, &transfer);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, &Transfer::on_body);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &transfer);
  const CURLcode code = curl_easy_perform(curl);
  const bool is_content = transfer.is_content();
  transfer.answer.is_unreachable = code == CURLE_COULDNT_RESOLVE_HOST ||
                                   code == CURLE_COULDNT_RESOLVE_PROXY ||
                                   code == CURLE_COULDNT_CONNECT;
  curl_off_t microseconds = 0;
  curl_easy_getinfo(curl, CURLINFO_TOTAL_TIME_T, &microseconds);
  const bool is_too_late = most.count() > 0 && code == CURLE_OPERATION_TIMEDOUT &&
                           std::chrono::microseconds(microseconds) + kClockSlack >= most;
  transfer.answer.is_hopeless = code == CURLE_TOO_MANY_REDIRECTS ||
                                code == CURLE_UNSUPPORTED_PROTOCOL || code == CURLE_URL_MALFORMAT ||
                                is_too_late;
  if (transfer.has_long_headers()) {
    transfer.answer.error =
        fmt::format("expected at most {} bytes of headers, got more", kMaxHeaderBytes);
    transfer.answer.is_hopeless = true;
  } else if (transfer.has_long_refusal()) {
    transfer.answer.error.clear();  // what it begins with is enough
  } else if (code != CURLE_OK) {
    transfer.answer.error = reason[0] != '\0' ? reason : curl_easy_strerror(code);
  } else if (is_content) {
    transfer.start();  // there was no body
  }
  curl_slist_free_all(headers);
}

HttpAnswer HttpClient::get(const HttpRequest& request, std::uint64_t max_bytes) {
  std::string body;
  const auto answer = stream(
      request, limits_.answer, [](const HttpAnswer&) { return Status(); },
      [&](std::span<const std::byte> bytes) -> Status {
        if (bytes.size() > max_bytes - body.size())
          return corrupt("expected at most {} bytes, got more", max_bytes);
        body.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
        return {};
      });
  if (!answer.ok()) {
    HttpAnswer failed;
    failed.error = answer.status().message();
    failed.is_hopeless = true;
    return failed;
  }
  HttpAnswer whole = *answer;
  if (whole.status == 200) whole.body = std::move(body);
  return whole;
}

Result<HttpAnswer> HttpClient::download(const HttpRequest& request, const Begin& begin,
                                        const Take& take) {
  return stream(request, std::chrono::seconds(0), begin, take);
}

// `most`: 0 for as long as it takes.
Result<HttpAnswer> HttpClient::stream(const HttpRequest& request, std::chrono::seconds most,
                                      const Begin& begin, const Take& take) {
  Transfer transfer;
  transfer.begin = &begin;
  transfer.take = &take;
  perform(request, most, transfer);
  if (!transfer.status.ok()) return transfer.status;
  return std::move(transfer.answer);
}

}  // namespace anemone::hub
