// SPDX-License-Identifier: Apache-2.0
// No file of a listing leads out of the folder that it is downloaded into, and its hash is one.
// Files that are let through can lie side by side on a disk that does not tell cases apart.
#include <algorithm>
#include <filesystem>
#include <set>
#include <string>

#include "base/check.h"
#include "fuzz/support.h"
#include "hub/file_choice.h"
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
  if (!hub::check_names(*files, {"owner", "name"}).ok()) return 0;
  std::set<std::string> names;
  for (const hub::RemoteFile& file : *files) {
    std::string folded = file.path;
    for (char& c : folded) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
    ANEMONE_CHECK(names.insert(folded).second);
  }
  for (const std::string& name : names)
    for (std::size_t at = name.find('/'); at != name.npos; at = name.find('/', at + 1))
      ANEMONE_CHECK(!names.contains(name.substr(0, at)));
  return 0;
}
