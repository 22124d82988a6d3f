// SPDX-License-Identifier: Apache-2.0
#include "hub/model_reference.h"

#include <algorithm>
#include <fnmatch.h>
#include <set>

#include "base/ascii.h"
#include "base/environment.h"

namespace anemone::hub {
namespace {

// What stands behind the address of the hub; nullopt when it is none.
std::optional<std::string_view> path_of_address(std::string_view text) {
  std::string endpoint = environment_variable("HF_ENDPOINT").value_or("");
  while (endpoint.ends_with('/')) endpoint.pop_back();
  for (const std::string_view begin :
       {std::string_view(endpoint), std::string_view("https://huggingface.co"),
        std::string_view("http://huggingface.co"), std::string_view("huggingface.co"),
        std::string_view("https://hf.co"), std::string_view("hf.co"), std::string_view("hf:/")}) {
    if (begin.empty() || !text.starts_with(begin)) continue;
    std::string_view rest = text.substr(begin.size());
    if (!rest.starts_with('/')) continue;
    rest.remove_prefix(1);
    return rest.substr(0, rest.find_first_of("?#"));
  }
  return std::nullopt;
}

// The text up to the next slash, which goes as well.
std::string_view next_part(std::string_view& path) {
  const std::string_view part = path.substr(0, path.find('/'));
  path.remove_prefix(std::min(path.size(), part.size() + 1));
  return part;
}

bool is_variant(std::string_view text) {
  return !text.empty() && text.size() <= 64 && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  });
}

// What of the model's name says how it is quantized: "Q4_K_M" of "folder/Model-7B-Q4_K_M".
std::string variant_of(const std::string& model) {
  const std::string name = model.substr(model.rfind('/') + 1);
  const std::size_t mark = name.find_last_of("-.");
  return mark == name.npos ? name : name.substr(mark + 1);
}

bool is_gguf(const std::string& path) {
  return ascii_lower(path).ends_with(".gguf");
}

}  // namespace

std::optional<ModelReference> parse_model_reference(std::string_view text) {
  ModelReference out;
  if (const auto address = path_of_address(text)) {
    std::string_view path = *address;
    const std::string_view owner = next_part(path);
    std::string name(next_part(path));
    // hf.co/OWNER/NAME:Q4_K_M is how others write it.
    if (const std::size_t colon = name.find(':'); colon != name.npos) {
      out.variant = name.substr(colon + 1);
      name.resize(colon);
      if (!is_variant(out.variant)) return std::nullopt;
    }
    const auto repo = parse_repo_name(std::string(owner) + "/" + name);
    if (!repo) return std::nullopt;
    out.repo = *repo;
    const std::string_view kind = next_part(path);
    if (kind.empty()) return out;
    if (kind != "tree" && kind != "blob" && kind != "resolve") return std::nullopt;
    if (const std::string_view revision = next_part(path); !revision.empty())
      out.revision = revision;
    // The address of another file, of one of the weights or of the config, means the model.
    if (kind != "tree" && is_gguf(std::string(path))) out.variant = path;
    return out;
  }
  const std::size_t colon = text.find(':');
  const auto repo = parse_repo_name(text.substr(0, colon));
  if (!repo) return std::nullopt;
  out.repo = *repo;
  if (colon != text.npos) {
    out.variant = text.substr(colon + 1);
    if (!is_variant(out.variant)) return std::nullopt;
  }
  return out;
}

std::vector<std::string> gguf_variants(const std::vector<std::string>& paths) {
  std::set<std::string> variants;
  for (const std::string& path : paths)
    if (is_gguf(path)) variants.insert(variant_of(gguf_model(path)));
  return {variants.begin(), variants.end()};
}

std::vector<std::string> files_of_variant(const std::vector<std::string>& paths,
                                          std::string_view variant) {
  const std::string wanted = ascii_lower(variant);
  const std::string wanted_model = is_gguf(wanted) ? gguf_model(wanted) : "";
  std::vector<std::string> out;
  for (const std::string& path : paths) {
    if (!is_gguf(path)) continue;
    const std::string model = ascii_lower(gguf_model(path));
    const bool is_named = model == wanted_model || model.ends_with("/" + wanted_model);
    if (wanted_model.empty() ? ascii_lower(variant_of(model)) == wanted : is_named)
      out.push_back(path);
  }
  std::ranges::sort(out);
  return out;
}

std::string gguf_model(std::string path) {
  path.resize(path.size() - std::string_view(".gguf").size());
  const std::string_view part = "-00001-of-00001";
  if (path.size() > part.size()) {
    const std::string tail = path.substr(path.size() - part.size());
    if (::fnmatch("-[0-9][0-9][0-9][0-9][0-9]-of-[0-9][0-9][0-9][0-9][0-9]", tail.c_str(), 0) == 0)
      path.resize(path.size() - part.size());
  }
  return path;
}

}  // namespace anemone::hub
