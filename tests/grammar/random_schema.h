// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <random>
#include <string>

#include "base/json.h"
#include "grammar/automaton/matcher.h"

namespace anemone::grammar {

// A schema of supported keywords, with definitions that may refer to each other.
Json random_schema(std::mt19937& random);

// A text of the grammar, byte by byte; empty if it does not end within `most` bytes.
std::string random_text(const std::shared_ptr<const Grammar>& grammar, std::mt19937& random,
                        std::size_t most);

}  // namespace anemone::grammar
