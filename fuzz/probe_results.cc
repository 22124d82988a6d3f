// SPDX-License-Identifier: Apache-2.0
// Results of probes that a Mac wrote: what is read decides laws that there are.
#include <nlohmann/json.hpp>

#include "ane/measured.h"
#include "base/check.h"
#include "base/json.h"
#include "fuzz/support.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace anemone;
  const auto json = parse_json(fuzz::text_of(data, size), "input");
  if (!json.ok()) return 0;
  const auto measured = ane::parse_measurements(*json, "input");
  if (!measured.ok()) {
    ANEMONE_CHECK(measured.status().message().starts_with("[input]"));
    return 0;
  }
  for (const ane::MeasuredLaw& each : measured->laws) {
    ANEMONE_CHECK(each.law != nullptr && each.law->find != nullptr);
    ANEMONE_CHECK(!each.what.empty());
    ANEMONE_CHECK(measured->of(*each.law) == &each);
  }
  return 0;
}
