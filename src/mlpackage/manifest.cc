// SPDX-License-Identifier: Apache-2.0
#include "mlpackage/manifest.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/digest.h"
#include "base/error.h"
#include "base/json.h"

namespace anemone::mlpackage {
namespace {

constexpr std::string_view kFormatVersion = "1.0.0";

// Three non-negative integers, separated by dots, not above 1.0.0.
Status check_version(std::string_view text, std::string_view subject) {
  std::array<unsigned, 3> parts = {};
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0 && (at == end || *at++ != '.')) at = nullptr;
    const auto [next, error] = at == nullptr
                                   ? std::from_chars_result{end, std::errc::invalid_argument}
                                   : std::from_chars(at, end, parts[i]);
    if (error != std::errc())
      return version_mismatch("[{}] expected fileFormatVersion {}, got \"{}\"", subject,
                              kFormatVersion, text);
    at = next;
  }
  if (at != end || parts > std::array<unsigned, 3>{1, 0, 0})
    return version_mismatch("[{}] expected fileFormatVersion {}, got \"{}\"", subject,
                            kFormatVersion, text);
  return {};
}

Result<std::string> required_text(const Json& object, std::string_view key,
                                  std::string_view subject) {
  ANEMONE_ASSIGN_OR_RETURN(auto text, json_string(object, key, subject));
  if (!text) return corrupt("[{}] expected the key \"{}\", got none", subject, key);
  return std::move(*text);
}

Result<ManifestItem> parse_item(const std::string& identifier, const Json& entry,
                                std::string_view subject) {
  if (!entry.is_object())
    return corrupt("[{}] expected an object, got {} (item {})", subject, entry.type_name(),
                   identifier);
  const std::string where = "item " + identifier;
  ManifestItem item;
  item.identifier = identifier;
  ANEMONE_ASSIGN_OR_RETURN(item.path, required_text(entry, "path", subject).with(where));
  ANEMONE_ASSIGN_OR_RETURN(item.name, required_text(entry, "name", subject).with(where));
  ANEMONE_ASSIGN_OR_RETURN(item.author, required_text(entry, "author", subject).with(where));
  ANEMONE_ASSIGN_OR_RETURN(item.description,
                           required_text(entry, "description", subject).with(where));
  if (!is_plain_relative_path(item.path))
    return corrupt("[{}] expected a plain relative path, got \"{}\" (item {})", subject, item.path,
                   identifier);
  return item;
}

}  // namespace

const ManifestItem* Manifest::root_item() const {
  const auto it = std::find_if(items.begin(), items.end(),
                               [&](const ManifestItem& item) { return item.identifier == root; });
  return it == items.end() ? nullptr : &*it;
}

Result<Manifest> parse_manifest(std::string_view text, std::string_view subject) {
  ANEMONE_ASSIGN_OR_RETURN(const Json json, parse_json(text, subject));
  if (!json.is_object())
    return corrupt("[{}] expected an object, got {}", subject, json.type_name());
  ANEMONE_ASSIGN_OR_RETURN(const std::string version,
                           required_text(json, "fileFormatVersion", subject));
  ANEMONE_RETURN_IF_ERROR(check_version(version, subject));

  Manifest manifest;
  ANEMONE_ASSIGN_OR_RETURN(manifest.root, required_text(json, "rootModelIdentifier", subject));
  const Json* entries = json_member(json, "itemInfoEntries");
  if (entries == nullptr || !entries->is_object())
    return corrupt("[{}] expected \"itemInfoEntries\" to be an object, got {}", subject,
                   entries == nullptr ? "none" : entries->type_name());
  std::set<std::pair<std::string, std::string>> seen;
  for (const auto& [identifier, entry] : entries->items()) {
    ANEMONE_ASSIGN_OR_RETURN(ManifestItem item, parse_item(identifier, entry, subject));
    if (!seen.emplace(item.author, item.name).second)
      return corrupt("[{}] expected one item \"{}\" of \"{}\", got two", subject, item.name,
                     item.author);
    manifest.items.push_back(std::move(item));
  }
  if (manifest.root_item() == nullptr)
    return corrupt("[{}] expected rootModelIdentifier to name an item, got \"{}\"", subject,
                   manifest.root);
  return manifest;
}

std::string format_manifest(const Manifest& manifest) {
  // By their identifiers, as Apple's own library writes them: coremltools rewrites the file of each
  // package that it opens, and the same bytes keep their hash in the artifact's manifest.
  std::vector<ManifestItem> items = manifest.items;
  std::ranges::sort(items, {}, &ManifestItem::identifier);
  Json entries = Json::object();
  for (const ManifestItem& item : items)
    entries[item.identifier] = {{"author", item.author},
                                {"description", item.description},
                                {"name", item.name},
                                {"path", item.path}};
  Json json = {{"fileFormatVersion", kFormatVersion},
               {"itemInfoEntries", std::move(entries)},
               {"rootModelIdentifier", manifest.root}};
  return dump_json(json, 4) + "\n";
}

std::string make_identifier(std::string_view seed) {
  Digest hash;
  hash.update(seed);
  std::string digits = hash.hex();
  // Version 8 (free form) and variant 10xx of RFC 9562, so that UUID parsers are content.
  digits[12] = '8';
  digits[16] = "89ab"[static_cast<unsigned char>(digits[16]) % 4];
  std::string out;
  for (std::size_t i = 0; i < 32; ++i) {
    if (i == 8 || i == 12 || i == 16 || i == 20) out += '-';
    out += digits[i];
  }
  return out;
}

bool is_plain_relative_path(std::string_view path) {
  if (path.empty() || path.find('\\') != path.npos || path.find('\0') != path.npos) return false;
  while (true) {
    const std::size_t slash = path.find('/');
    const std::string_view part = path.substr(0, slash);
    if (part.empty() || part == "." || part == "..") return false;
    if (slash == path.npos) return true;
    path.remove_prefix(slash + 1);
  }
}

}  // namespace anemone::mlpackage
