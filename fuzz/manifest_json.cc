// SPDX-License-Identifier: Apache-2.0
// A manifest that is read must be written and read again to the same text.
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>

#include "artifact/manifest.h"
#include "base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace anemone;
  const auto json = parse_json({reinterpret_cast<const char*>(data), size}, "input");
  if (!json.ok()) return 0;
  const auto manifest = artifact::manifest_from_json(*json, "input");
  if (!manifest.ok()) return 0;
  const std::string text = dump_json(artifact::to_json(*manifest));
  const auto again = parse_json(text, "output");
  ANEMONE_CHECK(again.ok());
  const auto read = artifact::manifest_from_json(*again, "output");
  ANEMONE_CHECK(read.ok());
  ANEMONE_CHECK(dump_json(artifact::to_json(*read)) == text);
  return 0;
}
