// SPDX-License-Identifier: Apache-2.0
#include "ane/form.h"

#include <fstream>
#include <gtest/gtest.h>
#include <string>
#include <utility>

#include "tests/support/shared_data.h"

namespace anemone::ane {
namespace {

TEST(FormFile, NamesAFormAndWhatDiffersFromIt) {
  const testing::TemporaryFolder folder;
  const std::string path = folder.file("form.json");
  std::ofstream(path) << R"({"form": "blend-states", "layout": "width"})";
  const auto form = read_form(path);
  ASSERT_TRUE(form.ok()) << form.status().message();
  artifact::Form expected = *read_form("blend-states");
  expected.layout = artifact::HiddenLayout::kTokensInWidth;
  EXPECT_TRUE(*form == expected);
}

TEST(FormFile, IsRefusedWithItsNameAndWhatItSays) {
  const testing::TemporaryFolder folder;
  const std::string path = folder.file("form.json");
  for (const auto& [text, expected] : {
           std::pair(R"({"notch": true})", "[" + path + "] expected a string for notch, got true"),
           {R"({"form": 3})", "[" + path + "] expected a string for form, got 3"},
           {R"({"form": null})", "[" + path + "] expected a string for form, got null"},
           {R"({"form": "tidy"})",
            "[form] expected portable, blend-states, slice-states, got \"tidy\" (" + path + ")"},
           {R"({"notch": "far"})",
            "[notch] expected ignored or avoided, got \"far\" (" + path + ")"},
       }) {
    std::ofstream(path) << text;
    const Status status = read_form(path).status();
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << text;
    EXPECT_EQ(status.message(), expected) << text;
  }
}

}  // namespace
}  // namespace anemone::ane
