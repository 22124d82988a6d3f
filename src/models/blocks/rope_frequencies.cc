// SPDX-License-Identifier: Apache-2.0
#include "models/blocks/rope_frequencies.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <numbers>
#include <vector>

#include "base/error.h"
#include "base/json.h"

namespace anemone::models {
namespace {

using checkpoint::RopeSettings;

constexpr double kMaxFloat = std::numeric_limits<float>::max();

Result<double> positive(const RopeSettings& settings, std::string_view key) {
  ANEMONE_ASSIGN_OR_RETURN(const auto value, settings.number(key));
  if (!value)
    return parse_error("[config.json] expected \"{}\" for rope_type {}, got none", key,
                       settings.type);
  if (!(*value > 0))
    return parse_error("[config.json] expected {} to be positive, got {}", key, *value);
  return *value;
}

// 0 and null mean "not given", as in transformers' `x.get(key) or fallback`.
Result<double> positive_or(const RopeSettings& settings, std::string_view key, double fallback) {
  ANEMONE_ASSIGN_OR_RETURN(const auto value, settings.number(key));
  if (!value || *value == 0) return fallback;
  if (!(*value > 0))
    return parse_error("[config.json] expected {} to be positive, got {}", key, *value);
  return *value;
}

Status scale_llama3(const RopeSettings& settings, double original, std::vector<double>& inv) {
  ANEMONE_ASSIGN_OR_RETURN(const double factor, positive(settings, "factor"));
  ANEMONE_ASSIGN_OR_RETURN(const double low, positive(settings, "low_freq_factor"));
  ANEMONE_ASSIGN_OR_RETURN(const double high, positive(settings, "high_freq_factor"));
  for (double& frequency : inv) {
    const double wavelength = 2 * std::numbers::pi / frequency;
    if (wavelength > original / low) {
      frequency /= factor;
    } else if (wavelength >= original / high) {
      const double smooth = (original / wavelength - low) / (high - low);
      frequency = (1 - smooth) * frequency / factor + smooth * frequency;
    }
  }
  return {};
}

// The first of the frequencies, and 0 for the others.
Status scale_proportional(const RopeSettings& settings, std::vector<double>& inv) {
  double factor = 1;
  if (settings.parameters->contains("factor")) {
    ANEMONE_ASSIGN_OR_RETURN(factor, positive(settings, "factor"));
  }
  const auto rotated = static_cast<std::size_t>(
      std::floor(settings.partial_rotary_factor * static_cast<double>(inv.size())));
  for (std::size_t i = 0; i < inv.size(); ++i) inv[i] = i < rotated ? inv[i] / factor : 0;
  return {};
}

// What a GGUF file holds in place of the parameters of llama3: each frequency has its divisor.
Status divide(const RopeSettings& settings, std::vector<double>& inv) {
  const auto divisors = settings.parameters->find("divisors");
  if (divisors == settings.parameters->end() || !divisors->is_array() ||
      divisors->size() != inv.size())
    return parse_error("[config.json] expected {} divisors for rope_type divided", inv.size());
  for (std::size_t i = 0; i < inv.size(); ++i) {
    const Json& divisor = (*divisors)[i];
    if (!divisor.is_number() || !(divisor.get<double>() > 0))
      return parse_error("[config.json] expected positive divisors for rope_type divided");
    inv[i] /= divisor.get<double>();
  }
  return {};
}

// Returns the attention factor.
Result<double> scale_yarn(const RopeSettings& settings, double original, std::int64_t dim,
                          std::int64_t max_position, std::vector<double>& inv) {
  if (settings.theta == 1)
    return parse_error("[config.json] expected a rope_theta other than 1 for rope_type yarn");
  // The key must be there, but may be null.
  double factor = static_cast<double>(max_position) / original;
  const auto given = settings.parameters->find("factor");
  if (given == settings.parameters->end() || !given->is_null()) {
    ANEMONE_ASSIGN_OR_RETURN(factor, positive(settings, "factor"));
  }
  ANEMONE_ASSIGN_OR_RETURN(const double beta_fast, positive_or(settings, "beta_fast", 32));
  ANEMONE_ASSIGN_OR_RETURN(const double beta_slow, positive_or(settings, "beta_slow", 1));
  ANEMONE_ASSIGN_OR_RETURN(const auto truncate,
                           json_bool(*settings.parameters, "truncate", "config.json"));
  const auto correction = [&](double rotations) {
    return static_cast<double>(dim) * std::log(original / (rotations * 2 * std::numbers::pi)) /
           (2 * std::log(settings.theta));
  };
  double low = correction(beta_fast);
  double high = correction(beta_slow);
  if (truncate.value_or(true)) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, static_cast<double>(dim - 1));
  if (low == high) high += 0.001;
  for (std::size_t i = 0; i < inv.size(); ++i) {
    const double ramp = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
    inv[i] = inv[i] / factor * ramp + inv[i] * (1 - ramp);
  }
  ANEMONE_ASSIGN_OR_RETURN(const auto attention, settings.number("attention_factor"));
  if (attention) return *attention;
  ANEMONE_ASSIGN_OR_RETURN(const auto mscale, settings.number("mscale"));
  ANEMONE_ASSIGN_OR_RETURN(const auto mscale_all, settings.number("mscale_all_dim"));
  const auto magnitude = [&](double scale) {
    return factor <= 1 ? 1.0 : 0.1 * scale * std::log(factor) + 1.0;
  };
  if (mscale.value_or(0) != 0 && mscale_all.value_or(0) != 0)
    return magnitude(*mscale) / magnitude(*mscale_all);
  return magnitude(1);
}

// The divisors of all frequencies.
Result<std::vector<double>> divisors(const RopeSettings& settings, std::string_view key,
                                     std::size_t count) {
  const Json* list = json_member(*settings.parameters, key);
  if (list == nullptr)
    return parse_error("[config.json] expected \"{}\" for rope_type {}, got none", key,
                       settings.type);
  if (!list->is_array() || list->size() != count)
    return parse_error("[config.json] expected {} to be a list of {} numbers", key, count);
  std::vector<double> out;
  for (const Json& item : *list) {
    if (!item.is_number() || !(item.get<double>() > 0))
      return parse_error("[config.json] expected {} to hold positive numbers, got {}", key,
                         dump_json(item));
    out.push_back(item.get<double>());
  }
  return out;
}

// Returns the attention factor. `original` is the length up to which `inv` holds.
Result<double> scale_longrope(const RopeSettings& settings, double original,
                              std::int64_t max_position, std::vector<double>& inv,
                              std::vector<double>& long_inv) {
  ANEMONE_ASSIGN_OR_RETURN(const auto short_factor, divisors(settings, "short_factor", inv.size()));
  ANEMONE_ASSIGN_OR_RETURN(const auto long_factor, divisors(settings, "long_factor", inv.size()));
  long_inv = inv;
  for (std::size_t i = 0; i < inv.size(); ++i) {
    inv[i] /= short_factor[i];
    long_inv[i] /= long_factor[i];
  }
  double factor = static_cast<double>(max_position) / original;
  if (json_member(*settings.parameters, "factor") != nullptr) {
    ANEMONE_ASSIGN_OR_RETURN(factor, positive(settings, "factor"));
  }
  ANEMONE_ASSIGN_OR_RETURN(const auto attention, settings.number("attention_factor"));
  if (attention) return *attention;
  if (factor <= 1) return 1.0;
  if (original == 1)
    return parse_error("[config.json] expected original_max_position_embeddings above 1, got 1");
  return std::sqrt(1 + std::log(factor) / std::log(original));
}

}  // namespace

