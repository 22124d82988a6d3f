// SPDX-License-Identifier: Apache-2.0
// The manifest of an answer in stages and the choices of a walk through them: an answer can always
// go on until it has ended, and its counts are those of its tokens.
#include "engine/constraint/stage_manifest.h"

#include <optional>

#include "base/check.h"
#include "engine/constraint/stage_constraint.h"
#include "fuzz/support.h"
#include "grammar/tokens/token_trie.h"
#include "text/tokenizer/tokenizer.h"

namespace {

using namespace anemone;

// Bytes of a few letters, a newline, a token with one in it, and the end of a text.
constexpr std::string_view kTokenizer = R"({"added_tokens": [{"id": 6, "content": "</s>",
  "special": true, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false}],
  "normalizer": null, "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false,
  "trim_offsets": true, "use_regex": false}, "post_processor": null,
  "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true,
  "use_regex": true}, "model": {"type": "BPE", "dropout": null, "unk_token": null,
  "continuing_subword_prefix": null, "end_of_word_suffix": null, "fuse_unk": false,
  "byte_fallback": false, "vocab": {"a": 0, "b": 1, "ab": 2, "c": 3, "Ċ": 4, "cĊ": 5},
  "merges": ["a b", "c Ċ"]}})";
constexpr std::int32_t kVocab = 7;
constexpr std::int32_t kEnd = 6;
constexpr std::size_t kMostSteps = 2'000;

void walk(engine::StageManifest manifest, const grammar::TokenTrie* trie,
          std::string_view choices) {
  auto constraint = engine::StageConstraint::create(std::move(manifest), kVocab, trie);
  if (!constraint.ok()) return;
  std::int64_t tokens = 0;
  for (std::size_t step = 0; step < kMostSteps && !constraint->has_ended(); ++step) {
    const auto mask = constraint->mask();
    ANEMONE_CHECK(mask.ok() && !(*mask)->is_empty());
    const std::size_t choice =
        choices.empty() ? step : static_cast<unsigned char>(choices[step % choices.size()]);
    std::optional<std::int32_t> picked;
    for (std::int32_t i = 0; i < kVocab; ++i) {
      const auto id = static_cast<std::int32_t>((choice + static_cast<std::size_t>(i)) % kVocab);
      if (!(*mask)->allows(id))
        ANEMONE_CHECK(!constraint->accept(id).ok());
      else if (!picked)
        picked = id;
    }
    ANEMONE_CHECK(picked && constraint->accept(*picked).ok());
    ++tokens;
  }
  const engine::StageCounts& counts = constraint->counts();
  ANEMONE_CHECK(counts.forced_tokens + counts.field_content_tokens + counts.field_newline_tokens +
                    counts.open_tokens ==
                tokens);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto tokenizer = text::Tokenizer::parse(kTokenizer, "tokenizer");
  ANEMONE_CHECK(tokenizer.ok());
  static const auto trie = grammar::TokenTrie::build(**tokenizer, {{kEnd}});
  ANEMONE_CHECK(trie.ok());
  const fuzz::Parts parts = fuzz::split_parts(fuzz::text_of(data, size));
  for (const text::Tokenizer* of_model :
       {tokenizer->get(), static_cast<const text::Tokenizer*>(nullptr)}) {
    auto manifest = engine::parse_stage_manifest(fuzz::part(parts, "manifest"),
                                                 {of_model, kVocab, {kEnd}}, "input");
    if (!manifest.ok()) {
      ANEMONE_CHECK(!manifest.status().message().empty());
      continue;
    }
    walk(*std::move(manifest), of_model != nullptr ? trie->get() : nullptr,
         fuzz::part(parts, "choices"));
  }
  return 0;
}
