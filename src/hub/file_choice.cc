// SPDX-License-Identifier: Apache-2.0
#include "hub/file_choice.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>
#include <iterator>
#include <map>
#include <set>
#include <string_view>

#include "base/ascii.h"
#include "base/error.h"
#include "hub/model_reference.h"

namespace anemone::hub {
namespace {

using Files = std::vector<RemoteFile>;

bool matches(const std::vector<std::string>& patterns, const std::string& path) {
  return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
    return ::fnmatch(pattern.c_str(), path.c_str(), 0) == 0;
  });
}

bool is_at_top(const RemoteFile& file) {
  return file.path.find('/') == std::string::npos;
}

template <typename Predicate>
Files those(const Files& files, Predicate is_wanted) {
  Files out;
  std::copy_if(files.begin(), files.end(), std::back_inserter(out), is_wanted);
  return out;
}

void add(Files& files, const Files& more) {
  files.insert(files.end(), more.begin(), more.end());
}

std::vector<std::string> paths_of(const Files& files) {
  std::vector<std::string> paths;
  for (const RemoteFile& file : files) paths.push_back(file.path);
  return paths;
}

Result<Files> choose_weights(const Files& files, const RepoName& repo) {
  Files tensors = those(files, [](const RemoteFile& file) {
    return is_at_top(file) && file.path.ends_with(".safetensors");
  });
  if (!tensors.empty()) {
    // Some repositories have the same weights a second time, in their first form.
    Files named =
        those(tensors, [](const RemoteFile& file) { return file.path.starts_with("model"); });
    return named.empty() ? tensors : named;
  }
  const Files gguf =
      those(files, [](const RemoteFile& file) { return file.path.ends_with(".gguf"); });
  if (!gguf.empty()) {
    std::set<std::string> models;
    for (const RemoteFile& file : gguf) models.insert(gguf_model(file.path));
    if (models.size() == 1) return gguf;
    const std::vector<std::string> variants = gguf_variants(paths_of(gguf));
    return invalid_argument("[{}] expected one of its {} GGUF models, as {}:{}; there are {}",
                            repo.text(), models.size(), repo.text(), variants.front(),
                            fmt::join(variants, ", "));
  }
  Files onnx = those(files, [](const RemoteFile& file) {
    return file.path.ends_with(".onnx") || file.path.ends_with(".onnx.data") ||
           file.path.ends_with(".onnx_data") || file.path.ends_with("genai_config.json");
  });
  if (!onnx.empty()) return onnx;
  const bool has_torch = std::any_of(files.begin(), files.end(), [](const RemoteFile& file) {
    return file.path.ends_with(".bin") || file.path.ends_with(".pt") || file.path.ends_with(".pth");
  });
  if (has_torch)
    return unsupported(
        "[{}] expected safetensors, GGUF or ONNX, got PyTorch .bin files; convert them with "
        "transformers: model.save_pretrained(folder)",
        repo.text());
  return unsupported("[{}] expected safetensors, GGUF or ONNX weights, got none", repo.text());
}

}  // namespace

Result<std::vector<RemoteFile>> choose_files(const Snapshot& snapshot, const FilePatterns& patterns,
                                             const RepoName& repo) {
  const auto is_left = [&](const RemoteFile& file) {
    return !matches(patterns.exclude, file.path);
  };
  const Files files = those(snapshot.files, is_left);
  if (!patterns.variant.empty()) {
    const std::vector<std::string> chosen = files_of_variant(paths_of(files), patterns.variant);
    if (chosen.empty()) {
      const std::vector<std::string> variants = gguf_variants(paths_of(files));
      return not_found("[{}:{}] expected one of its GGUF models, which are {}", repo.text(),
                       patterns.variant,
                       variants.empty() ? "none" : fmt::format("{}", fmt::join(variants, ", ")));
    }
    return those(files, [&](const RemoteFile& file) {
      return std::ranges::binary_search(chosen, file.path);
    });
  }
  if (!patterns.include.empty()) {
    Files out =
        those(files, [&](const RemoteFile& file) { return matches(patterns.include, file.path); });
    if (out.empty())
      return not_found("[--include] expected a pattern that matches a file of {}, got {}",
                       repo.text(), fmt::join(patterns.include, ", "));
    return out;
  }
  static const std::vector<std::string> kSmall = {"*.json", "*.jinja", "*.txt", "*.model"};
  Files out = those(files, [](const RemoteFile& file) {
    return is_at_top(file) && matches(kSmall, file.path) && file.path != "genai_config.json";
  });
  ANEMONE_ASSIGN_OR_RETURN(const Files weights, choose_weights(files, repo));
  add(out, weights);
  return out;
}

Status check_names(const std::vector<RemoteFile>& files, const RepoName& repo) {
  std::map<std::string, std::string_view> names;
  for (const RemoteFile& file : files) {
    const auto [it, is_new] = names.emplace(ascii_lower(file.path), file.path);
    if (!is_new)
      return unsupported("[{}] expected names that differ in more than case, got \"{}\" and \"{}\"",
                         repo.text(), it->second, file.path);
  }
  for (const RemoteFile& file : files)
    for (std::size_t at = file.path.find('/'); at != std::string::npos;
         at = file.path.find('/', at + 1))
      if (const auto it = names.find(ascii_lower(file.path.substr(0, at))); it != names.end())
        return unsupported("[{}] expected \"{}\" to be a folder, as in \"{}\", got a file",
                           repo.text(), it->second, file.path);
  return {};
}

}  // namespace anemone::hub
