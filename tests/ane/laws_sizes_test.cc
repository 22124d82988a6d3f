// SPDX-License-Identifier: Apache-2.0
#include "tests/ane/law_programs.h"

namespace anemone::ane {
namespace {

using ir::Builder;

Found of_package(const char* law, std::uint64_t weight_bytes, std::int64_t layers = 0) {
  const ir::Program program =
      program_of({{"main", [](Builder& b) {
                     return b.op("relu", {{"x", fp16_input(b, "x", {1, 64})}}, "y");
                   }}});
  return findings(law, Package{.program = program, .layers = layers, .weight_bytes = weight_bytes});
}

// Law 4 of ane-book, chapter 1, and what was measured since.
TEST(PackageBytes, HaveThreeLimits) {
  EXPECT_EQ(of_package("large-package", 250'000'000), kNone);
  EXPECT_EQ(of_package("large-package", 250'000'001), Found{"package: 250.0 MB of weights"});
  EXPECT_EQ(of_package("large-package", 2'300'000'000), kNone);
  EXPECT_EQ(of_package("package-bytes", 2'100'000'000), kNone);
  EXPECT_EQ(of_package("package-bytes", 2'300'000'000), Found{"package: 2.30 GB of weights"});
  EXPECT_EQ(of_package("small-package", 49'000'000), Found{"package: 49.0 MB of weights"});
  EXPECT_EQ(of_package("small-package", 50'000'000), kNone);
  EXPECT_EQ(of_package("small-package", 0), kNone);
}

// Law 5 of ane-book, chapter 1.
TEST(Layers, AboveThreeAreANote) {
  EXPECT_EQ(of_package("more-than-three-layers", 0, 4), Found{"package: 4 layers"});
  EXPECT_EQ(of_package("more-than-three-layers", 0, 3), kNone);
  EXPECT_EQ(of_package("many-layers", 0, 17), Found{"package: 17 layers"});
  EXPECT_EQ(of_package("many-layers", 0, 16), kNone);
}

TEST(Ports, OfAFunctionAre128AtMost) {
  const auto with = [](int inputs) {
    return findings("many-ports", [&](Builder& b) {
      for (int i = 1; i < inputs; ++i) fp16_input(b, "more_" + std::to_string(i), {1, 64});
      return b.op("relu", {{"x", fp16_input(b, "x", {1, 64})}}, "y");
    });
  };
  EXPECT_EQ(with(128), Found{"function main: 129 inputs, outputs and states"});
  EXPECT_EQ(with(127), kNone);
}

}  // namespace
}  // namespace anemone::ane
