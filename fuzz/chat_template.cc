// SPDX-License-Identifier: Apache-2.0
// A chat template and the variables that it is rendered with. The same input gives the same text,
// within limits on time and memory.
#include "text/chat/chat_template.h"

#include <nlohmann/json.hpp>

#include "base/check.h"
#include "fuzz/support.h"

namespace {

constexpr std::string_view kContext = R"({"messages": [{"role": "system", "content": "Be brief."},
  {"role": "user", "content": "Hi"}, {"role": "assistant", "content": "A", "n": [1, 2.5, null]}],
  "tools": [{"name": "f", "parameters": {"x": true}}], "add_generation_prompt": true})";

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace anemone;
  const fuzz::Parts parts = fuzz::split_parts(fuzz::text_of(data, size));
  const auto parsed = text::ChatTemplate::parse(std::string(fuzz::part(parts, "template")));
  if (!parsed.ok()) return 0;
  auto context = parse_json(fuzz::part(parts, "context"), "context");
  if (!context.ok()) context = parse_json(kContext, "context");
  text::RenderOptions options;
  options.now = text::jinja::CivilTime{};
  options.limits.work = 20'000'000;
  options.limits.memory = 64U << 20;
  options.limits.output_bytes = 1U << 20;
  options.limits.items = 50'000;
  const auto first = parsed->render(*context, options);
  const auto second = parsed->render(*context, options);
  ANEMONE_CHECK(first.ok() == second.ok());
  if (first.ok()) {
    ANEMONE_CHECK(*first == *second);
    ANEMONE_CHECK(first->size() <= options.limits.output_bytes);
  }
  return 0;
}
