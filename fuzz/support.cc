// SPDX-License-Identifier: Apache-2.0
#include "fuzz/support.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sys/mman.h>
#include <unistd.h>

#include "base/check.h"
#include "mlpackage/manifest.h"

namespace anemone::fuzz {
namespace {

constexpr std::string_view kMark = "=== ";

}  // namespace

Parts split_parts(std::string_view input) {
  Parts parts;
  std::string name;
  std::size_t begin = 0;  // of the part
  std::size_t line = 0;
  while (line < input.size()) {
    const std::size_t line_break = input.find('\n', line);
    const std::size_t next = line_break == input.npos ? input.size() : line_break + 1;
    if (input.substr(line, next - line).starts_with(kMark) && line_break != input.npos) {
      if (line > 0) parts.emplace_back(name, input.substr(begin, line - 1 - begin));
      name = input.substr(line + kMark.size(), line_break - line - kMark.size());
      begin = next;
    }
    line = next;
  }
  if (begin < input.size()) parts.emplace_back(name, input.substr(begin));
  return parts;
}

std::string_view part(const Parts& parts, std::string_view name) {
  for (const auto& [key, content] : parts)
    if (key == name) return content;
  return {};
}

MemoryFile::MemoryFile(std::string_view content) : fd_(memfd_create("input", 0)) {
  ANEMONE_CHECK(fd_ >= 0);
  ANEMONE_CHECK(::write(fd_, content.data(), content.size()) ==
                static_cast<ssize_t>(content.size()));
  path_ = "/proc/self/fd/" + std::to_string(fd_);
}

MemoryFile::~MemoryFile() {
  ::close(fd_);
}

ScratchFolder::ScratchFolder(const Parts& parts) {
  namespace fs = std::filesystem;
  std::error_code error;
  const bool has_memory = fs::is_directory("/dev/shm", error);
  path_ = (has_memory ? fs::path("/dev/shm") : fs::temp_directory_path()) / "anemone-fuzz-XXXXXX";
  ANEMONE_CHECK(mkdtemp(path_.data()) != nullptr);
  for (const auto& [name, content] : parts) {
    if (!mlpackage::is_plain_relative_path(name) || name.size() > 200) continue;
    const fs::path file = fs::path(path_) / name;
    fs::create_directories(file.parent_path(), error);
    std::ofstream(file, std::ios::binary) << content;
  }
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace anemone::fuzz
