// SPDX-License-Identifier: Apache-2.0
#include "serve/openai/access.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/escape.h"

namespace anemone::serve::openai {
namespace {

// "localhost" of "localhost:8080", "::1" of "[::1]:8080"; nullopt where something else follows.
std::optional<std::string_view> host_name(std::string_view host) {
  const bool is_bracketed = host.starts_with('[');
  const std::size_t end = is_bracketed ? host.find(']') : host.find(':');
  if (is_bracketed && end == host.npos) return std::nullopt;
  const std::string_view name = is_bracketed ? host.substr(1, end - 1) : host.substr(0, end);
  const std::string_view rest =
      end == host.npos ? std::string_view() : host.substr(end + (is_bracketed ? 1 : 0));
  const bool is_port =
      rest.starts_with(':') && rest.find_first_not_of("0123456789", 1) == rest.npos;
  if (!rest.empty() && !is_port) return std::nullopt;
  return name;
}

}  // namespace

bool equal_in_constant_time(std::string_view a, std::string_view b) {
  // The length of what the client sent is no secret.
  std::size_t difference = a.size() ^ b.size();
  for (std::size_t i = 0; i < a.size(); ++i)
    difference |= static_cast<unsigned char>(a[i]) ^
                  static_cast<unsigned char>(b.empty() ? '\0' : b[i % b.size()]);
  return difference == 0;
}

std::optional<ApiError> Access::check_host(const std::string& host) const {
  const auto name = host_name(host);
  if (!name) return http_error(400, "[Host] expected a name and a port");
  if (!options_.hosts) return std::nullopt;
  const bool is_known = is_loopback(*name) || (options_.takes_addresses && is_address(*name)) ||
                        std::ranges::any_of(*options_.hosts, [&](const std::string& known) {
                          return equal_ignoring_case(*name, known);
                        });
  if (is_known) return std::nullopt;
  return http_error(403, fmt::format("[Host] expected a name of this machine, got {} (see "
                                     "--allowed-host)",
                                     shortened(*name, 60)));
}

std::optional<ApiError> Access::check(const HttpRequest& request, bool is_public,
                                      const std::vector<ApiKey>& keys,
                                      std::optional<std::size_t>& key) const {
  const std::string* host = request.header("Host");
  if (host != nullptr) {
    if (auto error = check_host(*host)) return error;
  }
  // A page of another origin may send a plain POST without asking first.
  const std::string* origin = request.header("Origin");
  if (origin != nullptr && request.method == "POST") {
    const auto& allowed = options_.cors_origins;
    const bool is_same =
        host != nullptr && *origin == (options_.is_https ? "https://" : "http://") + *host;
    const bool is_allowed = std::ranges::any_of(
        allowed, [&](const std::string& known) { return known == "*" || known == *origin; });
    if (!is_same && !is_allowed)
      return http_error(403, "[Origin] expected a page that may use this server (see --cors)");
  }
  if (keys.empty() || is_public) return std::nullopt;
  std::string_view sent;
  constexpr std::string_view kBearer = "Bearer ";
  if (const std::string* value = request.header("Authorization")) {
    if (equal_ignoring_case(std::string_view(*value).substr(0, kBearer.size()), kBearer))
      sent = std::string_view(*value).substr(kBearer.size());
  } else if (const std::string* other = request.header("X-Api-Key")) {
    sent = *other;
  }
  // All of them, so that the time does not say which one it was.
  for (std::size_t i = 0; i < keys.size(); ++i)
    if (equal_in_constant_time(sent, keys[i].key)) key = i;
  if (key) return std::nullopt;
  return http_error(401, sent.empty() ? "[Authorization] expected \"Bearer\" and an API key"
                                      : "[Authorization] expected an API key, got another");
}

void Access::add_headers(const HttpRequest& request, HeaderList& headers) const {
  const std::string* origin = request.header("Origin");
  if (origin == nullptr) return;
  const auto& allowed = options_.cors_origins;
  const bool is_any = std::ranges::find(allowed, "*") != allowed.end();
  if (!is_any && std::ranges::find(allowed, *origin) == allowed.end()) return;
  headers.emplace_back("Access-Control-Allow-Origin", is_any ? "*" : *origin);
  if (!is_any) headers.emplace_back("Vary", "Origin");
  if (request.method != "OPTIONS") return;
  headers.emplace_back("Access-Control-Allow-Methods", "GET, POST, OPTIONS");
  // Whatever the page asks for: SDKs send headers of their own.
  const std::string* wanted = request.header("Access-Control-Request-Headers");
  headers.emplace_back("Access-Control-Allow-Headers",
                       wanted == nullptr ? "Authorization, Content-Type" : *wanted);
  headers.emplace_back("Access-Control-Max-Age", "600");
}

}  // namespace anemone::serve::openai
