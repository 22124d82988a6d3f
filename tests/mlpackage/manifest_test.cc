// SPDX-License-Identifier: Apache-2.0
#include "mlpackage/manifest.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace anemone::mlpackage {
namespace {

// What coremltools writes.
constexpr std::string_view kGood = R"({
    "fileFormatVersion": "1.0.0",
    "itemInfoEntries": {
        "0B8E": {
            "author": "com.apple.CoreML",
            "description": "CoreML Model Specification",
            "name": "model.mlmodel",
            "path": "com.apple.CoreML/model.mlmodel"
        },
        "77aa": {
            "author": "com.apple.CoreML",
            "description": "CoreML Model Weights",
            "name": "weights",
            "path": "com.apple.CoreML/weights"
        }
    },
    "rootModelIdentifier": "0B8E"
}
)";

std::string replaced(std::string_view what, std::string_view with) {
  std::string text(kGood);
  const auto at = text.find(what);
  EXPECT_NE(at, text.npos) << what;
  return text.replace(at, what.size(), with);
}

TEST(ManifestTest, items_and_root_are_read) {
  const auto manifest = parse_manifest(kGood, "m");
  ASSERT_TRUE(manifest.ok()) << manifest.status().message();
  ASSERT_EQ(manifest->items.size(), 2u);
  EXPECT_EQ(manifest->root_item()->name, "model.mlmodel");
  EXPECT_EQ(manifest->items[1].path, "com.apple.CoreML/weights");
}

TEST(ManifestTest, what_is_written_is_the_text_that_was_read) {
  const auto manifest = parse_manifest(kGood, "m");
  ASSERT_TRUE(manifest.ok());
  EXPECT_EQ(format_manifest(*manifest), kGood);
}

TEST(ManifestTest, older_formats_are_read_and_later_ones_refused) {
  for (const char* version : {"1.0.0", "0.9.17", "0.0.0"})
    EXPECT_TRUE(parse_manifest(replaced("1.0.0", version), "m").ok()) << version;
  for (const char* version : {"1.0.1", "1.1.0", "2.0.0", "1.0", "1", "", "1.0.0.0", "1.0.x",
                              "-1.0.0", "1..0", "1.0.0 ", "99999999999.0.0"})
    EXPECT_EQ(parse_manifest(replaced("1.0.0", version), "m").status().code(),
              Code::kVersionMismatch)
        << version;
}

TEST(ManifestTest, paths_that_leave_the_package_are_refused) {
  for (const char* path : {"/etc/passwd", "../x", "a/../../x", "com.apple.CoreML/..", ".", "a//b",
                           "a/", "", "a\\\\b", "a\\u0000b"})
    EXPECT_EQ(parse_manifest(replaced("com.apple.CoreML/weights", path), "m").status().code(),
              Code::kCorrupt)
        << path;
}

TEST(ManifestTest, missing_or_mistyped_fields_are_refused) {
  for (const char* key : {"fileFormatVersion", "itemInfoEntries", "rootModelIdentifier", "author",
                          "description", "name", "path"})
    EXPECT_EQ(
        parse_manifest(replaced(fmt::format("\"{}\"", key), "\"other\""), "m").status().code(),
        Code::kCorrupt)
        << key;
  EXPECT_EQ(parse_manifest(replaced("\"1.0.0\"", "1"), "m").status().code(), Code::kParseError);
  EXPECT_EQ(parse_manifest("[]", "m").status().code(), Code::kCorrupt);
  EXPECT_EQ(parse_manifest("{", "m").status().code(), Code::kParseError);
}

TEST(ManifestTest, the_root_must_be_an_item) {
  EXPECT_EQ(
      parse_manifest(
          replaced("\"rootModelIdentifier\": \"0B8E\"", "\"rootModelIdentifier\": \"0B8F\""), "m")
          .status()
          .code(),
      Code::kCorrupt);
}

TEST(ManifestTest, two_items_may_not_share_name_and_author) {
  EXPECT_EQ(parse_manifest(replaced("\"weights\"", "\"model.mlmodel\""), "m").status().code(),
            Code::kCorrupt);
}

TEST(ManifestTest, errors_name_the_file_and_the_item) {
  const auto status = parse_manifest(replaced("com.apple.CoreML/weights", "/w"), "P/Manifest.json");
  EXPECT_EQ(status.status().message(),
            "[P/Manifest.json] expected a plain relative path, got \"/w\" (item 77aa)");
}

TEST(ManifestTest, identifiers_depend_on_the_seed_alone) {
  const std::string one = make_identifier("model");
  EXPECT_EQ(one, make_identifier("model"));
  EXPECT_NE(one, make_identifier("weights"));
  ASSERT_EQ(one.size(), 36u);
  for (const std::size_t dash : {8u, 13u, 18u, 23u}) EXPECT_EQ(one[dash], '-');
  EXPECT_EQ(one[14], '8');
}

}  // namespace
}  // namespace anemone::mlpackage
