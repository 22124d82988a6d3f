// SPDX-License-Identifier: Apache-2.0
#include "grammar/json/number_range.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>
#include <vector>

namespace anemone::grammar {
namespace {

constexpr std::size_t kDigits = 18;
constexpr std::uint64_t kLargest = 999'999'999'999'999'999;
// Digits after those of a bound. More would make numbers that read as the bound itself, which an
// exclusive one excludes: a double holds 15 digits.
constexpr std::uint64_t kFreeFractionDigits = 6;

class RangeBuilder {
 public:
  explicit RangeBuilder(GrammarBuilder& builder) : b_(builder) {}

  // Whole numbers from `low` to `high`, `low` <= `high`.
  NodeId whole(std::uint64_t low, std::uint64_t high) {
    std::vector<NodeId> all;
    const std::string first = std::to_string(low);
    const std::string last = std::to_string(high);
    for (std::size_t length = first.size(); length <= last.size(); ++length) {
      const std::string from = length == first.size() ? first : "1" + std::string(length - 1, '0');
      const std::string to = length == last.size() ? last : std::string(length, '9');
      all.push_back(same_length(from, to));
    }
    return b_.choice(all);
  }

  // What follows the digits of the whole part: nothing, or a point and digits, so that the fraction
  // is within the limits. An absent `high` is no limit.
  NodeId fraction(const std::string& low, bool excludes_low, const std::optional<std::string>& high,
                  bool excludes_high) {
    low_ = low;
    high_ = high.value_or("");
    excludes_low_ = excludes_low;
    excludes_high_ = excludes_high;
    std::vector<NodeId> ways;
    if (may_stop(0, true, high.has_value())) ways.push_back(b_.empty());
    ways.push_back(b_.sequence({b_.literal("."), more_digits(0, true, high.has_value())}));
    return b_.choice(ways);
  }

 private:
  NodeId digit(char low, char high) {
    return b_.bytes(
        ByteSet::range(static_cast<unsigned char>(low), static_cast<unsigned char>(high)));
  }
  NodeId free_digits(std::uint64_t least, std::uint64_t most) {
    return b_.repeat(digit('0', '9'), least, most);
  }

  NodeId same_length(const std::string& low, const std::string& high) {
    const auto same = static_cast<std::size_t>(
        std::mismatch(low.begin(), low.end(), high.begin()).first - low.begin());
    const NodeId prefix = b_.literal(low.substr(0, same));
    if (same == low.size()) return prefix;
    std::vector<NodeId> ways;
    const std::size_t rest = low.size() - same - 1;
    ways.push_back(b_.sequence({digit(low[same], low[same]), from_digits(low, same + 1)}));
    if (high[same] - low[same] > 1)
      ways.push_back(
          b_.sequence({digit(static_cast<char>(low[same] + 1), static_cast<char>(high[same] - 1)),
                       free_digits(rest, rest)}));
    ways.push_back(b_.sequence({digit(high[same], high[same]), up_to_digits(high, same + 1)}));
    return b_.sequence({prefix, b_.choice(ways)});
  }
  // The digits from `at` on, not below those of `low`; as many.
  NodeId from_digits(const std::string& low, std::size_t at) {
    if (at == low.size()) return b_.empty();
    const std::size_t rest = low.size() - at - 1;
    std::vector<NodeId> ways{b_.sequence({digit(low[at], low[at]), from_digits(low, at + 1)})};
    if (low[at] < '9')
      ways.push_back(
          b_.sequence({digit(static_cast<char>(low[at] + 1), '9'), free_digits(rest, rest)}));
    return b_.choice(ways);
  }
  NodeId up_to_digits(const std::string& high, std::size_t at) {
    if (at == high.size()) return b_.empty();
    const std::size_t rest = high.size() - at - 1;
    std::vector<NodeId> ways{b_.sequence({digit(high[at], high[at]), up_to_digits(high, at + 1)})};
    if (high[at] > '0')
      ways.push_back(
          b_.sequence({digit('0', static_cast<char>(high[at] - 1)), free_digits(rest, rest)}));
    return b_.choice(ways);
  }

  // Whether the fraction may end after `at` digits, which equal those of the lower limit (on_low)
  // and of the upper one (on_high).
  bool may_stop(std::size_t at, bool on_low, bool on_high) const {
    if (on_low && (at < low_.size() || excludes_low_)) return false;
    return !on_high || at < high_.size() || !excludes_high_;
  }

