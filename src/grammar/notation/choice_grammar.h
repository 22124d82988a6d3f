// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <memory>
#include <string>
#include <vector>

#include "grammar/automaton/grammar.h"

namespace anemone::grammar {

// One of these texts, exactly. kInvalidArgument for an empty list, a text that is empty or not
// valid UTF-8.
Result<std::shared_ptr<const Grammar>> grammar_from_choices(const std::vector<std::string>& texts);

}  // namespace anemone::grammar
