// SPDX-License-Identifier: Apache-2.0
// No file of a listing leads out of the folder that it is downloaded into, and its hash is one.
#include <algorithm>
#include <filesystem>

#include "base/check.h"
#include "fuzz/support.h"
#include "hub/repository.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace anemone;
  const auto files = hub::parse_file_list(fuzz::text_of(data, size), "input");
  if (!files.ok()) return 0;
  for (const hub::RemoteFile& file : *files) {
    const std::filesystem::path path(file.path);
    ANEMONE_CHECK(!path.empty() && path.is_relative() && path.has_filename());
    ANEMONE_CHECK(std::ranges::none_of(path, [](const auto& part) { return part == ".."; }));
    ANEMONE_CHECK(file.etag.size() == (file.is_large ? 64U : 40U));
    ANEMONE_CHECK(file.etag.find('/') == std::string::npos);
  }
  return 0;
}