  // At least one more digit.
  NodeId more_digits(std::size_t at, bool on_low, bool on_high) {
    if (on_low && at >= low_.size() && !excludes_low_) on_low = false;
    const bool high_has_ended = on_high && at >= high_.size();
    if (high_has_ended) {
      // The number is the upper limit now: zeros alone may follow.
      if (excludes_high_ || on_low) return b_.never();
      return b_.repeat(digit('0', '0'), 1, kFreeFractionDigits);
    }
    if (!on_low && !on_high) return free_digits(1, kFreeFractionDigits);
    if (!on_high && at >= low_.size())  // any digit but zeros forever
      return b_.sequence({b_.repeat(digit('0', '0'), 0, 2), digit('1', '9'), free_digits(0, 3)});
    const char low = on_low && at < low_.size() ? low_[at] : '0';
    const char high = on_high ? high_[at] : '9';
    std::vector<NodeId> ways;
    const auto take = [&](char first, char last, bool still_low, bool still_high) {
      if (first > last) return;
      std::vector<NodeId> next;
      if (may_stop(at + 1, still_low, still_high)) next.push_back(b_.empty());
      next.push_back(more_digits(at + 1, still_low, still_high));
      ways.push_back(b_.sequence({digit(first, last), b_.choice(next)}));
    };
    if (on_low && on_high && low == high) {
      take(low, low, true, true);
    } else {
      if (on_low) take(low, low, true, false);
      take(static_cast<char>(on_low ? low + 1 : '0'), static_cast<char>(on_high ? high - 1 : '9'),
           false, false);
      if (on_high) take(high, high, false, true);
    }
    return b_.choice(ways);
  }

