// SPDX-License-Identifier: Apache-2.0
#include "base/name_index.h"

#include <gtest/gtest.h>
#include <numeric>
#include <string>
#include <vector>

namespace anemone {
namespace {

// Few names are compared, more are hashed, by both.
class Names : public ::testing::TestWithParam<int> {
 protected:
  Names() {
    for (int i = 0; i < GetParam(); ++i) names_.push_back("name " + std::to_string(i));
  }
  std::vector<std::string> names_;
};

TEST_P(Names, AreFoundByAnIndex) {
  const NameIndex index(names_);
  for (std::size_t i = 0; i < names_.size(); ++i) {
    EXPECT_EQ(index.place(names_[i]), i);
    EXPECT_EQ(index.find(names_[i]), &names_[i]);
  }
  EXPECT_EQ(index.place("other"), std::nullopt);
  EXPECT_EQ(index.find("other"), nullptr);
}

TEST_P(Names, AreFoundInAnyOrderByACursor) {
  std::vector<std::size_t> forward(names_.size());
  std::iota(forward.begin(), forward.end(), 0u);
  const std::vector<std::size_t> backward(forward.rbegin(), forward.rend());
  for (const auto& order : {forward, backward}) {
    NameCursor cursor(names_);
    for (const std::size_t i : order) {
      EXPECT_EQ(cursor.place("other"), std::nullopt);
      EXPECT_EQ(cursor.place(names_[i]), i);
      EXPECT_EQ(cursor.find(names_[i]), &names_[i]);  // the same one again
    }
  }
}

INSTANTIATE_TEST_SUITE_P(FewAndMany, Names, ::testing::Values(3, 100, 300));

}  // namespace
}  // namespace anemone
