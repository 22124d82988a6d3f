// SPDX-License-Identifier: Apache-2.0
// A session of the fake model, and what it must equal.
#pragma once

#include <cstdint>
#include <gtest/gtest.h>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "engine/session/session.h"
#include "tests/engine/fake_model.h"
#include "tests/support/shared_data.h"

namespace anemone::engine::testing {

using Logits = std::vector<float>;

// A model of the given kind on disk, loaded.
struct LoadedFake {
  explicit LoadedFake(const FakeOptions& options) : executor(fake_manifest(options)) {
    write_fake_artifact(folder.path(), options);
    auto loaded = Model::load(folder.path(), executor);
    EXPECT_TRUE(loaded.ok()) << loaded.status().message();
    if (loaded.ok()) model = *loaded;
  }
  std::unique_ptr<Session> session() const {
    auto created = Session::create(model);
    EXPECT_TRUE(created.ok()) << created.status().message();
    return std::move(*created);
  }
  anemone::testing::TemporaryFolder folder;
  FakeExecutor executor;
  std::shared_ptr<const Model> model;
};

inline std::vector<std::int32_t> prompt_of(std::size_t length, std::uint32_t seed = 1) {
  std::vector<std::int32_t> ids;
  for (std::size_t i = 0; i < length; ++i) {
    seed = seed * 1664525 + 1013904223;
    ids.push_back(static_cast<std::int32_t>((seed >> 8) % 50));
  }
  return ids;
}

inline Logits copy(std::span<const float> logits) {
  return {logits.begin(), logits.end()};
}

// Logits after each token, by single steps only.
inline std::vector<Logits> single_steps(const LoadedFake& fake, std::span<const std::int32_t> ids) {
  auto session = fake.session();
  std::vector<Logits> out;
  for (const std::int32_t id : ids) {
    auto logits = session->decode(id);
    EXPECT_TRUE(logits.ok()) << logits.status().message();
    if (logits.ok()) out.push_back(copy(*logits));
  }
  return out;
}

}  // namespace anemone::engine::testing
