// SPDX-License-Identifier: Apache-2.0
#include "compiler/journal.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "artifact/manifest_check.h"
#include "artifact/ownership.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"

namespace anemone::compiler {
namespace {

namespace fs = std::filesystem;

std::string journal_path(const std::string& folder) {
  return folder + "/" + Journal::kName;
}

// One entry as the journal has it; an empty path for anything else.
artifact::FileEntry read_entry(const Json& json) {
  artifact::FileEntry entry;
  const auto path = json_string(json, "path", Journal::kName);
  const auto bytes = json_int(json, "bytes", Journal::kName);
  const auto sha256 = json_string(json, "sha256", Journal::kName);
  if (!path.ok() || !*path || !bytes.ok() || !*bytes || **bytes < 0 || !sha256.ok() || !*sha256 ||
      !artifact::is_inner_path(**path))
    return entry;
  return {**path, static_cast<std::uint64_t>(**bytes), **sha256};
}

// The files of a piece, sorted: itself, or all below it.
Result<std::vector<std::string>> files_of(const std::string& folder, const std::string& piece) {
  std::error_code error;
  std::vector<std::string> paths;
  if (!fs::is_directory(folder + "/" + piece, error)) return std::vector{piece};
  for (fs::recursive_directory_iterator it(folder + "/" + piece, error), end; !error && it != end;
       it.increment(error))
    if (std::error_code ignored; it->is_regular_file(ignored))
      paths.push_back(it->path().lexically_relative(folder).generic_string());
  if (error) return io_error("[{}] cannot list the folder: {}", folder, error.message());
  std::ranges::sort(paths);
  return paths;
}

// The first by name, so that the same folder gives the same message.
std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    names.push_back(it->path().filename().string());
  std::ranges::sort(names);
  return names;
}

Status in_the_way(const std::string& folder, const std::string& name) {
  return invalid_argument(
      "[{}] expected only files of an unfinished compile, got {}: anemone removes nothing else",
      folder, name);
}

// All that a package may hold while it is written.
constexpr const char* kPackageFiles[] = {"Manifest.json", "Data/com.apple.CoreML/model.mlmodel",
                                         "Data/com.apple.CoreML/weights/weight.bin"};

bool is_real(const std::string& path, fs::file_type type) {
  std::error_code error;
  return fs::symlink_status(path, error).type() == type;
}

}  // namespace

bool Journal::has_finished_pieces(const std::string& folder) {
  Journal journal(folder);
  return journal.read() && std::ranges::any_of(journal.pieces_, [](const auto& item) {
           return !item.second.empty();
         });
}

Status Journal::check_all_is_ours(const std::string& folder) {
  Journal journal(folder);
  journal.read();
  return journal.check_names();
}

void Journal::remove_all_that_is_ours(const std::string& folder) {
  Journal journal(folder);
  journal.read();
  if (!journal.check_names().ok()) return;
  for (const std::string& name : names_in(journal.contents()))
    (void)artifact::remove_all_that_is_listed(journal.contents(), name, journal.files_under(name));
  // rmdir() removes neither folder while something is left in it.
  if (::rmdir(journal.contents().c_str()) != 0 && errno != ENOENT) return;
  for (const std::string& name : names_in(folder))
    if (without_temporary_suffix(name) == kName)
      (void)artifact::remove_all_that_is_listed(folder, name, {kName});
  (void)::rmdir(folder.c_str());
}

Result<Journal> Journal::open(const std::string& folder, const std::string& fingerprint,
                              bool takes_over) {
  Journal journal(folder);
  journal.read();
  ANEMONE_RETURN_IF_ERROR(journal.check_names());
  if (!takes_over || journal.fingerprint_ != fingerprint)
    for (auto& [name, files] : journal.pieces_) files.clear();
  journal.fingerprint_ = fingerprint;
  ANEMONE_RETURN_IF_ERROR(journal.drop_unfinished());
  // First, so that whatever is written afterwards is never taken for somebody else's.
  ANEMONE_RETURN_IF_ERROR(journal.write());
  ANEMONE_RETURN_IF_ERROR(make_directories(journal.contents()));
  return journal;
}