Result<artifact::Rope> rope_frequencies(const RopeSettings& settings, std::int64_t dim,
                                        std::int64_t max_position) {
  std::vector<double> inv(static_cast<std::size_t>(dim / 2));
  for (std::size_t i = 0; i < inv.size(); ++i)
    inv[i] = 1.0 / std::pow(settings.theta, static_cast<double>(2 * i) / static_cast<double>(dim));
  std::vector<double> long_inv;
  std::int64_t short_length = 0;
  double scale = 1;
  // The partial factor has no effect on these classes' default form, and transformers cannot run it
  // with a scaled one.
  if (settings.type == "proportional") {
    ANEMONE_RETURN_IF_ERROR(scale_proportional(settings, inv));
  } else if (settings.type != "default" && settings.partial_rotary_factor != 1) {
    return unsupported("[config.json] expected partial_rotary_factor 1 for rope_type {}, got {}",
                       settings.type, settings.partial_rotary_factor);
  } else if (settings.type == "linear") {
    ANEMONE_ASSIGN_OR_RETURN(const double factor, positive(settings, "factor"));
    for (double& frequency : inv) frequency /= factor;
  } else if (settings.type == "divided") {
    ANEMONE_RETURN_IF_ERROR(divide(settings, inv));
  } else if (settings.type == "dynamic") {
    ANEMONE_RETURN_IF_ERROR(positive(settings, "factor").status());
    if (dim == 2)
      return parse_error("[config.json] expected head_dim above 2 for rope_type dynamic, got 2");
  } else if (settings.type == "llama3" || settings.type == "yarn" || settings.type == "longrope") {
    auto original = static_cast<double>(max_position);
    if (settings.parameters->contains("original_max_position_embeddings")) {
      ANEMONE_ASSIGN_OR_RETURN(original, positive(settings, "original_max_position_embeddings"));
    }
    if (settings.type == "llama3") {
      ANEMONE_RETURN_IF_ERROR(scale_llama3(settings, original, inv));
    } else if (settings.type == "longrope") {
      ANEMONE_ASSIGN_OR_RETURN(scale,
                               scale_longrope(settings, original, max_position, inv, long_inv));
      // A text is never longer than the model's last position.
      if (original < static_cast<double>(max_position))
        short_length = static_cast<std::int64_t>(original);
    } else {
      ANEMONE_ASSIGN_OR_RETURN(scale, scale_yarn(settings, original, dim, max_position, inv));
    }
  } else if (settings.type != "default") {
    return unsupported(
        "[config.json] expected rope_type to be default, linear, dynamic, llama3, yarn, "
        "longrope or proportional, got \"{}\"",
        settings.type);
  }
  artifact::Rope rope;
  rope.name = "rope";
  if (short_length == 0) long_inv.clear();
  rope.short_length = short_length;
  bool is_finite = std::abs(scale) <= kMaxFloat;
  const auto store = [&](const std::vector<double>& frequencies, std::vector<float>& out) {
    for (const double frequency : frequencies) {
      is_finite = is_finite && std::abs(frequency) <= kMaxFloat;
      if (is_finite) out.push_back(static_cast<float>(frequency));
    }
  };
  store(inv, rope.inv_freq);
  store(long_inv, rope.long_inv_freq);
  if (!is_finite)
    return parse_error(
        "[config.json] expected finite rotary frequencies, got NaN or infinity (type {})",
        settings.type);
  rope.scale = static_cast<float>(scale);
  return rope;
}

}  // namespace anemone::models
