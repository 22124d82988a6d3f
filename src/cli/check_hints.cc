// SPDX-License-Identifier: Apache-2.0
#include "cli/check_hints.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/json.h"

namespace anemone::cli {
namespace {

using ane::Hint;
using artifact::Manifest;

bool form_has(const Manifest& manifest, std::string_view field, std::string_view value) {
  const auto fields = artifact::form_fields();
  const auto found = std::ranges::find(fields, field, &artifact::FormField::name);
  return found != fields.end() && found->value_of(manifest.form) == value;
}

// True if an option with this value would change nothing for the model.
bool is_option_in_force(const Manifest& manifest, std::string_view option, std::string_view value) {
  if (option == "--layout") return form_has(manifest, "layout", value);
  if (option == "--kv-form") return form_has(manifest, "cache", value);
  if (option == "--experts") return form_has(manifest, "experts", value);
  if (option == "--precision") return manifest.precision == value;
  if (option == "--quant") return manifest.quantization == value;
  if (option != "--shards") return false;
  // There cannot be fewer packages than one, nor more than one for each layer.
  if (value == "auto" || value == "1") return manifest.shards.size() <= 1;
  return value == "each" && std::ranges::all_of(manifest.shards, [](const artifact::Shard& shard) {
           return shard.layers.end - shard.layers.begin <= 1;
         });
}

// True if the manifest has each field of a form file with the value that the text gives it.
bool is_form_in_force(const Manifest& manifest, std::string_view text) {
  const auto json = parse_json(text, "hint");
  if (!json.ok() || !json->is_object()) return false;
  for (const auto& [field, value] : json->items())
    if (!value.is_string() || !form_has(manifest, field, value.get<std::string>())) return false;
  return true;
}

bool is_in_force(const Manifest& manifest, const Hint& hint) {
  if (hint.kind == Hint::Kind::kForm) return is_form_in_force(manifest, hint.text);
  if (hint.kind != Hint::Kind::kOption) return false;
  const std::size_t space = hint.text.find(' ');
  if (space == hint.text.npos) return false;
  return is_option_in_force(manifest, hint.text.substr(0, space), hint.text.substr(space + 1));
}

}  // namespace

std::vector<Hint> hints_for(const ane::Law& law, const Writer& writer) {
  std::vector<Hint> out;
  for (const Hint& hint : ane::hints_of(law)) {
    const bool is_of_compile = hint.kind < Hint::Kind::kRewrite;
    if (is_of_compile && !writer.is_anemone) continue;
    if (writer.manifest != nullptr && is_in_force(*writer.manifest, hint)) continue;
    out.push_back(hint);
  }
  return out;
}

}  // namespace anemone::cli
