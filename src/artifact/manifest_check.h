// SPDX-License-Identifier: Apache-2.0
// The rules of a manifest beyond the types of its fields. Used on the way in and on the way out, so
// that nothing is written that would not be read.
#pragma once

#include <anemone/status.h>

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

// The part of check_manifest() that is about the verdict.
Status check_verification(const Verification& verification, std::string_view subject);

}  // namespace anemone::artifact
