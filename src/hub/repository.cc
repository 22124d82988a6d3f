// SPDX-License-Identifier: Apache-2.0
#include "hub/repository.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/environment.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "hub/hub_cache.h"
#include "hub/retry.h"

namespace anemone::hub {
namespace {

namespace fs = std::filesystem;

// Limits of one listing, all pages together. The largest repositories have some ten thousand files.
constexpr std::uint64_t kListingBytes = 64 << 20;
constexpr std::uint64_t kPageBytes = 16 << 20;
constexpr std::size_t kMaxFiles = 100'000;
constexpr int kMaxPages = 200;  // of a thousand files, as the hub makes them, and folders

bool is_name_part(std::string_view text) {
  if (text.empty() || text.size() > 96 || text == "." || text == "..") return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  });
}

// The text percent-encoded, with or without the slashes between folders.
std::string encoded(std::string_view text, bool keeps_slashes) {
  std::string out;
  for (const char c : text) {
    if (is_name_part(std::string_view(&c, 1)) || c == '.' || c == '~' ||
        (c == '/' && keeps_slashes))
      out += c;
    else
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

// Whether the path is relative and leads nowhere else.
bool is_safe_path(std::string_view path) {
  if (path.empty() || path.size() > 1024 || path.find('\\') != std::string_view::npos) return false;
  for (const char c : path)
    if (static_cast<unsigned char>(c) < 32 || c == 127) return false;
  std::size_t begin = 0;
  while (begin <= path.size()) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string_view part = path.substr(begin, end - begin);
    if (part.empty() || part == "." || part == "..") return false;
    begin = end + 1;
  }
  return true;
}

Result<HttpAnswer> ask(HttpClient& client, const HubAddress& hub, const RepoName& repo,
                       const std::string& url, std::string_view what) {
  Retry retry;
  bool was_unreachable = false;
  while (true) {
    HttpAnswer answer = client.get({url, hub.token, 0}, kPageBytes);
    if (answer.is_whole() && answer.status == 200) return answer;
    // Two failures to connect in a row end the listing: nothing was downloaded yet, so nothing is
    // lost by saying at once that there is no network.
    if (!answer.is_transient() || (answer.is_unreachable && was_unreachable) || !retry.wait(answer))
      return refusal(hub, repo, what, answer);
    was_unreachable = answer.is_unreachable;
  }
}

Result<RemoteFile> read_entry(const Json& entry, const std::string& subject) {
  RemoteFile file;
  ANEMONE_ASSIGN_OR_RETURN(const auto path, json_string(entry, "path", subject));
  ANEMONE_ASSIGN_OR_RETURN(const auto size, json_int(entry, "size", subject));
  ANEMONE_ASSIGN_OR_RETURN(auto hash, json_string(entry, "oid", subject));
  if (const Json* large = json_member(entry, "lfs")) {
    ANEMONE_ASSIGN_OR_RETURN(hash, json_string(*large, "oid", subject));
    file.is_large = true;
  }
  if (!path || !is_safe_path(*path))
    return parse_error("[{}] expected files with relative paths, got \"{}\"", subject,
                       path.value_or(""));
  if (!size || *size < 0 || !hash || !is_hash(*hash, file.is_large ? 64 : 40))
    return parse_error("[{}] expected the size and the hash of {}, got none or invalid ones",
                       subject, *path);
  file.path = *path;
  file.size = static_cast<std::uint64_t>(*size);
  file.etag = *hash;
  return file;
}

// The address behind rel="next" of a Link header, or "".
std::string next_page(const HttpAnswer& answer) {
  const auto link = answer.headers.find("link");
  if (link == answer.headers.end() || link->second.find("rel=\"next\"") == std::string::npos)
    return {};
  const std::size_t begin = link->second.find('<');
  const std::size_t end = link->second.find('>');
  if (begin == std::string::npos || end == std::string::npos || end < begin) return {};
  return link->second.substr(begin + 1, end - begin - 1);
}

std::string first_line(std::string_view text) {
  return std::string(text.substr(0, std::min<std::size_t>(text.find('\n'), 200)));
}

std::string token_of_files() {
  std::vector<fs::path> places;
  if (const auto named = environment_variable("HF_TOKEN_PATH")) places.emplace_back(*named);
  if (const auto home = hub_home()) places.push_back(fs::path(*home) / "token");
  for (const fs::path& place : places) {
    const auto text = read_file(place.string(), 4096);
    if (!text.ok()) continue;
    std::string token = *text;
    std::erase_if(token, [](char c) { return static_cast<unsigned char>(c) <= 32; });
    return token;
  }
  return {};
}

}  // namespace

