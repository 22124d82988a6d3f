// SPDX-License-Identifier: Apache-2.0
#include "ane/check.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <set>
#include <sstream>

#include "base/file.h"
#include "tests/ane/rule_programs.h"
#include "tests/support/shared_data.h"

namespace anemone::ane {
namespace {

TEST(Rules, HaveAnIdOfTheirOwnAndAllTheirTexts) {
  std::set<std::string_view> ids;
  for (const Rule& rule : rules()) {
    SCOPED_TRACE(rule.id);
    EXPECT_TRUE(ids.insert(rule.id).second);
    EXPECT_TRUE(
        std::ranges::all_of(rule.id, [](char c) { return c == '-' || (c >= 'a' && c <= 'z'); }));
    for (const std::string_view text : {rule.statement, rule.source, rule.remedy}) {
      EXPECT_FALSE(text.empty());
      EXPECT_FALSE(text.ends_with('.'));
    }
    // Who says that something is refused or slow is named; "measured" alone is no source.
    EXPECT_TRUE(rule.severity == Severity::kContested || !rule.source.starts_with("unmeasured"));
    EXPECT_NE(rule.find, nullptr);
  }
  EXPECT_TRUE(std::ranges::is_sorted(rules(), {}, &Rule::severity));
}

// The guide's table has the rules of the code, in the same order and with the same severities.
TEST(Rules, AreInTheGuide) {
  const auto text = read_file(testing::source_path("docs/guide/check.md"));
  ASSERT_TRUE(text.ok()) << text.status().message();
  std::vector<std::string> rows;
  for (const Rule& rule : rules())
    rows.push_back(fmt::format("| `{}` | {} |", rule.id, severity_name(rule.severity)));
  std::vector<std::string> written;
  std::istringstream lines(text->substr(text->find("## The rules")));
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("| `"))
      written.push_back(line.substr(0, line.find(" |", line.find(" |") + 1) + 2));
  EXPECT_EQ(written, rows);
}

// A reader does not ask whether operations are lawful, so they may lack everything.
TEST(Check, TakesOperationsWithoutParameters) {
  ir::Program program;
  ir::Function* function = program.add_function("main", ir::Opset::kIOS18);
  function->block = program.add_block();
  for (const char* type :
       {"conv", "linear", "matmul", "select", "softplus", "reduce_argmax", "slice_update", "gather",
        "gather_nd", "scatter", "scatter_nd", "constexpr_blockwise_shift_scale",
        "constexpr_lut_to_dense", "constexpr_lut_to_sparse", "constexpr_affine_dequantize"}) {
    ir::Op* bare = program.add_op();
    bare->type = type;
    ir::Op* empty = program.add_op();
    empty->type = type;
    for (const char* parameter : {"x", "y", "weight", "data", "scale", "lut", "indices", "groups",
                                  "begin", "end", "transpose_x"})
      empty->inputs[parameter] = {};
    function->block->ops.push_back(bare);
    function->block->ops.push_back(empty);
    // Its restored weight has no type.
    ir::Op* conv = program.add_op();
    conv->type = "conv";
    conv->inputs["weight"] = {program.add_value("w", ir::Type{}, bare)};
    function->block->ops.push_back(conv);
  }
  const std::vector<Finding> findings = check({program});
  EXPECT_EQ(std::ranges::count(findings, "softplus",
                               [](const Finding& finding) { return finding.rule->id; }),
            2);
  EXPECT_EQ(std::ranges::count(findings, "argmax",
                               [](const Finding& finding) { return finding.rule->id; }),
            2);
  EXPECT_EQ(findings.size(), 4U);
}

// Dimensions of a stranger's file have any size.
TEST(Check, TakesShapesOfAnySize) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  for (const Shape& shape :
       {Shape{kMost, kMost, kMost, kMost}, Shape{kMost, 1, 1, 1}, Shape{0, kMost},
        Shape{-5, -7, 3, -1}, Shape{}, Shape{kMost, kMost, 1, 1}}) {
    ir::Program program;
    ir::Function* function = program.add_function("main", ir::Opset::kIOS18);
    function->block = program.add_block();
    ir::Value* x = program.add_value("x", ir::Type::tensor(DType::kFp16, shape));
    ir::Value* state = program.add_value("s", ir::Type::state(DType::kFp16, shape));
    function->inputs = {x, state};
    for (const char* type : {"conv", "linear", "matmul", "select", "slice_update", "gather"}) {
      ir::Op* op = program.add_op();
      op->type = type;
      for (const char* parameter : {"x", "y", "a", "b", "weight", "indices"})
        op->inputs[parameter] = {x};
      op->outputs = {program.add_value(type, x->type, op)};
      function->block->ops.push_back(op);
    }
    function->block->outputs = {x};
    for (const Finding& finding : check({program})) EXPECT_FALSE(finding.found.empty());
  }
}

}  // namespace
}  // namespace anemone::ane
