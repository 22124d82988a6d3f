// SPDX-License-Identifier: Apache-2.0
// The manifest and the embeddings of the fake model.
#include <gtest/gtest.h>

#include "base/file.h"
#include "tests/engine/fake_model.h"

namespace anemone::engine::testing {

using artifact::PortRole;

artifact::Manifest fake_manifest(const FakeOptions& options) {
  artifact::Manifest m;
  m.producer = "test";
  m.model_type = "fake";
  m.name = "fake";
  m.precision = options.states ? "fp16" : "fp32";
  m.quantization = "none";
  m.target = "ios18";
  m.vocab_size = options.vocab;
  m.hidden_size = kFakeHidden;
  m.layers = options.shards;
  m.context = options.context;
  m.max_position = options.context;
  const DType dtype = options.states ? DType::kFp16 : DType::kFp32;
  m.embedding = {dtype, options.vocab, kFakeHidden, {{"embedding.bin", 0, options.vocab}}};
  m.ropes = {{"default", {1.0F, 0.01F}, 1.0F}};
  for (const std::int64_t width : options.widths)
    m.functions.push_back({"t" + std::to_string(width), width});
  for (int s = 0; s < options.shards; ++s) {
    const std::string number = std::to_string(s);
    const Shape shape = {1, 1, options.context, kFakeHeadDim};
    const auto output = [&](const char* name) {
      return options.states ? std::string() : name + number + "_out";
    };
    m.shards.push_back(
        {"layers_" + number + ".mlpackage",
         {s, s + 1},
         {{"hidden", PortRole::kHidden, "", 0},
          {"cos", PortRole::kRopeCos, "default", 0},
          {"sin", PortRole::kRopeSin, "default", 0},
          {"mask", PortRole::kAttentionMask, "", s % 2 == 1 ? options.window : 0},
          {"write", PortRole::kCacheWriteMask, "", 0}},
         "hidden_out",
         {{"k" + number, output("k"), dtype, shape}, {"v" + number, output("v"), dtype, shape}}});
  }
  const bool is_joined = options.join_heads || options.head_inside;
  for (int h = 0; h < options.heads; ++h)
    m.heads.push_back({options.head_inside
                           ? m.shards.back().package
                           : "head_" + std::to_string(is_joined ? 0 : h) + ".mlpackage",
                       options.vocab * h / options.heads, options.vocab * (h + 1) / options.heads,
                       options.head_inside ? m.shards.back().output : "hidden",
                       is_joined ? "logits_" + std::to_string(h) : "logits"});
  return m;
}

void write_fake_artifact(const std::string& folder, const FakeOptions& options) {
  const artifact::Manifest manifest = fake_manifest(options);
  Tensor embedding(manifest.embedding.dtype, {options.vocab, kFakeHidden});
  std::vector<float> values;
  for (std::int64_t i = 0; i < options.vocab * kFakeHidden; ++i)
    values.push_back(fake_weight(5, i));
  store_floats(values, embedding.mutable_view());
  const auto bytes = embedding.view().bytes();
  EXPECT_TRUE(write_file(folder + "/embedding.bin",
                         {reinterpret_cast<const char*>(bytes.data()), bytes.size()})
                  .ok());
  const Status status = artifact::write_manifest(folder, manifest);
  EXPECT_TRUE(status.ok()) << status.message();
}

}  // namespace anemone::engine::testing
