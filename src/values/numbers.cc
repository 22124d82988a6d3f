// SPDX-License-Identifier: Apache-2.0
#include "values/numbers.h"

#include <charconv>
#include <cstdint>
#include <vector>

#include "base/error.h"

namespace anemone::values {
namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(' ');
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

template <typename T>
bool parse(std::string_view text, T& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

Result<Tensor> parse_numbers(std::string_view text, std::string_view subject) {
  std::vector<std::int64_t> whole;
  std::vector<double> all;
  while (true) {
    const std::size_t comma = text.find(',');
    std::string_view item = trimmed(text.substr(0, comma));
    if (item.size() > 1 && item[0] == '+' && item[1] != '-') item.remove_prefix(1);
    if (std::int64_t value = 0; parse(item, value)) whole.push_back(value);
    double value = 0;
    if (!parse(item, value))
      return invalid_argument("[{}] expected numbers with commas between, got \"{}\"", subject,
                              item);
    all.push_back(value);
    if (comma == text.npos) break;
    text.remove_prefix(comma + 1);
  }
  const Shape shape = {static_cast<std::int64_t>(all.size())};
  if (whole.size() == all.size())
    return Tensor::from<std::int64_t>(shape, std::span<const std::int64_t>(whole));
  return Tensor::from<double>(shape, std::span<const double>(all));
}

}  // namespace anemone::values
