// SPDX-License-Identifier: Apache-2.0
// The rules of a manifest beyond the types of its fields. They are checked when a manifest is read
// and when one is written, so that no manifest is written that could not be read.
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <string_view>

#include "artifact/manifest.h"

namespace anemone::artifact {

// kCorrupt with the first broken rule.
Status check_manifest(const Manifest& manifest, std::string_view subject);

// Whether a relative path of `/`-separated names stays inside its folder: no empty, "." or ".."
// part, no backslash, no control character.
bool is_inner_path(std::string_view path);

// 64 lower-case hex digits.
bool is_sha256(std::string_view text);

// Parts of check_manifest(): for the tables of embeddings, for one shard, for the experts between
// each shard and the next, and for the verdict.
Status check_embeddings(const Manifest& manifest, std::string_view subject);
Status check_shard(const Manifest& manifest, const Shard& shard, std::string_view subject);
Status check_experts(const Manifest& manifest, std::string_view subject);
Status check_verification(const Verification& verification, std::string_view subject);

// Checks for single fields.
inline constexpr std::int64_t kMaxContext = 1 << 28;
Status check_range(std::string_view subject, std::string_view field, std::int64_t value,
                   std::int64_t low, std::int64_t high);
Status check_present(std::string_view subject, std::string_view field, std::string_view value);
// Checks that the range [begin, end) is not empty, begins at `expected` and ends by `limit`.
Status check_next_range(std::string_view subject, std::string_view what, std::int64_t expected,
                        std::int64_t begin, std::int64_t end, std::int64_t limit);

}  // namespace anemone::artifact
