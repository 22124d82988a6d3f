// SPDX-License-Identifier: Apache-2.0
#include <anemone/status.h>

#include <cerrno>
#include <fstream>
#include <gtest/gtest.h>
#include <memory>
#include <set>
#include <sstream>
#include <string>

#include "base/check.h"
#include "base/error.h"
#include "tests/support/shared_data.h"

namespace anemone {
namespace {

constexpr int kCodes = static_cast<int>(Code::kInternal) + 1;

TEST(Status, DefaultIsOkWithoutAMessage) {
  const Status status;
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(status.code(), Code::kOk);
  EXPECT_EQ(status.message(), "");
  EXPECT_TRUE(ok_status().ok());
}

TEST(Status, CarriesCodeAndMessage) {
  const Status status = corrupt("[{}] expected {} bytes, got {}", "a.bin", 8, 3);
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(status.code(), Code::kCorrupt);
  EXPECT_EQ(status.message(), "[a.bin] expected 8 bytes, got 3");
}

TEST(Status, EachMakerGivesItsCode) {
  EXPECT_EQ(check_not_met("x").code(), Code::kCheckFailed);
  EXPECT_EQ(invalid_argument("x").code(), Code::kInvalidArgument);
  EXPECT_EQ(parse_error("x").code(), Code::kParseError);
  EXPECT_EQ(unsupported("x").code(), Code::kUnsupported);
  EXPECT_EQ(not_found("x").code(), Code::kNotFound);
  EXPECT_EQ(corrupt("x").code(), Code::kCorrupt);
  EXPECT_EQ(version_mismatch("x").code(), Code::kVersionMismatch);
  EXPECT_EQ(out_of_memory("x").code(), Code::kOutOfMemory);
  EXPECT_EQ(io_error("x").code(), Code::kIo);
  EXPECT_EQ(cancelled("x").code(), Code::kCancelled);
  EXPECT_EQ(internal_error("x").code(), Code::kInternal);
}

TEST(Status, WithAddsFramesAtTheEndAndKeepsTheCode) {
  const Status status = io_error("[f] cannot read").with("tensor a").with("layer 3");
  EXPECT_EQ(status.code(), Code::kIo);
  EXPECT_EQ(status.message(), "[f] cannot read (tensor a) (layer 3)");
}

TEST(Status, WithLeavesOkAlone) {
  EXPECT_TRUE(Status().with("somewhere").ok());
  EXPECT_EQ(Status().with("somewhere").message(), "");
}

TEST(Status, ErrnoErrorNamesPathActionAndReason) {
  errno = ENOENT;
  const Status status = errno_error("model.bin", "open");
  EXPECT_EQ(status.code(), Code::kIo);
  EXPECT_EQ(status.message(), "[model.bin] cannot open: No such file or directory");
}

TEST(Code, NamesAreUniqueSnakeCase) {
  std::set<std::string> names;
  for (int i = 0; i < kCodes; ++i) {
    const std::string name(code_name(static_cast<Code>(i)));
    EXPECT_TRUE(names.insert(name).second) << name;
    EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_"), std::string::npos) << name;
  }
}

TEST(Code, ExitCodesAreThoseOfTheDesign) {
  EXPECT_EQ(exit_code(Code::kOk), 0);
  EXPECT_EQ(exit_code(Code::kCheckFailed), 1);
  EXPECT_EQ(exit_code(Code::kInvalidArgument), 2);
  EXPECT_EQ(exit_code(Code::kParseError), 3);
  EXPECT_EQ(exit_code(Code::kNotFound), 3);
  EXPECT_EQ(exit_code(Code::kCorrupt), 3);
  EXPECT_EQ(exit_code(Code::kVersionMismatch), 3);
  EXPECT_EQ(exit_code(Code::kUnsupported), 4);
  EXPECT_EQ(exit_code(Code::kIo), 5);
  EXPECT_EQ(exit_code(Code::kOutOfMemory), 6);
  EXPECT_EQ(exit_code(Code::kBusy), 6);
  EXPECT_EQ(exit_code(Code::kDevice), 7);
  EXPECT_EQ(exit_code(Code::kInternal), 70);
}

TEST(Code, DocumentationHasARowForEachCodeWithItsExitCode) {
  std::ifstream file(testing::source_path("docs/errors.md"));
  ASSERT_TRUE(file.is_open());
  std::stringstream text;
  text << file.rdbuf();
  for (int i = 0; i < kCodes; ++i) {
    const Code code = static_cast<Code>(i);
    const std::string row = fmt::format("| `{}` | {} |", code_name(code), exit_code(code));
    EXPECT_NE(text.str().find(row), std::string::npos) << row;
  }
}

TEST(Result, HoldsAValueOrAStatus) {
  Result<int> good = 7;
  ASSERT_TRUE(good.ok());
  EXPECT_EQ(*good, 7);
  EXPECT_TRUE(good.status().ok());
  const Result<int> bad = not_found("no such tensor");
  EXPECT_FALSE(bad.ok());
  EXPECT_EQ(bad.status().code(), Code::kNotFound);
  EXPECT_EQ(good.value_or(1), 7);
  EXPECT_EQ(bad.value_or(1), 1);
}

TEST(Result, MovesValuesThatCannotBeCopied) {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(5);
  ASSERT_TRUE(result.ok());
  const std::unique_ptr<int> taken = *std::move(result);
  EXPECT_EQ(*taken, 5);
}

TEST(Result, WithAddsAFrameToTheErrorOnly) {
  EXPECT_EQ(Result<int>(corrupt("bad")).with("header").status().message(), "bad (header)");
  EXPECT_EQ(Result<int>(3).with("header").value(), 3);
}

Status fail_at(int wanted, int& reached) {
  reached = 1;
  ANEMONE_RETURN_IF_ERROR(wanted == 1 ? io_error("first") : Status());
  reached = 2;
  ANEMONE_RETURN_IF_ERROR(wanted == 2 ? corrupt("second") : Status());
  reached = 3;
  return {};
}

TEST(StatusMacros, ReturnIfErrorLeavesAtTheFirstError) {
  int reached = 0;
  EXPECT_EQ(fail_at(1, reached).message(), "first");
  EXPECT_EQ(reached, 1);
  EXPECT_EQ(fail_at(2, reached).message(), "second");
  EXPECT_EQ(reached, 2);
  EXPECT_TRUE(fail_at(0, reached).ok());
  EXPECT_EQ(reached, 3);
}

Result<int> sum(Result<int> a, Result<int> b) {
  ANEMONE_ASSIGN_OR_RETURN(const int x, std::move(a));
  int y = 0;
  ANEMONE_ASSIGN_OR_RETURN(y, std::move(b));
  return x + y;
}

TEST(StatusMacros, AssignOrReturnDeclaresAssignsOrLeaves) {
  EXPECT_EQ(*sum(2, 3), 5);
  EXPECT_EQ(sum(io_error("left"), 3).status().message(), "left");
  EXPECT_EQ(sum(2, io_error("right")).status().message(), "right");
}

TEST(CheckDeathTest, AFailedCheckPrintsItsConditionAndAborts) {
  EXPECT_DEATH(ANEMONE_CHECK(1 + 1 == 3),
               "internal error: 1 \\+ 1 == 3 does not hold \\(.*status_test");
}

}  // namespace
}  // namespace anemone
