// SPDX-License-Identifier: Apache-2.0
// Free text around a marker, as in answers whose reasoning ends with </think>. Any bytes are text.
#pragma once

#include <span>
#include <string_view>

#include "grammar/automaton/grammar_builder.h"

namespace anemone::grammar {

// Any text that ends with the marker and does not have it before, nor any of `excluded` at all. No
// marker is empty.
NodeId text_up_to(GrammarBuilder& builder, std::string_view marker,
                  std::span<const std::string_view> excluded = {});
// Any text, the empty one included, that does not have the marker in it.
NodeId text_without(GrammarBuilder& builder, std::string_view marker);

}  // namespace anemone::grammar
