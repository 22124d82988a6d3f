// SPDX-License-Identifier: Apache-2.0
#include "values/numbers.h"

#include <cstdint>
#include <vector>

#include "base/error.h"
#include "base/parse_number.h"

namespace anemone::values {
namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(' ');
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

}  // namespace

Result<Tensor> parse_numbers(std::string_view text, std::string_view subject) {
  std::vector<std::int64_t> whole;
  std::vector<double> all;
  while (true) {
    const std::size_t comma = text.find(',');
    std::string_view item = trimmed(text.substr(0, comma));
    if (item.size() > 1 && item[0] == '+' && item[1] != '-') item.remove_prefix(1);
    if (const auto value = parse_number<std::int64_t>(item)) whole.push_back(*value);
    const auto value = parse_number<double>(item);
    if (!value)
      return invalid_argument("[{}] expected numbers with commas between, got \"{}\"", subject,
                              item);
    all.push_back(*value);
    if (comma == text.npos) break;
    text.remove_prefix(comma + 1);
  }
  const Shape shape = {static_cast<std::int64_t>(all.size())};
  if (whole.size() == all.size())
    return Tensor::from<std::int64_t>(shape, std::span<const std::int64_t>(whole));
  return Tensor::from<double>(shape, std::span<const double>(all));
}

}  // namespace anemone::values