bool is_hash(std::string_view text, std::size_t digits) {
  return text.size() == digits && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

std::optional<RepoName> parse_repo_name(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const std::string_view owner = text.substr(0, slash);
  const std::string_view name = text.substr(slash + 1);
  if (!is_name_part(owner) || !is_name_part(name)) return std::nullopt;
  // The hub refuses these too: the cache writes "--" between the two names.
  if (text.find("--") != std::string_view::npos || text.find("..") != std::string_view::npos)
    return std::nullopt;
  return RepoName{std::string(owner), std::string(name)};
}

Result<HubAddress> HubAddress::from_environment() {
  HubAddress out;
  if (const auto endpoint = environment_variable("HF_ENDPOINT")) out.endpoint = *endpoint;
  while (out.endpoint.ends_with('/')) out.endpoint.pop_back();
  if (!out.endpoint.starts_with("https://") && !out.endpoint.starts_with("http://"))
    return invalid_argument("[HF_ENDPOINT] expected an http(s) address, got \"{}\"", out.endpoint);
  const auto token = environment_variable("HF_TOKEN");
  out.token = token ? *token : token_of_files();
  for (const char c : out.token)
    if (static_cast<unsigned char>(c) <= 32 || c == 127)
      return invalid_argument("[HF_TOKEN] expected a token without spaces or line ends");
  return out;
}

std::string content_url(const HubAddress& hub, const RepoName& repo, const std::string& commit,
                        const std::string& path) {
  return fmt::format("{}/{}/resolve/{}/{}", hub.endpoint, repo.text(), encoded(commit, false),
                     encoded(path, true));
}

Status refusal(const HubAddress& hub, const RepoName& repo, std::string_view what,
               const HttpAnswer& answer) {
  if (!answer.is_whole())
    return io_error("[{}] cannot get {} from {}: {}", repo.text(), what, hub.endpoint,
                    answer.error);
  switch (answer.status) {
    case 401:
    case 403:
      return io_error(
          "[{}] {} refuses access (HTTP {}): accept the model's terms at {}/{} "
          "and set HF_TOKEN, or check the name",
          repo.text(), hub.endpoint, answer.status, hub.endpoint, repo.text());
    case 404:
      return not_found("[{}] {} has no {}", repo.text(), hub.endpoint, what);
    default:
      return io_error("[{}] cannot get {} from {}: HTTP {} {}", repo.text(), what, hub.endpoint,
                      answer.status, first_line(answer.body));
  }
}

Result<std::vector<RemoteFile>> parse_file_list(std::string_view json, const std::string& subject) {
  ANEMONE_ASSIGN_OR_RETURN(const Json entries, parse_json(json, subject));
  if (!entries.is_array()) return parse_error("[{}] expected a list of files", subject);
  std::vector<RemoteFile> files;
  for (const Json& entry : entries) {
    ANEMONE_ASSIGN_OR_RETURN(const auto type, json_string(entry, "type", subject));
    if (type != "file") continue;
    ANEMONE_ASSIGN_OR_RETURN(RemoteFile file, read_entry(entry, subject));
    files.push_back(std::move(file));
  }
  return files;
}

Result<Snapshot> list_snapshot(HttpClient& client, const HubAddress& hub, const RepoName& repo,
                               const std::string& revision) {
  const std::string subject = repo.text();
  const std::string model = fmt::format("{}/api/models/{}", hub.endpoint, subject);
  const std::string what = fmt::format("model of this name at revision \"{}\"", revision);
  ANEMONE_ASSIGN_OR_RETURN(
      const HttpAnswer about,
      ask(client, hub, repo, fmt::format("{}/revision/{}", model, encoded(revision, false)), what));
  ANEMONE_ASSIGN_OR_RETURN(const Json info, parse_json(about.body, subject));
  ANEMONE_ASSIGN_OR_RETURN(const auto commit, json_string(info, "sha", subject));
  if (!commit || !is_hash(*commit, 40))
    return parse_error("[{}] expected a commit from {}, got none", subject, hub.endpoint);
  Snapshot out;
  out.commit = *commit;
  std::string url = fmt::format("{}/tree/{}?recursive=true", model, out.commit);
  std::uint64_t bytes = 0;
  for (int page = 0; !url.empty(); ++page) {
    if (page == kMaxPages || !url.starts_with(hub.endpoint + "/"))
      return parse_error("[{}] expected pages of files from {}, got \"{}\"", subject, hub.endpoint,
                         url);
    ANEMONE_ASSIGN_OR_RETURN(const HttpAnswer answer, ask(client, hub, repo, url, what));
    ANEMONE_ASSIGN_OR_RETURN(std::vector<RemoteFile> files, parse_file_list(answer.body, subject));
    bytes += answer.body.size();
    if (bytes > kListingBytes || files.size() > kMaxFiles - out.files.size())
      return corrupt("[{}] expected a list of at most {} files and {} bytes, got a longer one",
                     subject, kMaxFiles, kListingBytes);
    std::ranges::move(files, std::back_inserter(out.files));
    url = next_page(answer);
  }
  std::sort(out.files.begin(), out.files.end(),
            [](const RemoteFile& a, const RemoteFile& b) { return a.path < b.path; });
  const auto twice = std::ranges::adjacent_find(out.files, {}, &RemoteFile::path);
  if (twice != out.files.end())
    return parse_error("[{}] expected each file once, got \"{}\" twice", subject, twice->path);
  return out;
}

}  // namespace anemone::hub
