// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace anemone::grammar {

// The anchored regular expression of a `format` of JSON schema (section 7.3 of its validation
// part); nullopt for one that is not supported. Each takes valid texts alone, but not always all:
// a hostname has at most four labels of 62 characters, times have no leap second, e-mail addresses
// no quoted names.
std::optional<std::string_view> format_pattern(std::string_view name);
// Their names for messages: "date, time, ...".
std::string format_names();

}  // namespace anemone::grammar
