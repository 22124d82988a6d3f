// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "artifact/manifest.h"
#include "artifact/manifest_check.h"
#include "artifact/ownership.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/file.h"
#include "base/inner_file.h"
#include "base/mapped_file.h"

namespace anemone::artifact {
namespace {

std::string join(const std::string& folder, std::string_view path) {
  return (std::filesystem::path(folder) / path).string();
}

// A piece is hashed and given back before the next is read, so that hashing a weight file does not
// make it resident.
Result<std::string> hash_of(const MappedFile& file) {
  constexpr std::size_t kPiece = 8 << 20;
  Digest hash;
  std::span<const std::byte> rest = file.bytes();
  while (!rest.empty()) {
    const auto piece = rest.first(std::min(kPiece, rest.size()));
    hash.update(piece);
    file.release(piece);
    rest = rest.subspan(piece.size());
  }
  ANEMONE_RETURN_IF_ERROR(file.check());
  return hash.hex();
}

}  // namespace

bool is_artifact(const std::string& folder) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path path = fs::path(folder) / kManifestName;
  if (!fs::exists(path, error)) return false;
  constexpr const char* kOthers[] = {"config.json", "genai_config.json", "Manifest.json",
                                     "model.safetensors", "model.safetensors.index.json"};
  const bool has_other = std::ranges::any_of(
      kOthers, [&](const char* name) { return fs::exists(fs::path(folder) / name, error); });
  if (!has_other) return true;
  const auto json = read_json_file(path.string());
  if (!json.ok() || !json->is_object()) return false;
  return json_member(*json, "format_version") != nullptr && json_member(*json, "shards") != nullptr;
}

Result<Manifest> read_manifest(const std::string& folder) {
  ANEMONE_ASSIGN_OR_RETURN(const std::string path, inner_file(folder, kManifestName));
  std::error_code error;
  if (!std::filesystem::exists(path, error))
    return not_found("[{}] expected an artifact folder with a {}, got none", folder, kManifestName);
  ANEMONE_ASSIGN_OR_RETURN(const Json json, read_json_file(path));
  return manifest_from_json(json, path);
}

Result<std::string> manifest_digest(const std::string& folder) {
  ANEMONE_ASSIGN_OR_RETURN(const std::string text, read_file(join(folder, kManifestName)));
  Digest digest;
  digest.update(text);
  return digest.hex();
}

Status write_manifest(const std::string& folder, const Manifest& manifest) {
  const std::string path = join(folder, kManifestName);
  ANEMONE_RETURN_IF_ERROR(check_manifest(manifest, path));
  return write_file(path, dump_json(to_json(manifest), 1) + "\n");
}

Result<FileEntry> describe_file(const std::string& folder, const std::string& path) {
  if (!is_inner_path(path))
    return invalid_argument("[{}] expected a path inside the artifact folder, got \"{}\"", folder,
                            path);
  ANEMONE_ASSIGN_OR_RETURN(const std::string place, inner_file(folder, path));
  ANEMONE_ASSIGN_OR_RETURN(const auto file, MappedFile::open(place));
  ANEMONE_ASSIGN_OR_RETURN(std::string hash, hash_of(*file));
  return FileEntry{path, file->bytes().size(), std::move(hash)};
}

Status check_files(const std::string& folder, const Manifest& manifest, bool check_hashes) {
  for (const FileEntry& entry : manifest.files) {
    if (!is_inner_path(entry.path))
      return corrupt("[{}] expected a path inside the artifact folder, got \"{}\"", folder,
                     entry.path);
    ANEMONE_ASSIGN_OR_RETURN(const std::string path, inner_file(folder, entry.path));
    std::error_code error;
    if (!std::filesystem::is_regular_file(path, error))
      return corrupt("[{}] expected the file that the manifest lists, got none", path);
    const std::uintmax_t bytes = std::filesystem::file_size(path, error);
    if (error) return io_error("[{}] cannot get the size: {}", path, error.message());
    if (bytes != entry.bytes)
      return corrupt("[{}] expected {} bytes, got {}", path, entry.bytes, bytes);
    if (!check_hashes) continue;
    ANEMONE_ASSIGN_OR_RETURN(const auto file, MappedFile::open(path));
    ANEMONE_ASSIGN_OR_RETURN(const std::string hash, hash_of(*file));
    if (hash != entry.sha256)
      return corrupt("[{}] expected sha256 {}, got {}", path, entry.sha256, hash);
  }
  return {};
}

}  // namespace anemone::artifact
