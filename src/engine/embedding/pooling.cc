// SPDX-License-Identifier: Apache-2.0
#include "engine/embedding/pooling.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/escape.h"

namespace anemone::engine {
namespace {

template <typename Number>
double length_of(std::span<const Number> vector) {
  double squares = 0;
  for (const Number value : vector)
    squares += static_cast<double>(value) * static_cast<double>(value);
  return std::sqrt(squares);
}

}  // namespace

Result<Pooling> parse_pooling(std::string_view name) {
  if (name == "last") return Pooling::kLast;
  if (name == "mean") return Pooling::kMean;
  if (name == "cls")
    return unsupported(
        "[pooling] expected last or mean, got cls: the first token of a model that generates text "
        "has seen no other token");
  return invalid_argument("[pooling] expected last or mean, got \"{}\"", shortened(name, 60));
}

void Pooler::add(std::span<const float> hidden) {
  if (pooling_ == Pooling::kLast || count_ == 0)
    sum_.assign(hidden.begin(), hidden.end());
  else
    for (std::size_t i = 0; i < hidden.size(); ++i) sum_[i] += static_cast<double>(hidden[i]);
  ++count_;
}

// The mean differs from the sum by a factor that the scaling takes away.
std::vector<float> Pooler::finish() {
  const double length = length_of(std::span<const double>(sum_));
  std::vector<float> out(sum_.size());
  if (length > 0)
    std::ranges::transform(sum_, out.begin(),
                           [&](double value) { return static_cast<float>(value / length); });
  return out;
}

void shorten_embedding(std::vector<float>& embedding, std::size_t dimensions) {
  embedding.resize(std::min(dimensions, embedding.size()));
  const double length = length_of(std::span<const float>(embedding));
  if (length == 0) return;
  for (float& value : embedding) value = static_cast<float>(static_cast<double>(value) / length);
}

}  // namespace anemone::engine
