// SPDX-License-Identifier: Apache-2.0
#include "tests/compiler/wide_checkpoint.h"

#include <filesystem>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "checkpoint/safetensors.h"
#include "tests/support/shared_data.h"

namespace anemone::compiler::testing {
namespace {

using anemone::testing::source_path;

// Random values from -0.125 to 0.125: no two rows are the same, so that a row from the wrong place
// is noticed.
Tensor random_rows(std::int64_t columns) {
  Tensor out(DType::kBf16, {kWideVocabulary, columns});
  std::uint32_t seed = 7;
  for (BFloat16& value : out.mutable_view().as<BFloat16>()) {
    seed = seed * 1664525 + 1013904223;
    value = to_bfloat16(static_cast<float>(static_cast<std::int32_t>(seed)) * 0x1p-34F);
  }
  return out;
}

}  // namespace

void write_wide(const std::string& name, const std::string& folder) {
  const std::string path = source_path("tests/compiler/data/tiny/" + name);
  auto config = read_json_file(path + "/config.json");
  ASSERT_TRUE(config.ok()) << config.status().message();
  (*config)["vocab_size"] = kWideVocabulary;
  std::filesystem::create_directory(folder);
  ASSERT_TRUE(write_file(folder + "/config.json", dump_json(*config)).ok());
  const auto file = checkpoint::SafetensorsFile::open(path + "/model.safetensors");
  ASSERT_TRUE(file.ok()) << file.status().message();
  std::vector<Tensor> wide;
  wide.reserve((*file)->all().size());
  std::vector<NamedView> tensors;
  for (const checkpoint::WeightRef* weight : (*file)->all()) {
    const bool has_vocabulary =
        weight->name.ends_with("embed_tokens.weight") || weight->name.ends_with("lm_head.weight");
    if (has_vocabulary) wide.push_back(random_rows(weight->shape[1]));
    tensors.push_back({weight->name, has_vocabulary ? wide.back().view() : weight->view()});
  }
  const Status written = checkpoint::write_safetensors(folder + "/model.safetensors", tensors);
  ASSERT_TRUE(written.ok()) << written.message();
}

}  // namespace anemone::compiler::testing
