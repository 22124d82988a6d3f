// SPDX-License-Identifier: Apache-2.0
// Free text around a marker, as in answers whose reasoning ends with </think>. Any bytes are text.
#pragma once

#include <string_view>

#include "grammar/automaton/grammar_builder.h"

namespace anemone::grammar {

// Any text that ends with the marker and does not have it before. The marker is not empty.
NodeId text_up_to(GrammarBuilder& builder, std::string_view marker);
// Any text, the empty one included, that does not have the marker in it.
NodeId text_without(GrammarBuilder& builder, std::string_view marker);

}  // namespace anemone::grammar
