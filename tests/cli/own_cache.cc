// SPDX-License-Identifier: Apache-2.0
// A cache of its own for a test program whose runs compile for Core ML.
#include <cstdlib>
#include <gtest/gtest.h>
#include <memory>

#include "tests/support/shared_data.h"

namespace anemone::cli {
namespace {

class OwnCache : public ::testing::Environment {
 public:
  void SetUp() override {
    folder_ = std::make_unique<anemone::testing::TemporaryFolder>();
    ASSERT_EQ(::setenv("ANEMONE_CACHE", folder_->file("cache").c_str(), 1), 0);
  }
  void TearDown() override { folder_.reset(); }

 private:
  std::unique_ptr<anemone::testing::TemporaryFolder> folder_;
};

const auto* const kCache = ::testing::AddGlobalTestEnvironment(new OwnCache());

}  // namespace
}  // namespace anemone::cli