bool Journal::read() {
  constexpr std::uint64_t kMaxBytes = 64 << 20;
  if (!is_real(journal_path(folder_), fs::file_type::regular)) return false;
  const auto text = read_file(journal_path(folder_), kMaxBytes);
  if (!text.ok()) return false;
  const auto json = parse_json(*text, kName);
  if (!json.ok()) return false;
  const auto fingerprint = json_string(*json, "fingerprint", kName);
  const Json* pieces = json_member(*json, "pieces");
  if (!fingerprint.ok() || !*fingerprint || pieces == nullptr || !pieces->is_object()) return false;
  fingerprint_ = **fingerprint;
  for (const auto& item : pieces->items()) {
    const std::string& piece = item.key();
    const Json& list = item.value();
    if (!artifact::is_inner_path(piece) || piece.find('/') != std::string::npos) continue;
    std::vector<artifact::FileEntry> entries;
    if (list.is_array())
      for (const Json& entry : list) entries.push_back(read_entry(entry));
    const bool is_whole = std::ranges::all_of(entries, [&](const artifact::FileEntry& entry) {
      return entry.path == piece || entry.path.starts_with(piece + "/");
    });
    if (!is_whole) entries.clear();
    pieces_[piece] = std::move(entries);
  }
  return true;
}

// The journal does not list the files of an unfinished piece; the result is then the files that
// such a piece may have.
std::set<std::string> Journal::files_under(const std::string& name) const {
  const auto piece = pieces_.find(std::string(without_temporary_suffix(name)));
  if (piece == pieces_.end()) return {};
  std::set<std::string> files;
  if (piece->first == name && !piece->second.empty()) {
    for (const artifact::FileEntry& entry : piece->second) files.insert(entry.path);
    return files;
  }
  files.insert(name);
  for (const char* file : kPackageFiles) files.insert(name + "/" + file);
  return files;
}

Status Journal::check_names() const {
  for (const std::string& name : names_in(folder_)) {
    const bool is_contents =
        name == kContents && is_real(folder_ + "/" + name, fs::file_type::directory);
    const bool is_journal = without_temporary_suffix(name) == kName &&
                            is_real(folder_ + "/" + name, fs::file_type::regular);
    if (!is_contents && !is_journal) return in_the_way(folder_, name);
  }
  for (const std::string& name : names_in(contents())) {
    const auto files = files_under(name);
    if (files.empty()) return in_the_way(folder_, std::string(kContents) + "/" + name);
    ANEMONE_RETURN_IF_ERROR(artifact::check_all_is_listed(contents(), name, files));
  }
  return {};
}

// Removes unfinished pieces. Requires that check_names() succeeded.
Status Journal::drop_unfinished() {
  for (const std::string& name : names_in(contents())) {
    const auto piece = pieces_.find(name);
    if (piece != pieces_.end() && !piece->second.empty()) continue;
    ANEMONE_RETURN_IF_ERROR(
        artifact::remove_all_that_is_listed(contents(), name, files_under(name)));
  }
  std::erase_if(pieces_, [](const auto& item) { return item.second.empty(); });
  return {};
}

Status Journal::write() const {
  Json pieces = Json::object();
  for (const auto& [piece, entries] : pieces_) {
    Json& list = pieces[piece] = Json::array();
    for (const artifact::FileEntry& entry : entries)
      list.push_back({{"path", entry.path}, {"bytes", entry.bytes}, {"sha256", entry.sha256}});
  }
  const Json json = {{"fingerprint", fingerprint_}, {"pieces", std::move(pieces)}};
  return write_file(journal_path(folder_), dump_json(json, 1) + "\n");
}

Status Journal::begin(const std::string& piece) {
  pieces_[piece].clear();
  return write();
}

const std::vector<artifact::FileEntry>* Journal::find(const std::string& piece) {
  const auto it = pieces_.find(piece);
  if (it == pieces_.end() || it->second.empty()) return nullptr;
  const auto paths = files_of(contents(), piece);
  const bool is_same =
      paths.ok() && paths->size() == it->second.size() &&
      std::ranges::all_of(it->second, [&](const artifact::FileEntry& entry) {
        const auto now = artifact::describe_file(contents(), entry.path);
        return now.ok() && now->bytes == entry.bytes && now->sha256 == entry.sha256;
      });
  if (is_same) return &it->second;
  (void)artifact::remove_all_that_is_listed(contents(), piece, files_under(piece));
  pieces_.erase(it);
  return nullptr;
}

std::uint64_t Journal::total_bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& [piece, entries] : pieces_)
    for (const artifact::FileEntry& entry : entries) bytes += entry.bytes;
  return bytes;
}

Result<const std::vector<artifact::FileEntry>*> Journal::add(const std::string& piece) {
  ANEMONE_ASSIGN_OR_RETURN(const auto paths, files_of(contents(), piece));
  std::vector<artifact::FileEntry> entries;
  for (const std::string& path : paths) {
    ANEMONE_ASSIGN_OR_RETURN(artifact::FileEntry entry, artifact::describe_file(contents(), path));
    entries.push_back(std::move(entry));
  }
  pieces_[piece] = std::move(entries);
  ANEMONE_RETURN_IF_ERROR(write());
  return &pieces_[piece];
}

}  // namespace anemone::compiler
