// SPDX-License-Identifier: Apache-2.0
// Published chat templates against what Hugging Face transformers renders from them.
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "base/file.h"
#include "base/json.h"
#include "tests/support/shared_data.h"
#include "text/jsonl.h"

namespace anemone::text {
namespace {

struct Count {
  int right = 0;
  int wrong = 0;
};

struct Checked {
  std::size_t templates = 0;
  int cases = 0;  // that render as they should
};

// Renders every case of cases.jsonl in `folder`.
Checked check_template_goldens(const std::string& folder) {
  std::map<std::string, ChatTemplate> templates;
  std::map<std::string, Count> counts;
  std::ifstream lines(folder + "/cases.jsonl");
  int shown = 0;
  for (std::string line; std::getline(lines, line);) {
    const auto request = parse_json(line, "case");
    EXPECT_TRUE(request.ok()) << request.status().message();
    if (!request.ok()) return {};
    const auto name = (*request)["template"].get<std::string>();
    if (templates.count(name) == 0) {
      const auto source = read_file(folder + "/" + name);
      EXPECT_TRUE(source.ok());
      if (!source.ok()) return {};
      auto parsed = ChatTemplate::parse(*source);
      EXPECT_TRUE(parsed.ok()) << name << ": " << parsed.status().message();
      if (!parsed.ok()) return {};
      templates.emplace(name, std::move(parsed).value());
    }
    const Json answer = render_line(templates.at(name), *request);
    const bool is_error = request->contains("error");
    const Json want =
        is_error ? Json{{"error", (*request)["error"]}} : Json{{"text", (*request)["rendered"]}};
    Count& count = counts[name];
    ++(answer == want ? count.right : count.wrong);
    if (answer != want && ++shown <= 8)
      ADD_FAILURE() << name << " " << (*request)["tag"] << "\nwant " << want << "\n got " << answer;
  }
  int right = 0;
  for (const auto& [name, count] : counts) {
    EXPECT_EQ(count.wrong, 0) << name;
    right += count.right;
  }
  return {templates.size(), right};
}

TEST(ChatTemplateGolden, EveryPublishedTemplateRendersAsInTransformers) {
  const auto folder = testing::shared_path("data/chat-templates");
  if (!folder) GTEST_SKIP() << "shared/data/chat-templates is not here";
  const Checked checked = check_template_goldens(*folder);
  EXPECT_EQ(checked.templates, 30U);
  EXPECT_EQ(checked.cases, 1888);
}

// A small part of these cases, which is committed; tests/text/make_goldens.py writes it.
TEST(ChatTemplateGolden, TheCommittedOnesRenderAsInTransformers) {
  const Checked checked =
      check_template_goldens(testing::source_path("tests/text/data/chat-templates"));
  EXPECT_EQ(checked.templates, 4U);
  EXPECT_EQ(checked.cases, 127);
}

}  // namespace
}  // namespace anemone::text
