// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "checkpoint/gguf/gguf_architecture.h"
#include "tests/support/gguf_builder.h"
#include "tests/support/shared_data.h"

namespace anemone::checkpoint::gguf {
namespace {

// The error about a Llama of one layer whose queries have this shape.
std::string error_about_queries(std::int64_t head_dim, const std::vector<std::uint64_t>& shape) {
  const testing::TemporaryFolder folder;
  testing::GgufBuilder builder;
  std::uint64_t elements = 1;
  for (const std::uint64_t size : shape) elements *= size;
  builder.text("general.architecture", "llama")
      .u32("llama.block_count", 1)
      .f32_tensor("blk.0.attn_q.weight", shape, std::vector<float>(elements));
  builder.write(folder.file("a.gguf"));
  const auto file = GgufFile::open(folder.file("a.gguf"));
  const auto config = HfConfig::from_json(
      {{"model_type", "llama"}, {"head_dim", head_dim}, {"num_hidden_layers", 1}}, "config");
  EXPECT_TRUE(file.ok() && config.ok());
  const auto architecture = find_architecture(**file);
  EXPECT_TRUE(architecture.ok());
  const auto mappings = map_tensors(**file, **architecture, *config);
  return mappings.ok() ? "" : std::string(mappings.status().message());
}

TEST(GgufNames, SayWhatIsWrongWithPairedRows) {
  EXPECT_EQ(error_about_queries(4, {8, 3}), "");
  const auto ends_with = [](const std::string& error, std::string_view end) {
    return error.ends_with(end) ? "" : error;
  };
  EXPECT_EQ(ends_with(error_about_queries(5, {10, 3}),
                      "expected an even head_dim, because blk.0.attn_q.weight has its rows in "
                      "pairs, got 5"),
            "");
  EXPECT_EQ(ends_with(error_about_queries(4, {8, 3, 2}),
                      "expected blk.0.attn_q.weight to be a matrix or a vector, got the shape "
                      "[8, 3, 2]"),
            "");
  EXPECT_EQ(ends_with(error_about_queries(4, {6, 3}),
                      "expected the number of rows of blk.0.attn_q.weight to be a multiple of the "
                      "head_dim 4, got 6 (shape [6, 3])"),
            "");
}

}  // namespace
}  // namespace anemone::checkpoint::gguf
