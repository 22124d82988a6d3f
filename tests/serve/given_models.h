// SPDX-License-Identifier: Apache-2.0
// Models of a test as a pool that serves them.
#pragma once

#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "serve/model_pool.h"

namespace anemone::serve::testing {

// A provider that has its models already.
class GivenModels : public ModelProvider {
 public:
  explicit GivenModels(std::map<std::string, LoadedModel> models) : models_(std::move(models)) {}
  Result<LoadedModel> load(const std::string& name, const std::atomic<bool>& /*cancel*/) override {
    return models_.at(name);
  }

 private:
  const std::map<std::string, LoadedModel> models_;
};

// A pool of one model that is loaded.
inline std::unique_ptr<ModelPool> given_model(std::vector<std::string> names,
                                              std::shared_ptr<const engine::Model> model) {
  std::map<std::string, LoadedModel> models;
  models[names.front()].model = std::move(model);
  auto pool =
      ModelPool::create({std::move(names)}, std::make_unique<GivenModels>(std::move(models)));
  EXPECT_TRUE(pool.ok() && (*pool)->load_first().ok());
  return pool.ok() ? *std::move(pool) : nullptr;
}

}  // namespace anemone::serve::testing
