// SPDX-License-Identifier: Apache-2.0
// Manifest.json of a package: which files it holds, and which of them is the model.
#pragma once

#include <anemone/status.h>

#include <string>
#include <string_view>
#include <vector>

namespace anemone::mlpackage {

struct ManifestItem {
  std::string identifier;  // unique; a UUID by convention
  std::string path;        // relative to Data/: "<author>/<name>"; a file or a folder
  std::string name;        // (name, author) is unique
  std::string author;
  std::string description;
};

struct Manifest {
  std::vector<ManifestItem> items;
  std::string root;  // identifier of the model

  const ManifestItem* root_item() const;  // nullptr when absent
};

// kParseError for bad JSON, kVersionMismatch for a format after 1.0.0, kCorrupt when a field is
// missing, the root is not an item, items repeat, or a path is not a plain relative path (absolute,
// "..", "\").
Result<Manifest> parse_manifest(std::string_view text, std::string_view subject);

// The text of Manifest.json, items in the order given.
std::string format_manifest(const Manifest& manifest);

// 36 characters in the form of a UUID, a function of `seed` alone: packages must not differ from
// run to run, so identifiers are not random.
std::string make_identifier(std::string_view seed);

// True for a relative path without ".", "..", empty parts, backslashes or NUL: it cannot leave the
// folder that it is joined to (but for symbolic links).
bool is_plain_relative_path(std::string_view path);

}  // namespace anemone::mlpackage
