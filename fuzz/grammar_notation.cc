// SPDX-License-Identifier: Apache-2.0
// A regular expression or a grammar in GBNF, and the choices of a walk along it.
#include "base/check.h"
#include "fuzz/grammar_walk.h"
#include "fuzz/support.h"
#include "grammar/notation/gbnf_grammar.h"
#include "grammar/notation/regex_grammar.h"
#include "text/utf8.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace anemone;
  const fuzz::Parts parts = fuzz::split_parts(fuzz::text_of(data, size));
  const std::string_view choices = fuzz::part(parts, "choices");
  for (const auto& grammar :
       {grammar::grammar_from_regex(fuzz::part(parts, "regex"), size % 2 == 0),
        grammar::grammar_from_gbnf(fuzz::part(parts, "gbnf"))}) {
    if (!grammar.ok()) continue;
    bool is_complete = false;
    const std::string text = fuzz::walk(*grammar, choices, is_complete);
    if (is_complete) ANEMONE_CHECK(text::is_valid_utf8(text));
  }
  return 0;
}
