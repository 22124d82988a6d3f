// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "artifact/manifest.h"
#include "tests/artifact/sample_manifest.h"

namespace anemone::artifact {
namespace {

// One change to a good manifest. `at` is a JSON pointer; an empty `value` removes the member.
struct Damage {
  const char* name;
  const char* at;
  const char* value;
  Code code;
  const char* message;  // part of it
};

constexpr std::string_view kHash =
    "\""
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde"
    "\"";

const Damage kDamages[] = {
    {"VersionOfTheFuture", "/format_version", "5", Code::kVersionMismatch,
     "expected format_version 1 to 4, got 5"},
    {"VersionBeforeTheFirst", "/format_version", "0", Code::kVersionMismatch,
     "expected format_version 1 to 4, got 0"},
    {"VersionBeforeItsMembers", "/format_version", "1", Code::kCorrupt,
     "expected format_version 2 for what the manifest has, got 1"},
    {"VersionMissing", "/format_version", "", Code::kParseError,
     "expected format_version to be an integer, got nothing"},
    {"VersionText", "/format_version", "\"1\"", Code::kParseError, "format_version"},
    {"NameMissing", "/name", "", Code::kParseError, "expected name to be a string, got nothing"},
    {"NameNull", "/name", "null", Code::kParseError, "expected name to be a string, got nothing"},
    {"NameNumber", "/name", "3", Code::kParseError, "expected name to be a string, got number"},
    {"PrecisionUnknown", "/precision", "\"fp8\"", Code::kCorrupt, "precision fp16 or fp32"},
    {"VocabZero", "/vocab_size", "0", Code::kCorrupt, "vocab_size between 1"},
    {"VocabHuge", "/vocab_size", "9223372036854775807", Code::kCorrupt, "vocab_size between 1"},
    {"VocabBeyond64Bits", "/vocab_size", "18446744073709551615", Code::kParseError, "vocab_size"},
    {"HiddenNegative", "/hidden_size", "-64", Code::kCorrupt, "hidden_size between 1"},
    {"LayersZero", "/layers", "0", Code::kCorrupt, "layers between 1"},
    {"ContextZero", "/context", "0", Code::kCorrupt, "context between 1"},
    {"ContextFraction", "/context", "2.5", Code::kParseError, "context to be an integer"},
    {"EosNegative", "/eos_ids/0", "-1", Code::kParseError, "eos_ids"},
    {"EosText", "/eos_ids/0", "\"2\"", Code::kParseError, "eos_ids"},
    {"EosNoList", "/eos_ids", "2", Code::kParseError, "expected eos_ids to be a list"},
    {"BosHuge", "/bos_id", "4294967296", Code::kParseError, "bos_id to be a token id"},
    {"GenerationList", "/generation", "[]", Code::kCorrupt, "generation to be an object"},
    {"EmbeddingMissing", "/embedding", "", Code::kParseError, "embedding to be an object"},
    {"EmbeddingOutside", "/embedding/parts/0/file", "\"../embedding.bin\"", Code::kCorrupt,
     "embedding.parts to lie in the artifact folder"},
    {"EmbeddingAbsolute", "/embedding/parts/0/file", "\"/etc/passwd\"", Code::kCorrupt,
     "embedding.parts"},
    {"EmbeddingDot", "/embedding/parts/0/file", "\"..\"", Code::kCorrupt, "embedding.parts"},
    {"EmbeddingEmpty", "/embedding/parts/0/file", "\"\"", Code::kCorrupt, "embedding.parts"},
    {"EmbeddingZeroByte", "/embedding/parts/0/file", "\"a\\u0000b\"", Code::kCorrupt,
     "embedding.parts"},
    {"EmbeddingInteger", "/embedding/dtype", "\"int8\"", Code::kCorrupt, "fp16 or fp32, got int8"},
    {"EmbeddingUnknownType", "/embedding/dtype", "\"float\"", Code::kParseError,
     "name an element type"},
    {"EmbeddingRows", "/embedding/rows", "0", Code::kCorrupt, "embedding.rows between 1"},
    {"EmbeddingColumns", "/embedding/columns", "65", Code::kCorrupt,
     "equal hidden_size 64, got 65"},
    {"LayerEmbeddingOutside", "/layer_embedding/parts/0/file", "\"/etc/passwd\"", Code::kCorrupt,
     "layer_embedding.parts"},
    {"LayerEmbeddingShort", "/layer_embedding/rows", "999", Code::kCorrupt,
     "rows of \"layer_embedding.bin\" between 1 and 999"},
    {"LayerEmbeddingUneven", "/layer_embedding/columns", "61", Code::kCorrupt,
     "a multiple of the 5 layers, got 61"},
    {"LayerEmbeddingEmpty", "/layer_embedding/columns", "0", Code::kCorrupt, "got 0"},
    {"LayerEmbeddingHuge", "/layer_embedding/columns", "5368709120", Code::kCorrupt,
     "got 5368709120"},
    {"LayerEmbeddingMissing", "/layer_embedding", "", Code::kCorrupt,
     "a layer_embedding for input \"own\", got none"},
    {"CarriedNegative", "/shards/0/carried", "-1", Code::kCorrupt, "carried between 0"},
    {"CarriedBeyondTheLayers", "/shards/1/carried", "8", Code::kCorrupt, "carried between 0 and 0"},
    {"RopeTwice", "/ropes/1/name", "\"default\"", Code::kCorrupt, "each rope once"},
    {"RopeEmpty", "/ropes/0/inv_freq", "[]", Code::kCorrupt, "inv_freq of rope \"default\""},
    {"RopeNegative", "/ropes/0/inv_freq/1", "-0.5", Code::kCorrupt, "finite and >= 0"},
    {"RopeText", "/ropes/0/inv_freq/1", "\"0.5\"", Code::kParseError, "inv_freq to hold numbers"},
    {"RopeTooLarge", "/ropes/0/inv_freq/1", "1e300", Code::kParseError, "range of fp32"},
    {"RopeLongMissing", "/ropes/0/short_length", "7", Code::kParseError, "long_inv_freq"},
    {"RopeLengthNegative", "/ropes/0/short_length", "-1", Code::kParseError, "long_inv_freq"},
    {"RopeScaleMissing", "/ropes/0/scale", "", Code::kParseError, "scale to be a number"},
    {"FunctionsEmpty", "/functions", "[]", Code::kCorrupt, "at least one function"},
    {"FunctionTwice", "/functions/1/name", "\"decode\"", Code::kCorrupt, "each function once"},
    {"FunctionSameSize", "/functions/1/tokens", "1", Code::kCorrupt, "one function per size"},
    {"TierSameSize", "/functions/2/context", "256", Code::kCorrupt, "one function per size"},
    {"TierTooLarge", "/functions/2/context", "257", Code::kCorrupt, "between 1 and 256, got 257"},
    {"TierNegative", "/functions/2/context", "-1", Code::kCorrupt, "between 1 and 256, got -1"},
    {"TierAlone", "/functions/2/tokens", "8", Code::kCorrupt,
     "function with the whole context that takes as many tokens as \"decode_128\""},
    {"TierBelowItsTokens", "/functions/2/tokens", "200", Code::kCorrupt, "between 200 and 256"},
    {"FlexibleAlone", "/functions/2/flexible", "true", Code::kCorrupt,
     "function with the whole context that takes"},
    {"FlexibleText", "/functions/2/flexible", "\"yes\"", Code::kParseError, "flexible"},
    {"LayoutUnknown", "/layout", "\"upside-down\"", Code::kUnsupported, "a known layout"},
    {"EmbeddingPartRows", "/embedding/parts/0/rows", "599", Code::kCorrupt, "1000 rows, got 999"},
    {"EmbeddingPartTooLong", "/embedding/parts/1/rows", "401", Code::kCorrupt,
     "between 1 and 400, got 401"},
    {"EmbeddingPartEmpty", "/embedding/parts/1/rows", "0", Code::kCorrupt, "between 1 and 400"},
    {"EmbeddingPartOffset", "/embedding/parts/1/offset", "-2", Code::kParseError, "offset >= 0"},
    {"EmbeddingPartUneven", "/embedding/parts/1/offset", "129", Code::kCorrupt,
     "to be a multiple of 2"},
    {"EmbeddingNoParts", "/embedding/parts", "[]", Code::kCorrupt, "1000 rows, got 0"},
    {"ArgmaxInOneHead", "/heads/1/argmax", "\"token\"", Code::kCorrupt,
     "all heads or none to have an argmax"},
    {"ArgmaxIsOutput", "/heads/0/argmax", "\"logits\"", Code::kCorrupt, "separate from the output"},
    {"FunctionTooWide", "/functions/1/tokens", "257", Code::kCorrupt, "between 1 and 256, got 257"},
    {"FunctionNoTokens", "/functions/1/tokens", "0", Code::kCorrupt, "between 1 and 256, got 0"},
    {"ShardsText", "/shards", "\"none\"", Code::kParseError, "shards to be a list, got string"},
    {"ShardsEmpty", "/shards", "[]", Code::kCorrupt, "cover 5 layers, got 0"},
    {"ShardNumber", "/shards/1", "7", Code::kParseError,
     "expected an object, got number (shards[1])"},
    {"ShardOutside", "/shards/0/package", "\"../x.mlpackage\"", Code::kCorrupt, "package to be"},
    {"ShardInSubfolder", "/shards/0/package", "\"a/x.mlpackage\"", Code::kCorrupt, "package to be"},
    {"ShardTwice", "/shards/1/package", "\"layers_00_02.mlpackage\"", Code::kCorrupt,
     "each package once"},
    {"ShardGap", "/shards/1/layer_begin", "4", Code::kCorrupt,
     "starts at 3 and ends by 5, got 4 to 5"},
    {"ShardOverlap", "/shards/1/layer_begin", "2", Code::kCorrupt, "starts at 3"},
    {"ShardBeyondEnd", "/shards/1/layer_end", "6", Code::kCorrupt, "ends by 5, got 3 to 6"},
    {"ShardBackwards", "/shards/1/layer_end", "3", Code::kCorrupt, "got 3 to 3"},
    {"PartNotContinued", "/shards/1/part_begin", "2", Code::kCorrupt,
     "part_begin 3, where the shard before ends, got 2"},
    {"PartBeginMissing", "/shards/1/part_begin", "", Code::kCorrupt, "part_begin 3"},
    {"PartEndMissing", "/shards/0/part_end", "", Code::kCorrupt, "part_begin 0"},
    {"PartBeginOfTheFirst", "/shards/0/part_begin", "1", Code::kCorrupt, "part_begin 0"},
    {"PartEndNegative", "/shards/0/part_end", "-1", Code::kCorrupt, "part_end between 0"},
    {"PartEndHuge", "/shards/0/part_end", "9223372036854775807", Code::kCorrupt,
     "part_end between 0"},
    {"PartText", "/shards/0/part_end", "\"all\"", Code::kParseError, "part_end"},
    {"PartEndOfTheLast", "/shards/1/part_end", "1", Code::kCorrupt, "cover 5 layers, got 4"},
    {"ExpertsMissing", "/shards/0/experts", "", Code::kCorrupt,
     "expected no input of role experts, got 1"},
    {"ExpertsNotTaken", "/shards/1/inputs/7", "", Code::kCorrupt,
     "expected one input of role experts, got 0"},
    {"ExpertsText", "/shards/0/experts", "\"soft\"", Code::kParseError, "an object, got string"},
    {"ExpertsWithoutInput", "/shards/0/experts/input", "\"\"", Code::kCorrupt,
     "an output for experts"},
    {"ExpertsInputIsOutput", "/shards/0/experts/input", "\"hidden_out\"", Code::kCorrupt,
     "each output once"},
    {"ExpertsNone", "/shards/0/experts/count", "0", Code::kCorrupt, "experts.count between 1"},
    {"ExpertsHuge", "/shards/0/experts/count", "9223372036854775807", Code::kCorrupt,
     "experts.count between 1"},
    {"ExpertsChosenTooMany", "/shards/0/experts/chosen", "7", Code::kCorrupt,
     "experts.chosen between 1 and 6, got 7"},
    {"ExpertsUncovered", "/shards/0/experts/count", "7", Code::kCorrupt, "cover 7 experts, got 6"},
    {"ExpertWidthsEmpty", "/shards/0/experts/widths", "[]", Code::kCorrupt, "experts.widths"},
    {"ExpertWidthZero", "/shards/0/experts/widths/0", "0", Code::kCorrupt, "between 1"},
    {"ExpertWidthsDescend", "/shards/0/experts/widths/1", "1", Code::kCorrupt, "between 2"},
    {"ExpertPacksEmpty", "/shards/0/experts/packs", "[]", Code::kCorrupt, "cover 6 experts, got 0"},
    {"ExpertPacksOverlap", "/shards/0/experts/packs/1/begin", "3", Code::kCorrupt,
     "starts at 4 and ends by 6, got 3 to 6"},
    {"ExpertPacksGap", "/shards/0/experts/packs/1/begin", "5", Code::kCorrupt, "starts at 4"},
    {"ExpertPackBeyond", "/shards/0/experts/packs/1/end", "7", Code::kCorrupt, "ends by 6"},
    {"ExpertPackOutside", "/shards/0/experts/packs/0/package", "\"../x\"", Code::kCorrupt,
     "package to be"},
    {"ExpertPackTwice", "/shards/0/experts/packs/1/package", "\"experts_0.mlpackage\"",
     Code::kCorrupt, "each package once"},
    {"ShardMissing", "/layers", "6", Code::kCorrupt, "cover 6 layers, got 5"},
    {"ShardOutputEmpty", "/shards/0/output", "\"\"", Code::kCorrupt, "output of a shard"},
    {"PortRoleUnknown", "/shards/0/inputs/1/role", "\"alibi\"", Code::kUnsupported,
     "known role of input \"cos\", got \"alibi\" (shards[0].inputs[1])"},
    {"PortTwice", "/shards/0/inputs/2/name", "\"cos\"", Code::kCorrupt, "each input once"},
    {"PortRopeAbsent", "/shards/0/inputs/1/rope", "\"global\"", Code::kCorrupt,
     "input \"cos\" to name a rope of the manifest, got \"global\""},
    {"PortRopeMissing", "/shards/0/inputs/1/rope", "", Code::kCorrupt, "to name a rope"},
    {"PortTailMisplaced", "/shards/0/inputs/0/tail", "2", Code::kCorrupt, "tail of input"},
    {"PortRopeMisplaced", "/shards/0/inputs/0/rope", "\"default\"", Code::kCorrupt, "no rope"},
    {"PortWindowNegative", "/shards/0/inputs/4/window", "-1", Code::kCorrupt, "window of input"},
    {"PortWindowMisplaced", "/shards/0/inputs/1/window", "4", Code::kCorrupt, "no window"},
    {"PortHiddenMissing", "/shards/0/inputs/0", "", Code::kCorrupt,
     "one input of role hidden, got 0"},
    {"PortHiddenTwice", "/shards/0/inputs/3/role", "\"hidden\"", Code::kCorrupt,
     "one input of role hidden, got 2"},
    {"CacheNamedAsInput", "/shards/0/caches/0/name", "\"cos\"", Code::kCorrupt,
     "each input and cache once"},
    {"CacheInteger", "/shards/0/caches/0/dtype", "\"int8\"", Code::kCorrupt,
     "fp16 or fp32, got int8"},
    {"CacheStateInFp32", "/shards/0/caches/0/dtype", "\"fp32\"", Code::kCorrupt, "it is a state"},
    {"CacheOutputTaken", "/shards/1/caches/0/output", "\"hidden_out\"", Code::kCorrupt,
     "each output once"},
    {"CacheShapeEmpty", "/shards/0/caches/0/shape", "[]", Code::kCorrupt, "positive sizes"},
    {"CacheShapeZero", "/shards/0/caches/0/shape/1", "0", Code::kCorrupt, "positive sizes"},
    {"CacheShapeHuge", "/shards/0/caches/0/shape/1", "9223372036854775807", Code::kCorrupt,
     "positive sizes"},
    {"HeadsEmpty", "/heads", "[]", Code::kCorrupt, "cover 1000 vocabulary rows, got 0"},
    {"EmbedNamedAsHead", "/embed/package", "\"head_0.mlpackage\"", Code::kCorrupt,
     "expected each package once"},
    {"EmbedInputEmpty", "/embed/input", "\"\"", Code::kCorrupt, "the input of embed"},
    {"EmbedOutputEmpty", "/embed/output", "\"\"", Code::kCorrupt, "the output of embed"},
    {"EmbedWithoutOutput", "/embed/output", "", Code::kParseError, "expected output"},
    {"HeadGap", "/heads/1/vocab_begin", "513", Code::kCorrupt, "starts at 512"},
    {"HeadShort", "/heads/1/vocab_end", "999", Code::kCorrupt,
     "cover 1000 vocabulary rows, got 999"},
    {"HeadNamedAsShard", "/heads/0/package", "\"layers_00_02.mlpackage\"", Code::kCorrupt,
     "each package once"},
    {"HeadOutputTwice", "/heads/1/package", "\"head_0.mlpackage\"", Code::kCorrupt,
     "each output of \"head_0.mlpackage\" once, got \"logits\" twice"},
    {"HeadOutputEmpty", "/heads/0/output", "\"\"", Code::kCorrupt, "output of a head"},
    {"VerificationNumber", "/verification", "1", Code::kParseError,
     "expected an object, got number (verification)"},
    {"VerificationEmpty", "/verification", "{}", Code::kParseError, "passed to be true or false"},
    {"VerificationPassedText", "/verification/passed", "\"yes\"", Code::kParseError,
     "passed to be true or false, got string (verification)"},
    {"VerificationNotFromItsFigures", "/verification/passed", "false", Code::kCorrupt,
     "to follow from its figures"},
    {"VerificationFailsItsLimits", "/verification/cosine_mean", "0.5", Code::kCorrupt,
     "to follow from its figures"},
    {"VerificationOfNothing", "/verification/tokens", "0", Code::kCorrupt, "at least 2, got 0"},
    {"VerificationHashShort", "/verification/ids_sha256", "\"ab\"", Code::kCorrupt,
     "verification.ids_sha256"},
    {"VerificationCosineAboveOne", "/verification/cosine_min", "1.5", Code::kCorrupt,
     "verification.cosine_min between -1 and 1, got 1.5"},
    {"VerificationShareNegative", "/verification/top1_near", "-0.1", Code::kCorrupt,
     "verification.top1_near between 0 and 1"},
    {"VerificationLimitNull", "/verification/min_cosine", "null", Code::kParseError,
     "min_cosine to be a number"},
    {"VerificationLimitOutside", "/verification/min_top1", "2", Code::kCorrupt,
     "verification.min_top1 between 0 and 1, got 2"},
    {"VerificationPerplexityInfinite", "/verification/perplexity", "1e300", Code::kCorrupt,
     "verification.perplexity between"},
    {"FileOutside", "/files/0/path", "\"a/../../b\"", Code::kCorrupt,
     "paths in the artifact folder"},
    {"FileBackslash", "/files/0/path", "\"a\\\\b\"", Code::kCorrupt,
     "paths in the artifact folder"},
    {"FileIsManifest", "/files/0/path", "\"manifest.json\"", Code::kCorrupt,
     "paths in the artifact folder"},
    {"FileUnsorted", "/files/0/path", "\"z\"", Code::kCorrupt, "sorted by path"},
    {"FileNegative", "/files/0/bytes", "-1", Code::kParseError, "bytes >= 0"},
    {"FileHashShort", "/files/0/sha256", kHash.data(), Code::kCorrupt, "64 lower-case hex digits"},
};

void expect_refused(const Manifest& manifest, const Damage& damage) {
  Json json = to_json(manifest);
  const Json::json_pointer pointer(damage.at);
  if (*damage.value == '\0') {
    Json& parent = json[pointer.parent_pointer()];
    if (parent.is_array())
      parent.erase(parent.begin() + std::stoi(pointer.back()));
    else
      parent.erase(pointer.back());
  } else {
    json[pointer] = Json::parse(damage.value);
  }
  const auto read = manifest_from_json(json, "DIR/manifest.json");
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(code_name(read.status().code()), code_name(damage.code)) << read.status().message();
  const std::string message = read.status().message();
  EXPECT_NE(message.find(damage.message), message.npos) << message;
  EXPECT_EQ(message.find("[DIR/manifest.json] "), 0U) << message;
  EXPECT_EQ(message.find('\n'), message.npos);
}

class DamagedManifest : public ::testing::TestWithParam<Damage> {};

TEST_P(DamagedManifest, IsRefusedWithOneClearLine) {
  expect_refused(testing::sample_manifest(), GetParam());
}

INSTANTIATE_TEST_SUITE_P(Table, DamagedManifest, ::testing::ValuesIn(kDamages),
                         [](const auto& info) { return std::string(info.param.name); });

const Damage kDamagedRows[] = {
    {"VersionBeforeQuantizedRows", "/format_version", "2", Code::kCorrupt,
     "expected format_version 3 for what the manifest has, got 2"},
    {"FormUnknown", "/form/embedding", "\"folded\"", Code::kUnsupported,
     "how rows of embeddings are stored"},
    {"NoObject", "/embedding/parts/0/quantization", "4", Code::kParseError, "an object"},
    {"TypeMissing", "/embedding/parts/0/quantization/dtype", "", Code::kParseError, "dtype"},
    {"TypeOfFloats", "/embedding/parts/0/quantization/dtype", "\"fp16\"", Code::kCorrupt,
     "elements of int4, int8, uint4, uint6 or uint8"},
    {"TypeTooNarrow", "/embedding/parts/0/quantization/dtype", "\"uint3\"", Code::kCorrupt,
     "got uint3"},
    {"RowsUneven", "/embedding/parts/0/quantization/block_rows", "3", Code::kCorrupt,
     "to divide its 500 rows, got 3"},
    {"RowsZero", "/embedding/parts/0/quantization/block_rows", "0", Code::kCorrupt, "got 0"},
    {"RowsNegative", "/embedding/parts/0/quantization/block_rows", "-1", Code::kCorrupt, "got -1"},
    {"ColumnsUneven", "/embedding/parts/0/quantization/block_columns", "33", Code::kCorrupt,
     "to divide its 64 columns, got 33"},
    {"ColumnsZero", "/embedding/parts/0/quantization/block_columns", "0", Code::kCorrupt, "got 0"},
    {"ColumnsHuge", "/embedding/parts/0/quantization/block_columns", "9223372036854775807",
     Code::kCorrupt, "to divide its 64 columns"},
    {"ColumnsOfAPalette", "/embedding/parts/2/quantization/block_columns", "32", Code::kCorrupt,
     "for all 64 columns, got 32"},
    {"OffsetUneven", "/embedding/parts/0/quantization/offset", "20001", Code::kCorrupt,
     "to be a multiple of 2, got 20001"},
    {"OffsetNegative", "/embedding/parts/0/quantization/offset", "-2", Code::kParseError,
     "offset >= 0"},
    {"ScalesTooFew", "/embedding/parts/1/quantization/scales", "[0.5]", Code::kCorrupt,
     "one scale for each block"},
    {"ScalesText", "/embedding/parts/1/quantization/scales", "[\"a\", 1]", Code::kParseError,
     "scales to hold numbers"},
    {"ScalesBesideAnOffset", "/embedding/parts/1/quantization/offset", "64", Code::kCorrupt,
     "no offset"},
    {"ScalesOfAPalette", "/embedding/parts/2/quantization/scales", "[1.0]", Code::kCorrupt,
     "one scale for each block"},
    {"ScalesTooLarge", "/embedding/parts/1/quantization/scales", "[1e39, 1]", Code::kParseError,
     "range of fp32"},
    {"LayersUneven", "/layer_embedding/parts/0/quantization/block_columns", "7", Code::kCorrupt,
     "to divide its 60 columns, got 7"},
};

class DamagedRows : public ::testing::TestWithParam<Damage> {};

TEST_P(DamagedRows, AreRefusedWithOneClearLine) {
  expect_refused(testing::sample_with_quantized_rows(), GetParam());
}

INSTANTIATE_TEST_SUITE_P(Table, DamagedRows, ::testing::ValuesIn(kDamagedRows),
                         [](const auto& info) { return std::string(info.param.name); });

const Damage kDamagedHeadsInside[] = {
    {"VersionBeforeThem", "/format_version", "2", Code::kCorrupt,
     "expected format_version 3 for what the manifest has, got 2"},
    {"OneApart", "/heads/1/package", "\"head_1.mlpackage\"", Code::kCorrupt,
     "expected all heads in \"layers_03_04.mlpackage\" with its output \"hidden_out\" as input, "
     "got "
     "one in \"head_1.mlpackage\" with \"hidden_out\""},
    {"TheFirstApart", "/heads/0/package", "\"head_0.mlpackage\"", Code::kCorrupt,
     "each package once, got \"layers_03_04.mlpackage\" twice"},
    {"InEarlierLayers", "/heads/0/package", "\"layers_00_02.mlpackage\"", Code::kCorrupt,
     "each package once, got \"layers_00_02.mlpackage\" twice"},
    {"OfAnotherInput", "/heads/1/input", "\"hidden\"", Code::kCorrupt, "with \"hidden\""},
    {"OfNoInput", "/heads/0/input", "\"\"", Code::kCorrupt, "with \"\""},
    {"LogitsAreTheHiddenState", "/heads/0/output", "\"hidden_out\"", Code::kCorrupt,
     "each output of \"layers_03_04.mlpackage\" once, got \"hidden_out\" twice"},
    {"LogitsAreACache", "/heads/1/output", "\"k_3_out\"", Code::kCorrupt, "got \"k_3_out\" twice"},
    {"LogitsTwice", "/heads/1/output", "\"logits_0\"", Code::kCorrupt, "got \"logits_0\" twice"},
    {"RowsMissing", "/heads/1/vocab_end", "999", Code::kCorrupt, "cover 1000 vocabulary rows"},
};

class DamagedHeadsInside : public ::testing::TestWithParam<Damage> {};

TEST_P(DamagedHeadsInside, AreRefusedWithOneClearLine) {
  expect_refused(testing::sample_with_head_inside(), GetParam());
}

INSTANTIATE_TEST_SUITE_P(Table, DamagedHeadsInside, ::testing::ValuesIn(kDamagedHeadsInside),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(DamagedManifest, IsRefusedWhenItIsNoObject) {
  for (const char* text : {"[]", "null", "3", "\"manifest\"", "{}"}) {
    const auto read = manifest_from_json(Json::parse(text), "m");
    EXPECT_EQ(read.status().code(), Code::kParseError) << text;
  }
}

}  // namespace
}  // namespace anemone::artifact
