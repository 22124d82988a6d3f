// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "serve/http/message.h"
#include "serve/openai/error.h"
#include "serve/openai/key_limits.h"

namespace anemone::serve::openai {

struct AccessOptions {
  std::vector<std::string> cors_origins;  // pages of these may use the server; "*": of all
  // Names that may stand in Host, besides localhost and addresses, so that a page that points its
  // own name at this machine (DNS rebinding) is kept out. nullopt: any name.
  std::optional<std::vector<std::string>> hosts;
  bool takes_addresses = false;  // in Host: any, not only those of loopback
  bool is_https = false;         // for the origin of pages that the server itself gave out
};

// Who may use the server. Immutable and thread-safe.
class Access {
 public:
  explicit Access(AccessOptions options) : options_(std::move(options)) {}

  // The reason why the sender of this header may not have the answer. Any of the keys will do;
  // where there is none, and for a path that is public, none is needed. `key` is set to the index
  // of the one that was sent, where one is needed.
  std::optional<ApiError> check(const HttpRequest& request, bool is_public,
                                const std::vector<ApiKey>& keys,
                                std::optional<std::size_t>& key) const;
  // Adds what tells a browser that its page may read the answer.
  void add_headers(const HttpRequest& request, HeaderList& headers) const;

 private:
  std::optional<ApiError> check_host(const std::string& host) const;

  const AccessOptions options_;
};

// Whether the texts are equal, in a time that says nothing about where they differ.
bool equal_in_constant_time(std::string_view a, std::string_view b);

}  // namespace anemone::serve::openai
