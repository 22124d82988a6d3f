// SPDX-License-Identifier: Apache-2.0
// Model repositories of the Hugging Face hub: their names, and the files that the hub lists in
// them. Protocol: https://huggingface.co/docs/hub/api and the "resolve" addresses of
// huggingface_hub.
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hub/http_client.h"

namespace anemone::hub {

struct RepoName {
  std::string owner;
  std::string name;
  std::string text() const { return owner + "/" + name; }
};

// Parses "OWNER/NAME", each of letters, digits, '.', '_' and '-' as the hub has it; nullopt for
// anything else, such as a path of more or fewer parts.
std::optional<RepoName> parse_repo_name(std::string_view text);

// Address of the hub and the token of the user. Immutable.
struct HubAddress {
  std::string endpoint = "https://huggingface.co";  // without a slash at the end
  std::string token;                                // empty: anonymous

  // $HF_ENDPOINT; $HF_TOKEN, else the file $HF_TOKEN_PATH, $HF_HOME/token or
  // ~/.cache/huggingface/token. kInvalidArgument for an endpoint that is no http(s) address.
  static Result<HubAddress> from_environment();
};

// Whether the text is a hash of so many lower-case hex digits.
bool is_hash(std::string_view text, std::size_t digits);

struct RemoteFile {
  std::string path;  // relative, '/' between folders; checked not to lead out of a folder
  std::uint64_t size = 0;
  // The name of its content in caches: SHA-256 of a large file, else the git blob's SHA-1.
  std::string etag;
  bool is_large = false;
};

struct Snapshot {
  std::string commit;
  std::vector<RemoteFile> files;  // in order of path
};

// A page of the hub's file listing, a JSON list; folders are left out. kParseError for anything
// else, naming `subject`.
Result<std::vector<RemoteFile>> parse_file_list(std::string_view json, const std::string& subject);

// What is in the repository at a branch, tag or commit. kNotFound when there is none, kIo when the
// hub cannot be reached or does not let us in, kParseError for an answer that is none.
Result<Snapshot> list_snapshot(HttpClient& client, const HubAddress& hub, const RepoName& repo,
                               const std::string& revision);

// The address of a file's content.
std::string content_url(const HubAddress& hub, const RepoName& repo, const std::string& commit,
                        const std::string& path);

// The error that tells the user why the hub refused, for status 401, 403, 404 and others.
Status refusal(const HubAddress& hub, const RepoName& repo, std::string_view what,
               const HttpAnswer& answer);

}  // namespace anemone::hub
