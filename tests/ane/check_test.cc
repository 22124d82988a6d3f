// SPDX-License-Identifier: Apache-2.0
#include "ane/check.h"

#include <algorithm>
#include <limits>
#include <set>
#include <span>

#include "ane/laws_page.h"
#include "base/file.h"
#include "tests/ane/law_programs.h"
#include "tests/support/shared_data.h"

namespace anemone::ane {
namespace {

TEST(Laws, HaveAnIdOfTheirOwnAndAllTheirTexts) {
  std::set<std::string_view> ids;
  for (const Law* law : laws()) {
    SCOPED_TRACE(law->id);
    EXPECT_TRUE(ids.insert(law->id).second);
    EXPECT_EQ(find_law(law->id), law);
    EXPECT_TRUE(std::ranges::all_of(law->id, [](char c) {
      return c == '-' || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    }));
    for (const std::string_view text : {law->statement, law->remedy}) {
      EXPECT_FALSE(text.empty());
      EXPECT_FALSE(text.ends_with('.'));
    }
    // Evidence stands in the first rows, each with its source; what is refused or slow was seen or
    // stated by somebody.
    bool is_last = false;
    bool is_reported = false;
    for (const Evidence& each : law->evidence) {
      EXPECT_FALSE(is_last && each.kind != Evidence::Kind::kNone);
      is_last = each.kind == Evidence::Kind::kNone;
      if (is_last) continue;
      EXPECT_FALSE(each.who.empty());
      EXPECT_FALSE(each.what.empty());
      EXPECT_FALSE(each.what.ends_with('.'));
      if (!each.is_against && each.kind != Evidence::Kind::kDerived) is_reported = true;
    }
    EXPECT_NE(law->evidence[0].kind, Evidence::Kind::kNone);
    EXPECT_TRUE(is_reported || law->severity >= Severity::kContested);
    EXPECT_EQ(law->find == nullptr, law->severity == Severity::kFact);
  }
  EXPECT_TRUE(std::ranges::is_sorted(laws(), {}, &Law::severity));
  EXPECT_EQ(find_law("no-such-law"), nullptr);
}

// What a package can break has a way out that can be copied, or the reason why there is none.
TEST(Laws, HaveHintsWhereAPackageBreaksThem) {
  for (const Law* law : laws()) {
    SCOPED_TRACE(law->id);
    const std::span<const Hint> hints = hints_of(*law);
    EXPECT_EQ(hints.empty(), law->find == nullptr);
    // They stand in the first rows, none of them twice.
    EXPECT_EQ(static_cast<std::size_t>(std::ranges::count_if(
                  law->hints, [](const Hint& hint) { return !hint.text.empty(); })),
              hints.size());
    std::set<std::string> texts;
    for (const Hint& hint : hints) {
      EXPECT_FALSE(hint.text.empty());
      EXPECT_FALSE(hint.text.ends_with('.'));
      EXPECT_TRUE(texts.insert(hint_text(hint)).second) << hint.text;
      // cli_test compiles with them.
      const bool is_flag = hint.kind == Hint::Kind::kOption || hint.kind == Hint::Kind::kOmit;
      EXPECT_EQ(is_flag, hint.text.starts_with("--")) << hint.text;
    }
    // A package of another writer has no options of ours.
    EXPECT_TRUE(hints.empty() || std::ranges::count(hints, Hint::Kind::kRewrite, &Hint::kind) == 1);
  }
}

TEST(Laws, WriteHintsAsTheyAreTyped) {
  EXPECT_EQ(hint_text({Hint::Kind::kOption, "--quant lut4"}), "compile with --quant lut4");
  EXPECT_EQ(hint_text({Hint::Kind::kOmit, "--range-dim"}, "`"), "compile without `--range-dim`");
  EXPECT_EQ(hint_text({Hint::Kind::kForm, R"({"a": "b"})"}, "`"),
            R"(compile with `--form FILE.json`, a file with `{"a": "b"}`)");
  EXPECT_EQ(hint_text({Hint::Kind::kRewrite, "two operations"}),
            "rewrite the graph: two operations");
  EXPECT_EQ(hint_text({Hint::Kind::kNothing, "it is small"}), "nothing to do: it is small");
}

TEST(Laws, SayWhoIsForAndAgainst) {
  const Law* law = find_law("state-shapes");
  ASSERT_NE(law, nullptr);
  EXPECT_EQ(source_text(*law),
            "CoreML-LLM LFM2 findings, measured: 7 variants with states of caches and convolutions "
            "fail at predict (0x1d); the convolution's as input and output works; against it "
            "Anemll#50, stated: 48 mixed states run (M1)");
  EXPECT_EQ(source_text(*find_law("state-width")),
            "coremltools#2631, measured: fails at run time (M4)");
}

// `anemone check --laws` writes the page.
TEST(Laws, AreInTheDocs) {
  const auto text = read_file(testing::source_path("docs/ane-laws.md"));
  ASSERT_TRUE(text.ok()) << text.status().message();
  EXPECT_TRUE(*text == laws_page()) << "run: anemone check --laws > docs/ane-laws.md";
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
  for (const PlacedFunction& function : place({program}, findings))
    EXPECT_EQ(function.multiplications(), 0U);
  EXPECT_EQ(std::ranges::count(findings, "softplus",
                               [](const Finding& finding) { return finding.law->id; }),
            2);
  EXPECT_EQ(std::ranges::count(findings, "argmax",
                               [](const Finding& finding) { return finding.law->id; }),
            2);
  // The two linear operations break a convention, and the function has no weights.
  EXPECT_EQ(std::ranges::count(findings, "linear-product",
                               [](const Finding& finding) { return finding.law->id; }),
            2);
  EXPECT_EQ(findings.size(), 7U);
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
    const std::vector<Finding> findings = check({program});
    for (const Finding& finding : findings) EXPECT_FALSE(finding.found.empty());
    for (const PlacedFunction& function : place({program}, findings))
      EXPECT_GT(estimate(function, default_chip()).seconds, 0);
  }
}

}  // namespace
}  // namespace anemone::ane
