// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <span>
#include <string_view>

#include "engine/session/logit_row.h"

namespace anemone::engine {

// Checks that logits can be used: kCorrupt, naming the model and the position of the token that
// they follow (or label), when one is NaN or all are minus infinity, since no token can be picked
// then. Plus infinity passes: it is a large logit that fp16 could not hold.
Status check_logits(const LogitRow& row, std::string_view model, std::int64_t position);
Status check_logits(std::span<const float> logits, std::string_view model, std::int64_t position);

}  // namespace anemone::engine
