// SPDX-License-Identifier: Apache-2.0
// A small attention model in plain C++ behind the Executor interface: fixed pseudo-random weights,
// rope, sliding and full attention, caches as states or as inputs and outputs. What it computes for
// one token does not depend on the width of the function, so chunked and single steps must agree
// bit for bit. Its norm has no epsilon: a zero padding column would turn into NaN and stay in the
// caches.
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "artifact/manifest.h"
#include "exec/executor.h"
#include "tests/support/shared_data.h"

namespace anemone::engine::testing {

inline constexpr std::int64_t kFakeHidden = 8;
inline constexpr std::int64_t kFakeHeadDim = 4;
// Pseudo-random numbers in [-1, 1) by index.
float fake_weight(std::uint64_t matrix, std::int64_t index);

struct FakeOptions {
  bool states = false;  // fp16 states; else fp32 caches that go in and out
  std::int64_t context = 200;
  std::int64_t vocab = 50;
  std::vector<std::int64_t> widths = {1, 64};
  std::int64_t window = 5;   // of the odd layers; 0: full attention
  int shards = 2;            // of one layer each
  int heads = 2;             // ranges of the vocabulary
  bool join_heads = false;   // all of them in one package
  bool head_inside = false;  // all of them in the package of the last layers
};

artifact::Manifest fake_manifest(const FakeOptions& options);
// manifest.json and embedding.bin; there are no package files, FakeExecutor needs none.
void write_fake_artifact(const std::string& folder, const FakeOptions& options);

// Counts what its programs do. Not thread-safe.
class FakeExecutor : public exec::Executor {
 public:
  // The manifest may differ from the one on disk: that is how mismatches are tested.
  explicit FakeExecutor(artifact::Manifest manifest) : manifest_(std::move(manifest)) {}
  std::string_view name() const override { return "fake"; }
  Result<std::shared_ptr<const exec::LoadedProgram>> load(
      const std::string& package_path, const exec::LoadOptions& options) override;

  struct Counts {
    int shard_runs = 0;
    int unread_runs = 0;  // of those, whose outputs nobody wants (exec::BatchItem)
    int head_runs = 0;    // of packages that have nothing else
    std::int64_t head_columns = 0;
    int fail_after = -1;              // shard runs until one fails; -1: never
    int failures = -1;                // runs that fail then; -1: all
    int nan_after = -1;               // shard runs until all compute with NaN; -1: never
    bool reads_weights_once = false;  // LoadedProgram::reads_weights_once()
  };
  Counts& counts() { return *counts_; }

 private:
  artifact::Manifest manifest_;
  std::shared_ptr<Counts> counts_ = std::make_shared<Counts>();
};

}  // namespace anemone::engine::testing
