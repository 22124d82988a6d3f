// SPDX-License-Identifier: Apache-2.0
// What the fuzz targets share: inputs of several parts, and readers that want files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace anemone::fuzz {

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// An input of several parts: each begins with a line "=== name\n" and ends before the line break
// that leads to the next one. Text before the first such line has the name "".
using Parts = std::vector<std::pair<std::string, std::string_view>>;
Parts split_parts(std::string_view input);
// The first part of this name; empty when there is none.
std::string_view part(const Parts& parts, std::string_view name);

// A file in memory that has a path, for readers that map what they read.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view content);
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  int fd_;
  std::string path_;
};

// A new folder that holds the parts as files and disappears with the object. Parts whose names are
// no plain relative paths are left out.
class ScratchFolder {
 public:
  explicit ScratchFolder(const Parts& parts);
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace anemone::fuzz
