// SPDX-License-Identifier: Apache-2.0
#include "compiler/journal.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "artifact/manifest_check.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"

namespace anemone::compiler {
namespace {

namespace fs = std::filesystem;

constexpr const char* kJournalName = "compile.json";

std::string journal_path(const std::string& folder) {
  return folder + "/" + kJournalName;
}

// One entry as the journal has it; an empty path for anything else.
artifact::FileEntry read_entry(const Json& json) {
  artifact::FileEntry entry;
  const auto path = json_string(json, "path", kJournalName);
  const auto bytes = json_int(json, "bytes", kJournalName);
  const auto sha256 = json_string(json, "sha256", kJournalName);
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
    if (it->is_regular_file()) paths.push_back(fs::relative(it->path(), folder).generic_string());
  if (error) return io_error("[{}] cannot list the folder: {}", folder, error.message());
  std::ranges::sort(paths);
  return paths;
}

}  // namespace

// A journal that was being written counts too: its name begins the same.
bool Journal::is_in(const std::string& folder) {
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (it->path().filename().string().starts_with(kJournalName)) return true;
  return false;
}

Status Journal::remove(const std::string& folder) {
  std::error_code error;
  fs::remove(journal_path(folder), error);
  if (error) return io_error("[{}] cannot remove: {}", journal_path(folder), error.message());
  return {};
}

Result<Journal> Journal::open(const std::string& folder, const std::string& fingerprint) {
  Journal journal(folder, fingerprint);
  journal.read();
  // First, so that a folder without a journal is never taken for somebody else's.
  ANEMONE_RETURN_IF_ERROR(journal.write());
  ANEMONE_RETURN_IF_ERROR(journal.drop_the_rest());
  return journal;
}

// A journal that cannot be read is none: everything is made again.
void Journal::read() {
  constexpr std::uint64_t kMaxBytes = 64 << 20;
  const auto text = read_file(journal_path(folder_), kMaxBytes);
  if (!text.ok()) return;
  const auto json = parse_json(*text, kJournalName);
  if (!json.ok()) return;
  const auto fingerprint = json_string(*json, "fingerprint", kJournalName);
  const Json* pieces = json_member(*json, "pieces");
  if (!fingerprint.ok() || *fingerprint != fingerprint_ || pieces == nullptr ||
      !pieces->is_object())
    return;
  for (const auto& item : pieces->items()) {
    const std::string& piece = item.key();
    const Json& list = item.value();
    std::vector<artifact::FileEntry> entries;
    if (list.is_array())
      for (const Json& entry : list) entries.push_back(read_entry(entry));
    const bool is_whole = std::ranges::all_of(entries, [&](const artifact::FileEntry& entry) {
      return entry.path == piece || entry.path.starts_with(piece + "/");
    });
    if (!entries.empty() && is_whole) pieces_[piece] = std::move(entries);
  }
}

Status Journal::drop_the_rest() const {
  std::error_code error;
  for (fs::directory_iterator it(folder_, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name == kJournalName || pieces_.contains(name)) continue;
    std::error_code ignored;
    fs::remove_all(it->path(), ignored);
  }
  if (error) return io_error("[{}] cannot list the folder: {}", folder_, error.message());
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

const std::vector<artifact::FileEntry>* Journal::find(const std::string& piece) {
  const auto it = pieces_.find(piece);
  if (it == pieces_.end()) return nullptr;
  const auto paths = files_of(folder_, piece);
  const bool is_same =
      paths.ok() && paths->size() == it->second.size() &&
      std::ranges::all_of(it->second, [&](const artifact::FileEntry& entry) {
        const auto now = artifact::describe_file(folder_, entry.path);
        return now.ok() && now->bytes == entry.bytes && now->sha256 == entry.sha256;
      });
  if (is_same) return &it->second;
  pieces_.erase(it);
  std::error_code ignored;
  fs::remove_all(folder_ + "/" + piece, ignored);
  return nullptr;
}

std::uint64_t Journal::total_bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& [piece, entries] : pieces_)
    for (const artifact::FileEntry& entry : entries) bytes += entry.bytes;
  return bytes;
}

Result<const std::vector<artifact::FileEntry>*> Journal::add(const std::string& piece) {
  ANEMONE_ASSIGN_OR_RETURN(const auto paths, files_of(folder_, piece));
  std::vector<artifact::FileEntry> entries;
  for (const std::string& path : paths) {
    ANEMONE_ASSIGN_OR_RETURN(artifact::FileEntry entry, artifact::describe_file(folder_, path));
    entries.push_back(std::move(entry));
  }
  pieces_[piece] = std::move(entries);
  ANEMONE_RETURN_IF_ERROR(write());
  return &pieces_[piece];
}

}  // namespace anemone::compiler
