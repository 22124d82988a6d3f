// SPDX-License-Identifier: Apache-2.0
#include "cli/serve_files.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>
#include <unordered_map>
#include <utility>

#include "base/descriptor.h"
#include "base/error.h"
#include "base/file.h"

namespace anemone::cli {
namespace {

using serve::openai::ApiKey;
using serve::openai::KeyLimits;

constexpr std::size_t kMaxKeyBytes = 4096;
constexpr std::size_t kMaxKeyFileBytes = std::size_t{1} << 20;
constexpr std::size_t kMaxReadyBytes = 5000;

Status check_key(std::string_view key, std::string_view source) {
  if (key.empty()) return invalid_argument("[{}] expected a key, got an empty one", source);
  const bool is_visible = std::ranges::all_of(key, [](char c) { return c > ' ' && c < 0x7f; });
  if (!is_visible || key.size() > kMaxKeyBytes)
    return invalid_argument("[{}] expected a key of at most {} visible ASCII characters", source,
                            kMaxKeyBytes);
  return {};
}

// Cuts the first word off, with the spaces and tabs after it.
std::string_view take_word(std::string_view& line) {
  const std::string_view word = line.substr(0, line.find_first_of(" \t"));
  line.remove_prefix(word.size());
  line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  return word;
}

// Adds the key of a line. No message shows any of it: it may all be a key.
Status add_key(std::string_view line, const std::string& path,
               std::unordered_map<std::string, KeyLimits>& known, std::vector<ApiKey>& keys) {
  ApiKey key;
  key.key = take_word(line);
  ANEMONE_RETURN_IF_ERROR(check_key(key.key, path));
  while (!line.empty())
    ANEMONE_RETURN_IF_ERROR(serve::openai::set_limit(take_word(line), key.limits).with(path));
  const auto [same, is_new] = known.try_emplace(key.key, key.limits);
  if (same->second != key.limits)
    return invalid_argument(
        "[{}] expected the same limits for an API key that stands twice, got others", path);
  if (is_new) keys.push_back(std::move(key));
  return {};
}

Result<std::vector<ApiKey>> keys_of_file(const std::string& path) {
  ANEMONE_ASSIGN_OR_RETURN(const std::string text, read_file(path, kMaxKeyFileBytes));
  std::unordered_map<std::string, KeyLimits> known;
  std::vector<ApiKey> keys;
  std::size_t number = 0;
  for (std::string_view rest = text; !rest.empty();) {
    ++number;
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    if (line.empty() || line.starts_with('#')) continue;
    ANEMONE_RETURN_IF_ERROR(add_key(line, path, known, keys).with(fmt::format("line {}", number)));
  }
  if (keys.empty())
    return invalid_argument("[{}] expected an API key in each line (# begins a comment), got none",
                            path);
  return keys;
}

// Whether a file holds what ReadyFile writes.
bool is_address_line(const std::string& text) {
  const bool is_address =
      text.starts_with("http://") || text.starts_with("https://") || text.starts_with("unix:");
  return is_address && text.find('\n') + 1 == text.size();
}

}  // namespace

Result<std::vector<ApiKey>> read_api_keys(const ApiKeySource& source) {
  if (!source.file.empty()) return keys_of_file(source.file);
  std::string key = source.text;
  if (key.empty()) {
    const char* variable = std::getenv("ANEMONE_API_KEY");
    if (variable == nullptr) return std::vector<ApiKey>();
    key = variable;
  }
  ANEMONE_RETURN_IF_ERROR(check_key(key, source.text.empty() ? "ANEMONE_API_KEY" : "--api-key"));
  return std::vector<ApiKey>{{std::move(key)}};
}

Result<ReadyFile> ReadyFile::prepare(const std::string& path) {
  if (path.empty()) return ReadyFile(path);
  std::error_code error;
  const auto status = std::filesystem::symlink_status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) return ReadyFile(path);
  const bool is_file = status.type() == std::filesystem::file_type::regular;
  const auto text =
      is_file ? read_file(path, kMaxReadyBytes) : Result<std::string>(Status(Code::kIo, ""));
  if (!text.ok() || (!text->empty() && !is_address_line(*text)))
    return io_error(
        "[{}] is not overwritten: it holds something other than the address of a server", path);
  // On a file system without locks, the file counts as that of a server that is gone.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (file.is_open() && ::flock(file.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    return io_error("[{}] expected an unused file, got that of a server that runs", path);
  if (!std::filesystem::remove(path, error) && error)
    return io_error("[{}] cannot remove: {}", path, error.message());
  return ReadyFile(path);
}

ReadyFile::ReadyFile(ReadyFile&& other) noexcept
    : path_(std::exchange(other.path_, {})),
      text_(std::exchange(other.text_, {})),
      file_(std::move(other.file_)) {}

Status ReadyFile::write(const std::string& url) {
  if (path_.empty()) return {};
  // A file that appeared since prepare() is somebody else's, so this is no rename over it. A reader
  // that waits until the file has a size finds the whole line, since it is one write.
  Descriptor file(::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!file.is_open() && errno == EEXIST)
    return io_error("[{}] a file appeared at this path after the server started", path_);
  if (!file.is_open()) return errno_error(path_, "create");
  (void)::flock(file.get(), LOCK_EX | LOCK_NB);
  const std::string text = url + "\n";
  const ssize_t count = ::write(file.get(), text.data(), text.size());
  if (count != static_cast<ssize_t>(text.size())) {
    const Status status = count < 0 ? errno_error(path_, "write")
                                    : io_error("[{}] cannot write: no space left on device", path_);
    ::unlink(path_.c_str());
    return status;
  }
  text_ = text;
  file_ = std::move(file);
  return {};
}

void ReadyFile::remove() {
  if (text_.empty()) return;
  const auto text = read_file(path_, kMaxReadyBytes);
  std::error_code ignored;
  if (text.ok() && *text == text_) std::filesystem::remove(path_, ignored);
  text_.clear();
  file_.close();
}

}  // namespace anemone::cli
