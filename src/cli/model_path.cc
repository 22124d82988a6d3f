// SPDX-License-Identifier: Apache-2.0
#include "cli/model_path.h"

#include <algorithm>
#include <charconv>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <optional>
#include <set>
#include <unistd.h>
#include <vector>

#include "artifact/manifest.h"
#include "base/descriptor.h"
#include "base/error.h"
#include "base/escape.h"
#include "base/path.h"
#include "base/progress.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/unfinished_file.h"
#include "hub/model_reference.h"
#include "hub/pull.h"

namespace anemone::cli {
namespace {

namespace fs = std::filesystem;

bool downloads_without_question = false;

bool has_file(const fs::path& folder, std::string_view name) {
  std::error_code error;
  return fs::exists(folder / name, error);
}

// Files below the folder, relative to it, at most one folder deep: as repositories have them.
std::vector<std::string> files_in(const fs::path& folder) {
  std::vector<std::string> out;
  std::error_code error;
  fs::recursive_directory_iterator it(folder, fs::directory_options::skip_permission_denied, error);
  for (const fs::recursive_directory_iterator end; !error && it != end; it.increment(error)) {
    if (it.depth() > 0) it.disable_recursion_pending();
    if (std::error_code ignored; fs::is_regular_file(it->path(), ignored))
      out.push_back(it->path().lexically_relative(folder).generic_string());
  }
  std::ranges::sort(out);
  return out;
}

bool is_weights(const std::string& path) {
  const fs::path extension = fs::path(path).extension();
  return extension == ".safetensors" || extension == ".gguf" || extension == ".onnx";
}

// The GGUF model of a folder that is no checkpoint and no artifact by itself: its first file, empty
// where there is none. kInvalidArgument where there are several.
Result<std::string> gguf_in(const fs::path& folder, const std::string& named,
                            const std::string& variant) {
  std::vector<std::string> files = files_in(folder);
  std::erase_if(files,
                [](const std::string& file) { return fs::path(file).extension() != ".gguf"; });
  if (!variant.empty()) files = hub::files_of_variant(files, variant);
  if (files.empty()) return std::string();
  std::set<std::string> models;
  for (const std::string& file : files) models.insert(hub::gguf_model(file));
  if (models.size() > 1)
    return invalid_argument("[{}] expected one GGUF model, got {}: name one of the files, {} say",
                            named, models.size(), (folder / files.front()).string());
  return (folder / files.front()).string();
}

// The model in a folder: itself, or the one GGUF model in it.
Result<std::string> model_in(const std::string& folder, const std::string& named,
                             const std::string& variant = "") {
  std::error_code error;
  // A safetensors file of another name may be anything, such as expected outputs. A GGUF file
  // beside such files is the model.
  constexpr std::string_view kOfModel[] = {artifact::kManifestName, "Manifest.json",
                                           "genai_config.json", "model.safetensors",
                                           "model.safetensors.index.json"};
  const bool has_model =
      variant.empty() &&
      std::ranges::any_of(kOfModel, [&](std::string_view name) { return has_file(folder, name); });
  if (has_model || !fs::is_directory(folder, error)) return folder;
  ANEMONE_ASSIGN_OR_RETURN(const std::string gguf, gguf_in(folder, named, variant));
  return gguf.empty() ? folder : gguf;
}

// Returns kIo for a file or folder that this user may not read. Without this check the readers
// would find nothing in it, and take it for something else.
Status check_readable(const std::string& path) {
  std::error_code error;
  const bool is_folder = fs::is_directory(path, error);
  if (!is_folder && !fs::is_regular_file(path, error)) return {};
  // With the dot, the system also checks the right to reach what is in the folder.
  const std::string opened = is_folder ? path + "/." : path;
  const Descriptor file(::open(opened.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  return file.is_open() ? Status() : errno_error(path, "open");
}

// Whether the files are there that the name of the first one of a split GGUF model tells of:
// "-00001-of-00003.gguf".
bool has_all_parts(const std::string& path) {
  constexpr std::string_view kFirst = "-00001-of-";
  const std::size_t at = path.rfind(kFirst);
  if (at == path.npos || !path.ends_with(".gguf")) return true;
  const std::string digits = path.substr(at + kFirst.size(), 5);
  int parts = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), parts);
  for (int part = 2; part <= parts; ++part)
    if (!has_file("", fmt::format("{}-{:05}-of-{}.gguf", path.substr(0, at), part, digits)))
      return false;
  return true;
}

// What was downloaded before; nullopt when it is not all there.
Result<std::optional<std::string>> downloaded(const hub::ModelReference& reference,
                                              const std::string& named) {
  ProgressReport bar("checking", Progress::Unit::kBytes);
  ANEMONE_ASSIGN_OR_RETURN(
      const auto folder,
      hub::find_pulled(reference.repo, reference.revision,
                       [&](std::uint64_t done, std::uint64_t total) { bar(done, total); }));
  bar.clear();
  if (!folder) return std::optional<std::string>();
  ANEMONE_ASSIGN_OR_RETURN(std::string path, model_in(*folder, named, reference.variant));
  if (!reference.variant.empty() && path == *folder) return std::optional<std::string>();
  if (!has_all_parts(path)) return std::optional<std::string>();
  return std::optional(std::move(path));
}

// Asks a person at the terminal. kCancelled when the answer is no.
Status ask(const std::string& question) {
  if (::isatty(STDIN_FILENO) != 1 || ::isatty(STDERR_FILENO) != 1)
    return io_error("{}: --yes downloads without a question", question);
  print_err("{}? [Y/n] ", question);
  std::string answer;
  char c = 0;
  while (::read(STDIN_FILENO, &c, 1) == 1 && c != '\n')
    if (answer.size() < 8) answer += c;
  if (is_interrupted()) return cancelled("[download] interrupted");
  if (c == '\n' && (answer.empty() || answer == "y" || answer == "Y" || answer == "yes")) return {};
  return cancelled("[download] not downloaded");
}

std::string listed(const std::vector<hub::RemoteFile>& files) {
  std::set<std::string> kinds;
  for (const hub::RemoteFile& file : files)
    if (is_weights(file.path)) kinds.insert(fs::path(file.path).extension().string().substr(1));
  std::string text = fmt::format("{} file{}", files.size(), files.size() == 1 ? "" : "s");
  for (const std::string& kind : kinds) text += ", " + kind;
  return text;
}

Result<std::string> download(const hub::ModelReference& reference, const std::string& named) {
  const std::string name = reference.repo.text();
  hub::PullOptions options;
  options.revision = reference.revision;
  options.patterns.variant = reference.variant;
  options.on_plan = [&](const hub::Pulled& planned, std::uint64_t missing) -> Status {
    if (missing == 0) return {};
    std::string size = format_bytes(planned.bytes);
    if (missing < planned.bytes) size += fmt::format(", {} of it missing", format_bytes(missing));
    const std::string what = fmt::format("[{}] download {} ({}) to {}", escaped(named), size,
                                         listed(planned.files), escaped(planned.folder));
    if (!downloads_without_question) return ask(what);
    print_err("anemone: {}\n", what);
    return {};
  };
  ProgressReport bar("downloading " + name, Progress::Unit::kBytes);
  const auto pulled = hub::pull(reference.repo, options,
                                [&](std::uint64_t done, std::uint64_t total) { bar(done, total); });
  bar.clear();
  if (!pulled.ok()) return pulled.status();
  ANEMONE_ASSIGN_OR_RETURN(std::string path, model_in(pulled->folder, named, reference.variant));
  // Where HF_HUB_OFFLINE forbids downloading, what was downloaded before need not have it.
  if ((!reference.variant.empty() && path == pulled->folder) || !has_all_parts(path))
    return not_found("[{}] is not in the cache, and HF_HUB_OFFLINE forbids downloading it", named);
  return path;
}

// Whether the text is rather a path: it begins like one, or its first folder is there.
bool looks_like_path(const std::string& model) {
  std::error_code error;
  const std::string first = model.substr(0, model.find('/'));
  return model.starts_with('.') || model.starts_with('/') || model.starts_with('~') ||
         fs::exists(first, error) || is_weights(model);
}

}  // namespace

void set_downloads_without_question(bool value) {
  downloads_without_question = value;
}

Result<NamedModel> find_model(const std::string& model) {
  std::error_code error;
  const bool is_there = fs::exists(model, error);
  if (error == std::errc::permission_denied)
    return io_error("[{}] cannot open: {}", model, error.message());
  if (is_there) {
    ANEMONE_RETURN_IF_ERROR(check_readable(model));
    ANEMONE_RETURN_IF_ERROR(check_finished(model));
    ANEMONE_ASSIGN_OR_RETURN(std::string path, model_in(model, model));
    return NamedModel{path, last_name(path)};
  }
  const auto reference = hub::parse_model_reference(model);
  if (!reference)
    return io_error(
        "[{}] no such file or folder. What works: the folder of a checkpoint or of a compiled "
        "model, a .gguf file, or a model of the hub: OWNER/NAME, OWNER/NAME:Q4_K_M, its https "
        "address",
        model);
  ANEMONE_ASSIGN_OR_RETURN(auto path, downloaded(*reference, model));
  if (!path && looks_like_path(model))
    return io_error("[{}] no such file or folder, and no downloaded model of the hub has this name",
                    model);
  if (!path) {
    ANEMONE_ASSIGN_OR_RETURN(path, download(*reference, model));
  }
  const bool is_file = fs::is_regular_file(*path, error);
  return NamedModel{*path, is_file ? last_name(*path) : reference->repo.name};
}

Result<std::string> model_path(const std::string& model) {
  ANEMONE_ASSIGN_OR_RETURN(NamedModel found, find_model(model));
  return std::move(found.path);
}

std::string served_name(const std::string& model) {
  const std::string name = last_name(model);
  return name.empty() ? model : name;
}

}  // namespace anemone::cli
