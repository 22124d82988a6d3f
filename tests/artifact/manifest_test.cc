// SPDX-License-Identifier: Apache-2.0
#include "artifact/manifest.h"

#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <nlohmann/json.hpp>

#include "tests/artifact/sample_manifest.h"

namespace anemone::artifact {
namespace {

using testing::sample_manifest;

TEST(Manifest, ComesBackFromJsonAsItWas) {
  const Json json = to_json(sample_manifest());
  const auto read = manifest_from_json(json, "m");
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(dump_json(to_json(*read)), dump_json(json));
  EXPECT_EQ(read->shards[1].caches[0].output, "k_3_out");
  EXPECT_EQ(read->shards[1].caches[0].dtype, DType::kFp32);
  EXPECT_EQ(read->shards[0].inputs[4].window, 128);
  EXPECT_EQ(read->shards[0].carried, 24);
  EXPECT_EQ(read->shards[0].layers, (LayerSpan{0, 4, 0, 3}));
  ASSERT_TRUE(read->shards[0].experts.has_value());
  EXPECT_EQ(read->shards[0].experts->widths, (std::vector<std::int64_t>{1, 8}));
  EXPECT_EQ(read->shards[0].experts->packs[1].end, 6);
  EXPECT_FALSE(read->shards[1].experts.has_value());
  EXPECT_EQ(read->shards[1].layers, (LayerSpan{3, 5, 3, 0}));
  EXPECT_EQ(read->shards[0].inputs.back().role, PortRole::kLayerEmbedding);
  EXPECT_EQ(read->layer_columns(), 12);
  EXPECT_EQ(read->bos_id, 1);
  EXPECT_EQ(read->eos_ids, (std::vector<std::int32_t>{2, 7}));
  EXPECT_EQ(read->files[0].bytes, 128000U);
}

TEST(Manifest, ComesBackFromTextWithTheSameBits) {
  Manifest manifest = sample_manifest();
  manifest.ropes[0].inv_freq.clear();
  for (int i = 0; i < 64; ++i)
    manifest.ropes[0].inv_freq.push_back(1.0F / std::pow(1e6F, static_cast<float>(2 * i) / 128.0F));
  manifest.ropes[0].inv_freq.push_back(0.0F);
  manifest.ropes[0].inv_freq.push_back(std::numeric_limits<float>::denorm_min());
  manifest.ropes[0].inv_freq.push_back(std::numeric_limits<float>::max());
  const auto json = parse_json(dump_json(to_json(manifest)), "m");
  ASSERT_TRUE(json.ok());
  const auto read = manifest_from_json(*json, "m");
  ASSERT_TRUE(read.ok()) << read.status().message();
  ASSERT_EQ(read->ropes[0].inv_freq.size(), manifest.ropes[0].inv_freq.size());
  for (std::size_t i = 0; i < read->ropes[0].inv_freq.size(); ++i)
    EXPECT_EQ(std::bit_cast<std::uint32_t>(read->ropes[0].inv_freq[i]),
              std::bit_cast<std::uint32_t>(manifest.ropes[0].inv_freq[i]));
}

TEST(Manifest, WritesFloatsInTheirShortestForm) {
  const std::string text = dump_json(to_json(sample_manifest())["ropes"]);
  EXPECT_NE(text.find("[1.0,0.1,1e-06,0.0031622776]"), text.npos) << text;
}

TEST(Manifest, WithoutPartsHasWholeLayers) {
  Json json = to_json(sample_manifest());
  json["shards"][0].erase("part_end");
  json["shards"][1].erase("part_begin");
  json["shards"][0].erase("experts");
  json["shards"][1]["inputs"].erase(7);
  json["shards"][0]["layer_end"] = 3;
  // A version is no promise that its members are there.
  ASSERT_TRUE(manifest_from_json(json, "m").ok());
  json["format_version"] = 1;
  const auto read = manifest_from_json(json, "m");
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->shards[0].layers, (LayerSpan{0, 3}));
  EXPECT_EQ(read->shards[1].layers, (LayerSpan{3, 5}));
  EXPECT_EQ(dump_json(to_json(*read)), dump_json(json));
}

// A reader that knows version 1 alone refuses what it would run wrongly and runs the rest.
TEST(Manifest, CarriesTheVersionThatItsMembersNeed) {
  Manifest manifest = sample_manifest();
  EXPECT_EQ(to_json(manifest)["format_version"], 2);
  manifest.shards[0].experts.reset();
  EXPECT_EQ(to_json(manifest)["format_version"], 2);
  manifest.shards[0].layers.part_end = 0;
  EXPECT_EQ(to_json(manifest)["format_version"], 2);
  manifest.shards[1].layers.part_begin = 0;
  EXPECT_EQ(to_json(manifest)["format_version"], 1);
}

TEST(Manifest, SaysWhichLayersAShardHas) {
  EXPECT_EQ(layers_text({0, 12}), "layers 0-11");
  EXPECT_EQ(layers_text({2, 5, 18, 0}), "layers 2-4 from part 18");
  EXPECT_EQ(layers_text({2, 3, 18, 30}), "layers 2-2 from part 18 to part 29");
}

TEST(Manifest, LeavesOutTheBeginOfTextIdWhenThereIsNone) {
  Manifest manifest = sample_manifest();
  manifest.bos_id.reset();
  const auto read = manifest_from_json(to_json(manifest), "m");
  ASSERT_TRUE(read.ok());
  EXPECT_FALSE(read->bos_id.has_value());
}

TEST(Manifest, KeepsTheVerdictAndTheLackOfOne) {
  Manifest manifest = sample_manifest();
  const auto verified = manifest_from_json(to_json(manifest), "m");
  ASSERT_TRUE(verified.ok()) << verified.status().message();
  ASSERT_TRUE(verified->verification.has_value());
  EXPECT_TRUE(verified->verification->passed);
  EXPECT_EQ(verified->verification->agreement.tokens, 384);
  EXPECT_EQ(verified->verification->agreement.perplexity, 12.25);
  EXPECT_EQ(verified->verification->limits.min_cosine, 0.99);
  manifest.verification.reset();
  const auto unverified = manifest_from_json(to_json(manifest), "m");
  ASSERT_TRUE(unverified.ok()) << unverified.status().message();
  EXPECT_FALSE(unverified->verification.has_value());
}

TEST(Verification, EachLimitCanFailOnItsOwn) {
  const Agreement good = sample_manifest().verification->agreement;
  EXPECT_TRUE(meets(good, {}));
  EXPECT_FALSE(meets(good, {.min_cosine = 0.99951}));
  EXPECT_FALSE(meets(good, {.min_top1 = 0.9901}));
  EXPECT_FALSE(meets(good, {.max_perplexity_ratio = 1.01}));
}

TEST(Manifest, GivesHeadsTheFunctionOfTheWholeContext) {
  const Manifest manifest = sample_manifest();
  EXPECT_EQ(manifest.context_of(manifest.functions[0]), 256);
  EXPECT_EQ(manifest.context_of(manifest.functions[2]), 128);
  EXPECT_EQ(manifest.head_function(manifest.functions[1])->name, "prefill");
  EXPECT_EQ(manifest.head_function(manifest.functions[2])->name, "decode");
}

TEST(Manifest, SaysWhereTheHeadsAre) {
  const Manifest apart = sample_manifest();
  EXPECT_FALSE(apart.has_head_inside());
  EXPECT_EQ(apart.head_packages().size(), 2U);
  const Json json = to_json(testing::sample_with_head_inside());
  EXPECT_EQ(json["format_version"], 3);
  const auto inside = manifest_from_json(json, "m");
  ASSERT_TRUE(inside.ok()) << inside.status().message();
  EXPECT_TRUE(inside->has_head_inside());
  EXPECT_TRUE(inside->head_packages().empty());
  EXPECT_EQ(dump_json(to_json(*inside)), dump_json(json));
}

TEST(Manifest, FindsRopesByName) {
  const Manifest manifest = sample_manifest();
  ASSERT_NE(manifest.rope("local"), nullptr);
  EXPECT_EQ(manifest.rope("local")->inv_freq.size(), 1U);
  EXPECT_EQ(manifest.rope("absent"), nullptr);
}

TEST(Manifest, NamesEveryPortRole) {
  EXPECT_EQ(port_role_name(PortRole::kHidden), "hidden");
  EXPECT_EQ(port_role_name(PortRole::kRopeCos), "rope_cos");
  EXPECT_EQ(port_role_name(PortRole::kRopeSin), "rope_sin");
  EXPECT_EQ(port_role_name(PortRole::kAttentionMask), "attention_mask");
  EXPECT_EQ(port_role_name(PortRole::kCacheWriteMask), "cache_write_mask");
  EXPECT_EQ(port_role_name(PortRole::kPosition), "position");
}

// The rows of several layers in one cache, with room for a widest step of 64 after the context.
TEST(ManifestOfPackedCaches, ComesBackAsItWas) {
  Manifest manifest = sample_manifest();
  manifest.form.cache = CacheForm::kSlice;
  manifest.shards[0].inputs[5] = {"position", PortRole::kPosition};
  manifest.shards[0].caches[0].shape = {8, 2, 320, 16};
  EXPECT_EQ(needed_format_version(manifest), 3);
  const Json json = to_json(manifest);
  EXPECT_EQ(json["form"]["cache"], "slice");
  const auto read = manifest_from_json(json, "m");
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(dump_json(to_json(*read)), dump_json(json));
  EXPECT_EQ(read->shards[0].caches[0].positions(), 320);

  const auto refused = [&](const char* at, const Json& value) {
    Json damaged = json;
    damaged[Json::json_pointer(at)] = value;
    const auto result = manifest_from_json(damaged, "m");
    return result.ok() ? std::string("accepted") : std::string(result.status().message());
  };
  EXPECT_NE(refused("/format_version", 2).find("expected format_version 3"), std::string::npos);
  EXPECT_NE(refused("/shards/0/caches/0/shape", {8, 2, 319, 16}).find("at least 320 positions"),
            std::string::npos);
  EXPECT_NE(refused("/shards/0/caches/0/shape", {8, 320, 16}).find("at least 320 positions"),
            std::string::npos);
  EXPECT_NE(refused("/shards/0/inputs/3/role", "position").find("one input of role position"),
            std::string::npos);
  EXPECT_NE(refused("/shards/0/inputs/5/window", 4).find("no window"), std::string::npos);
  EXPECT_NE(refused("/shards/0/inputs/5/rope", "default").find("no rope"), std::string::npos);
}

// Version 4: an earlier reader would give the functions all positions of the caches.
TEST(ManifestOfGrowingCaches, ComesBackAsItWas) {
  Manifest manifest = sample_manifest();
  manifest.form.cache = CacheForm::kGrowing;
  std::erase_if(manifest.functions,
                [](const Function& each) { return each.context != 0 || each.is_flexible; });
  for (Shard& shard : manifest.shards)
    for (Cache& cache : shard.caches) {
      cache.output = cache.name + "_rows";
      cache.is_appended = !cache.is_recurrent;
    }
  EXPECT_EQ(needed_format_version(manifest), 4);
  const Json json = to_json(manifest);
  EXPECT_EQ(json["form"]["cache"], "growing");
  const auto read = manifest_from_json(json, "m");
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(dump_json(to_json(*read)), dump_json(json));

  const auto refused = [&](const char* at, const Json& value) {
    Json damaged = json;
    damaged[Json::json_pointer(at)] = value;
    const auto result = manifest_from_json(damaged, "m");
    return result.ok() ? std::string("accepted") : std::string(result.status().message());
  };
  EXPECT_EQ(refused("/format_version", 3),
            "[m] expected format_version 4 for what the manifest has, got 3");
  const std::string name = manifest.functions[0].name;
  EXPECT_EQ(refused("/functions/0/flexible", true),
            "[m] expected function \"" + name +
                "\" to take a fixed number of tokens and the whole context, as caches grow, got "
                "any number of tokens and a context of 256");
  Json tier = json;
  tier["functions"].push_back({{"name", "tier"}, {"tokens", 1}, {"context", 64}});
  EXPECT_EQ(manifest_from_json(tier, "m").status().message(),
            "[m] expected function \"tier\" to take a fixed number of tokens and the whole "
            "context, as caches grow, got a fixed number of tokens and a context of 64");
  EXPECT_NE(refused("/shards/0/caches/0/appended", false).find("to be appended to, as caches grow"),
            std::string::npos);
}

TEST(ManifestOfHeads, MayHaveSeveralInAPackage) {
  Manifest manifest = sample_manifest();
  EXPECT_EQ(manifest.head_packages().size(), 2U);
  const int before = needed_format_version(manifest);
  manifest.heads = {{"head_0.mlpackage", 0, 300, "hidden", "logits_0"},
                    {"head_0.mlpackage", 300, 512, "hidden", "logits_1"},
                    {"head_1.mlpackage", 512, 1000, "hidden", "logits"}};
  EXPECT_LT(before, 3);
  EXPECT_EQ(needed_format_version(manifest), 3);
  const auto read = [](const Json& json) { return manifest_from_json(json, "manifest"); };
  const Json good = to_json(manifest);
  const auto again = read(good);
  ASSERT_TRUE(again.ok()) << again.status().message();
  const auto packages = again->head_packages();
  ASSERT_EQ(packages.size(), 2U);
  EXPECT_EQ(packages[0].size(), 2U);
  EXPECT_EQ(packages[0].back().output, "logits_1");
  EXPECT_EQ(packages[1].front().vocab_begin, 512);

  const auto refused = [&](const char* at, const char* value) {
    Json json = good;
    json[Json::json_pointer(at)] = value;
    const auto result = read(json);
    return result.ok() ? std::string("accepted") : std::string(result.status().message());
  };
  EXPECT_NE(refused("/heads/1/output", "logits_0").find("once, got \"logits_0\" twice"),
            std::string::npos);
  EXPECT_NE(refused("/heads/1/input", "other").find("to have one input"), std::string::npos);
  // Not consecutive: the package would run twice.
  Json apart = good;
  std::swap(apart["heads"][1]["package"], apart["heads"][2]["package"]);
  EXPECT_NE(read(apart).status().message().find("each package once"), std::string::npos);
  Json older = good;
  older["format_version"] = 2;
  EXPECT_NE(read(older).status().message().find("expected format_version 3"), std::string::npos);
}

TEST(ManifestOfQuantizedRows, ComesBackAsItWas) {
  const Manifest manifest = testing::sample_with_quantized_rows();
  const Json json = to_json(manifest);
  EXPECT_EQ(json["format_version"], 3);
  const auto read = manifest_from_json(json, "m");
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(dump_json(to_json(*read)), dump_json(json));
  EXPECT_EQ(read->form.embedding, EmbeddingForm::kStored);
  const std::vector<EmbeddingPart>& parts = read->embedding.parts;
  EXPECT_EQ(parts[0].quantization->offset, 20'000U);
  EXPECT_EQ(parts[0].quantization->block_columns, 32);
  EXPECT_EQ(parts[1].quantization->scales, (std::vector<float>{0.5F, 0.001F}));
  EXPECT_EQ(parts[2].quantization->dtype, DType::kUInt6);
  EXPECT_EQ(row_bytes(read->embedding, parts[0]), 500U * 64 / 2);
  EXPECT_EQ(stored_bytes(read->embedding, parts[0]), 500U * 64 / 2 + 500 * 2 * 2);
  EXPECT_EQ(stored_bytes(read->embedding, parts[1]), 300U * 64);
  EXPECT_EQ(stored_bytes(read->embedding, parts[2]), 200U * 48 + 20 * 64 * 2);
}

TEST(ManifestOfLabels, MustFitTogether) {
  Manifest manifest = sample_manifest();
  for (Shard& shard : manifest.shards) shard.caches.clear();
  manifest.labels.assign(static_cast<std::size_t>(manifest.vocab_size), "O");
  manifest.functions = {{.name = "classify", .tokens = manifest.context}};
  for (Head& head : manifest.heads) head.argmax.clear();
  const auto check = [](const Manifest& one) {
    return manifest_from_json(to_json(one), "manifest").status();
  };
  ASSERT_TRUE(check(manifest).ok()) << check(manifest).message();
  EXPECT_EQ(manifest_from_json(to_json(manifest), "manifest")->labels, manifest.labels);
  Manifest fewer = manifest;
  fewer.labels.pop_back();
  EXPECT_EQ(check(fewer).code(), Code::kCorrupt);
  Manifest narrow = manifest;
  narrow.functions[0].tokens = 1;
  EXPECT_EQ(check(narrow).code(), Code::kCorrupt);
  Manifest with_caches = manifest;
  with_caches.shards[0].caches.push_back(
      {.name = "k_cache_0", .output = "", .shape = {1, 1, 4, 2}});
  EXPECT_EQ(check(with_caches).code(), Code::kCorrupt);
  Json json = to_json(manifest);
  json["labels"] = {1, 2};
  EXPECT_FALSE(manifest_from_json(json, "manifest").ok());
}

}  // namespace
}  // namespace anemone::artifact