  GrammarBuilder& b_;
  std::string low_;
  std::string high_;
  bool excludes_low_ = false;
  bool excludes_high_ = false;
};

// The part of a range on one side of zero, by magnitude.
struct Side {
  bool exists = false;
  Decimal low;
  std::optional<Decimal> high;
  bool excludes_low = false;
  bool excludes_high = false;
};

Side positive_side(const NumberRange& range) {
  Side side;
  if (range.most && range.most->is_negative) return side;
  side.exists = true;
  if (range.least && !range.least->is_negative) {
    side.low = *range.least;
    side.excludes_low = range.excludes_least;
  }
  side.high = range.most;
  side.excludes_high = range.excludes_most;
  return side;
}

Side negative_side(const NumberRange& range) {
  Side side;
  if (range.least && !range.least->is_negative) return side;
  side.exists = true;
  if (range.most && range.most->is_negative) {
    side.low = *range.most;
    side.excludes_low = range.excludes_most;
  } else {
    side.excludes_low = true;  // zero is on the other side
  }
  side.high = range.least;
  side.excludes_high = range.excludes_least;
  return side;
}

// The whole numbers of a side: first > last if there is none.
std::pair<std::uint64_t, std::uint64_t> whole_numbers(const Side& side) {
  if (!side.exists) return {1, 0};
  std::uint64_t first = side.low.whole;
  if (!side.low.fraction.empty() || side.excludes_low) ++first;
  std::uint64_t last = kLargest;
  if (side.high) {
    last = side.high->whole;
    if (side.high->fraction.empty() && side.excludes_high) {
      if (last == 0) return {1, 0};
      --last;
    }
  }
  return {first, last};
}

NodeId numbers_of(GrammarBuilder& builder, const Side& side) {
  RangeBuilder range(builder);
  std::vector<NodeId> ways;
  const std::uint64_t first = side.low.whole;
  const auto whole_text = [&](std::uint64_t value) {
    return builder.literal(std::to_string(value));
  };
  if (side.high && first > side.high->whole) return builder.never();
  if (side.high && first == side.high->whole)
    return builder.sequence(
        {whole_text(first), range.fraction(side.low.fraction, side.excludes_low,
                                           side.high->fraction, side.excludes_high)});
  ways.push_back(
      builder.sequence({whole_text(first), range.fraction(side.low.fraction, side.excludes_low,
                                                          std::nullopt, false)}));
  const std::uint64_t end = side.high ? side.high->whole : kLargest + 1;  // one past the free ones
  if (first + 1 < end)
    ways.push_back(builder.sequence(
        {range.whole(first + 1, end - 1), range.fraction("", false, std::nullopt, false)}));
  if (side.high)
    ways.push_back(builder.sequence(
        {whole_text(end), range.fraction("", false, side.high->fraction, side.excludes_high)}));
  return builder.choice(ways);
}

}  // namespace

std::optional<Decimal> decimal_of(const Json& number) {
  if (!number.is_number()) return std::nullopt;
  std::string text =
      number.is_number_float() ? fmt::format("{}", number.get<double>()) : number.dump();
  Decimal out;
  if (text.front() == '-') {
    out.is_negative = true;
    text.erase(0, 1);
  }
  int exponent = 0;
  if (const std::size_t e = text.find('e'); e != text.npos) {
    exponent = std::atoi(text.c_str() + e + 1);
    text.resize(e);
  }
  std::size_t point = text.find('.');
  if (point == text.npos)
    point = text.size();
  else
    text.erase(point, 1);
  if (exponent < -2 * static_cast<int>(kDigits) || exponent > 2 * static_cast<int>(kDigits))
    return std::nullopt;
  auto place = static_cast<std::ptrdiff_t>(point) + exponent;
  if (place < 0) {
    text.insert(0, static_cast<std::size_t>(-place), '0');
    place = 0;
  }
  if (static_cast<std::size_t>(place) > text.size())
    text.resize(static_cast<std::size_t>(place), '0');
  std::string whole = text.substr(0, static_cast<std::size_t>(place));
  whole.erase(0, whole.find_first_not_of('0'));
  out.fraction = text.substr(static_cast<std::size_t>(place));
  out.fraction.erase(out.fraction.find_last_not_of('0') + 1);
  if (whole.size() > kDigits || out.fraction.size() > kDigits) return std::nullopt;
  for (const char c : whole + out.fraction)
    if (c < '0' || c > '9') return std::nullopt;  // "inf"
  for (const char c : whole) out.whole = out.whole * 10 + static_cast<std::uint64_t>(c - '0');
  if (out.is_zero()) out.is_negative = false;
  return out;
}

bool is_empty(const NumberRange& range) {
  if (!range.least || !range.most) return false;
  const Decimal& low = *range.least;
  const Decimal& high = *range.most;
  if (low.is_negative != high.is_negative) return high.is_negative;
  // Without trailing zeros, fractions are in the order of their texts.
  const auto order =
      low.is_negative ? std::tie(high.whole, high.fraction) <=> std::tie(low.whole, low.fraction)
                      : std::tie(low.whole, low.fraction) <=> std::tie(high.whole, high.fraction);
  return order > 0 || (order == 0 && (range.excludes_least || range.excludes_most));
}

NodeId integers_within(GrammarBuilder& builder, const NumberRange& range) {
  std::vector<NodeId> ways;
  RangeBuilder digits(builder);
  const auto [first, last] = whole_numbers(positive_side(range));
  if (first <= last) ways.push_back(digits.whole(first, last));
  const auto [low, high] = whole_numbers(negative_side(range));
  if (low <= high)
    ways.push_back(builder.sequence({builder.literal("-"), digits.whole(low, high)}));
  return builder.choice(ways);
}

IntegerSpan integer_span(const NumberRange& range) {
  const auto [first, last] = whole_numbers(positive_side(range));
  const auto [low, high] = whole_numbers(negative_side(range));
  const auto signed_of = [](std::uint64_t value) { return static_cast<std::int64_t>(value); };
  if (first > last && low > high) return {};
  IntegerSpan span;
  span.first = low <= high ? -signed_of(high) : signed_of(first);
  span.last = first <= last ? signed_of(last) : -signed_of(low);
  return span;
}

NodeId multiples_of(GrammarBuilder& builder, std::uint32_t divisor) {
  // A rule for each remainder of the digits so far.
  std::vector<RuleId> rules;
  for (std::uint32_t r = 0; r < divisor; ++r)
    rules.push_back(builder.add_rule(fmt::format("multiple of {}", divisor)));
  const auto continued = [&](std::uint32_t remainder, char first) {
    std::vector<NodeId> ways;
    for (char digit = first; digit <= '9'; ++digit) {
      const std::uint32_t next =
          (remainder * 10 + static_cast<std::uint32_t>(digit - '0')) % divisor;
      ways.push_back(builder.sequence(
          {builder.literal(std::string_view(&digit, 1)), builder.call(rules[next])}));
    }
    return ways;
  };
  for (std::uint32_t r = 0; r < divisor; ++r) {
    std::vector<NodeId> ways = continued(r, '0');
    if (r == 0) ways.push_back(builder.empty());
    builder.define(rules[r], builder.choice(ways));
  }
  return builder.choice(
      {builder.literal("0"), builder.sequence({builder.optional(builder.literal("-")),
                                               builder.choice(continued(0, '1'))})});
}

NodeId numbers_within(GrammarBuilder& builder, const NumberRange& range) {
  std::vector<NodeId> ways;
  const Side positive = positive_side(range);
  if (positive.exists) ways.push_back(numbers_of(builder, positive));
  const Side negative = negative_side(range);
  if (negative.exists)
    ways.push_back(builder.sequence({builder.literal("-"), numbers_of(builder, negative)}));
  return builder.choice(ways);
}

}  // namespace anemone::grammar
