// SPDX-License-Identifier: Apache-2.0
// A settings file gives tables of flags or one line of error.
#include "cli/settings_file.h"

#include "base/check.h"
#include "fuzz/support.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace anemone;
  const auto tables = cli::parse_settings(fuzz::text_of(data, size), "input");
  if (!tables.ok()) {
    ANEMONE_CHECK(!tables.status().message().empty());
    return 0;
  }
  for (const auto& [command, flags] : *tables)
    for (const auto& [flag, value] : flags) ANEMONE_CHECK(flag.find('_') == flag.npos);
  return 0;
}
