// SPDX-License-Identifier: Apache-2.0
// Files of Core ML's plans that a Mac wrote: what is read is written again with the same content,
// and joining it with predictions counts every operation once.
#include "exec/coreml/plan_file.h"

#include <nlohmann/json.hpp>

#include "base/check.h"
#include "base/json.h"
#include "exec/coreml/residency.h"
#include "fuzz/support.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace anemone;
  using namespace anemone::exec::coreml;
  const auto json = parse_json(fuzz::text_of(data, size), "input");
  if (!json.ok()) return 0;
  const auto file = parse_plan_file(*json, "input");
  if (!file.ok()) {
    ANEMONE_CHECK(file.status().message().starts_with("[input]"));
    return 0;
  }
  const std::string text = plan_text(*file);
  const auto again = parse_plan_file(*parse_json(text, "again"), "again");
  ANEMONE_CHECK(again.ok());
  ANEMONE_CHECK(plan_text(*again) == text);
  for (const PlannedFunction& each : file->functions) {
    ANEMONE_CHECK(file->find(each.package, each.function) != nullptr);
    const Residency joined = join(each.operations, {});
    ANEMONE_CHECK(joined.operations.size() <= each.operations.size());
    ANEMONE_CHECK(joined.on_chip <= joined.operations.size());
    ANEMONE_CHECK(joined.products_elsewhere.size() <= joined.products);
    ANEMONE_CHECK(!joined.summary().empty());
  }
  return 0;
}
