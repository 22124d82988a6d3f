// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/file_kind.h"

#include <fstream>
#include <gtest/gtest.h>

#include "tests/support/shared_data.h"

namespace anemone::checkpoint {
namespace {

using namespace std::string_view_literals;

std::string kind_of(std::string_view bytes, std::string_view name = "model.gguf") {
  return name_file_kind(std::as_bytes(std::span(bytes)), name);
}

TEST(FileKind, IsToldFromTheFirstBytes) {
  struct Case {
    std::string_view bytes;
    std::string_view part;
  };
  const std::string tar = std::string(257, '\0') + "ustar";
  for (const Case& c :
       {Case{"", "an empty file"}, Case{"<!DOCTYPE html>\n<html>", "an HTML page"},
        Case{"\n <HTML>", "an HTML page"}, Case{"\x1f\x8b\x08"sv, "a gzip file"},
        Case{"PK\x03\x04torch", "a zip file, as torch writes"},
        Case{"\x80\x02}"sv, "a pickle file"}, Case{"\x28\xb5\x2f\xfd!"sv, "a zstd file"},
        Case{tar, "a tar file"}, Case{"lmgg\1\0"sv, "from before GGUF"},
        Case{"\x10\0\0\0\0\0\0\0{\"a\""sv, "a safetensors"}, Case{"{\"a\": 1}", "a JSON file"},
        Case{"hello", "a text file"}, Case{"\1\2\3"sv, "of an unknown form"},
        Case{"\x1f"sv, "of an unknown form"}})
    EXPECT_NE(kind_of(c.bytes).find(c.part), std::string::npos) << kind_of(c.bytes);
  EXPECT_NE(kind_of("\x08\x07\x12"sv, "a/model.ONNX").find("an ONNX file"), std::string::npos);
  EXPECT_NE(kind_of("[1]", "vocab.json").find("a JSON file"), std::string::npos);
}

TEST(FileKind, TellsSafetensorsByTheHeader) {
  const auto is_one = [](std::string_view bytes) {
    return is_safetensors(std::as_bytes(std::span(bytes)));
  };
  EXPECT_TRUE(is_one("\x10\0\0\0\0\0\0\0{\"a\""sv));
  EXPECT_FALSE(is_one("\x10\0\0\0\0\0\0\0"sv));
  EXPECT_FALSE(is_one("\x10\0\0\0\0\0\0\0["sv));
  EXPECT_FALSE(is_one("\x10\0\0\0\0\0\1\0{"sv)) << "a header of 281 TB";
}

TEST(FileKind, IsInTheErrorOfAFileThatIsNoModel) {
  const testing::TemporaryFolder folder;
  const std::string path = folder.file("page.gguf");
  std::ofstream(path) << "<html>404</html>";
  const Status page = not_a_model(path);
  EXPECT_EQ(page.code(), Code::kUnsupported);
  EXPECT_NE(page.message().find("got an HTML page"), std::string::npos) << page.message();
  EXPECT_EQ(not_a_model(folder.file("none")).code(), Code::kIo);
}

}  // namespace
}  // namespace anemone::checkpoint
