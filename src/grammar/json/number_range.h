// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "grammar/automaton/grammar_builder.h"

namespace anemone::grammar {

// A number in decimal digits: (-1)^is_negative * whole.fraction.
struct Decimal {
  bool is_negative = false;
  std::uint64_t whole = 0;  // below 10^18
  std::string fraction;     // without trailing zeros

  bool is_zero() const { return whole == 0 && fraction.empty(); }
};

// The shortest decimal number that reads as this JSON number. nullopt if it has more than 18 digits
// before or after the decimal point, or is no number.
std::optional<Decimal> decimal_of(const Json& number);

struct NumberRange {
  std::optional<Decimal> least;
  std::optional<Decimal> most;
  bool excludes_least = false;
  bool excludes_most = false;
};

bool is_empty(const NumberRange& range);

// The functions below take ranges that are not empty; a part of them may be: never().
// The integers of a range, in their only form: digits, without "-0". never() if there is none.
// An absent bound is 18 digits away from zero.
NodeId integers_within(GrammarBuilder& builder, const NumberRange& range);
// How many they are, and the first; nullopt beyond 10^18.
struct IntegerSpan {
  std::int64_t first = 0;
  std::int64_t last = -1;
};
IntegerSpan integer_span(const NumberRange& range);
// Multiples of `divisor`, 1 to 1000, without bounds.
NodeId multiples_of(GrammarBuilder& builder, std::uint32_t divisor);
// The numbers of a range, as decimal fractions without an exponent.
NodeId numbers_within(GrammarBuilder& builder, const NumberRange& range);

}  // namespace anemone::grammar
