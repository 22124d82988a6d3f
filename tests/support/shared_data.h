// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <system_error>

namespace anemone::testing {

// Large goldens lie beside the checkout, not in it. Path of `relative` ("data/models/qwen2") below
// the folder that ANEMONE_SHARED names, by default `<source dir>/../shared`; nullopt when it is not
// there.
inline std::optional<std::string> shared_path(const std::string& relative) {
  const char* named = std::getenv("ANEMONE_SHARED");
  const std::filesystem::path root = named != nullptr && *named != '\0'
                                         ? std::filesystem::path(named)
                                         : std::filesystem::path(ANEMONE_SOURCE_DIR "/../shared");
  std::error_code error;
  const std::filesystem::path path = root / relative;
  if (!std::filesystem::exists(path, error)) return std::nullopt;
  return path.lexically_normal().string();
}

// A committed file of the checkout, "tests/ir/data/a.mil".
inline std::string source_path(const std::string& relative) {
  return std::string(ANEMONE_SOURCE_DIR "/") + relative;
}

// An empty folder of its own for one test, removed with everything in it.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "anemone-test-XXXXXX").string();
    if (::mkdtemp(pattern.data()) != nullptr) path_ = pattern;
    EXPECT_FALSE(path_.empty()) << "cannot make " << pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace anemone::testing
