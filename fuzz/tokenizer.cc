// SPDX-License-Identifier: Apache-2.0
// A tokenizer.json, and a text that it encodes and decodes. The streamed text must be the decoded
// text, whatever the tokenizer is.
#include "text/tokenizer/tokenizer.h"

#include "base/check.h"
#include "fuzz/support.h"
#include "text/stream/text_streamer.h"
#include "text/text_work.h"
#include "text/utf8.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace anemone;
  const fuzz::Parts parts = fuzz::split_parts(fuzz::text_of(data, size));
  const auto tokenizer = text::Tokenizer::parse(fuzz::part(parts, "tokenizer.json"), "input");
  if (!tokenizer.ok()) return 0;
  const std::string_view text = fuzz::part(parts, "text");
  for (const bool special : {false, true}) {
    const auto ids = (*tokenizer)->encode(text, {special, special});
    if (!ids.ok()) continue;
    const auto decoded = (*tokenizer)->decode(*ids);
    if (!decoded.ok()) continue;
    ANEMONE_CHECK(text::is_valid_utf8(*decoded));
    text::TextStreamer streamer(*tokenizer);
    std::string streamed;
    for (const std::int32_t id : *ids) {
      ANEMONE_CHECK((*tokenizer)->has(id));
      const auto piece = streamer.push(id);
      if (!piece.ok()) return 0;
      ANEMONE_CHECK(text::is_valid_utf8(*piece));
      streamed += *piece;
    }
    const auto last = streamer.finish();
    if (!last.ok()) return 0;
    streamed += *last;
    ANEMONE_CHECK(streamed == *decoded);
  }
  WorkBudget work("text", text::text_limits(size));
  for (const std::int32_t id : {-1, 0, 1, (*tokenizer)->vocab_size()}) {
    (void)(*tokenizer)->token_bytes(id, work);
    (void)(*tokenizer)->id_to_token(id);
  }
  return 0;
}
