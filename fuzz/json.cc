// SPDX-License-Identifier: Apache-2.0
// JSON that is read must be written and read again to the same text.
#include "base/json.h"

#include <nlohmann/json.hpp>

#include "base/check.h"
#include "fuzz/support.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace anemone;
  const auto value = parse_json(fuzz::text_of(data, size), "input");
  // Less memory refuses a value or gives the same one.
  const auto bounded = parse_json(fuzz::text_of(data, size), "input", {.max_memory = 1000});
  ANEMONE_CHECK(!bounded.ok() || (value.ok() && *bounded == *value));
  if (!value.ok()) return 0;
  const std::string text = dump_json(*value);
  const auto again = parse_json(text, "output");
  ANEMONE_CHECK(again.ok());
  ANEMONE_CHECK(dump_json(*again) == text);
  for (const char* key : {"a", "b"}) {
    (void)json_int(*value, key, "input").ok();
    (void)json_number(*value, key, "input").ok();
    (void)json_bool(*value, key, "input").ok();
    (void)json_string(*value, key, "input").ok();
  }
  return 0;
}
