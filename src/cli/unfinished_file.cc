// SPDX-License-Identifier: Apache-2.0
#include "cli/unfinished_file.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/progress.h"

namespace anemone::cli {
namespace {

namespace fs = std::filesystem;

// https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md: a pointer is at most so long.
constexpr std::size_t kPointerBytes = 1024;
constexpr std::string_view kPointer = "version https://git-lfs.github.com/spec/";

std::string beginning_of(const fs::path& path, std::size_t bytes) {
  std::string text(bytes, '\0');
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             &std::fclose);
  if (!file) return "";
  text.resize(std::fread(text.data(), 1, bytes, file.get()));
  return text;
}

// The number behind "size " in a pointer.
std::optional<std::uint64_t> size_in_pointer(std::string_view text) {
  const std::size_t at = text.find("\nsize ");
  if (at == text.npos) return std::nullopt;
  std::uint64_t size = 0;
  const char* begin = text.data() + at + 6;
  if (std::from_chars(begin, text.data() + text.size(), size).ec != std::errc())
    return std::nullopt;
  return size;
}

bool is_of_model(const fs::path& path) {
  const fs::path extension = path.extension();
  return extension == ".safetensors" || extension == ".gguf" || extension == ".onnx" ||
         path.filename() == "config.json" || path.filename() == "tokenizer.json";
}

Status check_file(const fs::path& path) {
  std::error_code error;
  const std::uint64_t bytes = fs::file_size(path, error);
  if (error) return {};
  if (bytes == 0)
    return corrupt(
        "[{}] is empty: the download did not begin or the disk was full; download it "
        "again (anemone pull resumes)",
        path.string());
  if (bytes <= kPointerBytes) {
    const std::string text = beginning_of(path, kPointerBytes);
    if (text.starts_with(kPointer)) {
      const auto size = size_in_pointer(text);
      return corrupt(
          "[{}] is a Git LFS pointer ({}) in place of the file{}: git lfs pull brings it, "
          "or anemone pull OWNER/NAME",
          path.string(), format_bytes(bytes), size ? " of " + format_bytes(*size) : std::string());
    }
  }
  return {};
}

}  // namespace

Status check_finished(const std::string& model) {
  std::error_code error;
  if (fs::is_regular_file(model, error)) return is_of_model(model) ? check_file(model) : Status();
  std::vector<fs::path> files;
  fs::directory_iterator it(model, error);
  for (const fs::directory_iterator end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    if (is_of_model(it->path()) && fs::is_regular_file(it->path(), ignored))
      files.push_back(it->path());
    // What browsers and the tools of the hub call a download that goes on.
    if (const fs::path extension = it->path().extension();
        extension == ".incomplete" || extension == ".part" || extension == ".crdownload")
      return corrupt("[{}] is a download that did not end: let it end, or download it again",
                     it->path().string());
  }
  std::ranges::sort(files);
  for (const fs::path& file : files) ANEMONE_RETURN_IF_ERROR(check_file(file));
  return {};
}

}  // namespace anemone::cli
