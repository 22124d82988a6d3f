// SPDX-License-Identifier: Apache-2.0
#include "serve/model_choice.h"

#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "base/amount.h"
#include "base/error.h"

namespace anemone::serve {
namespace {

constexpr std::string_view kKeepAlive = "keep_alive";

std::optional<KeepAlive> keep_alive_of(const Json& value) {
  std::optional<std::chrono::milliseconds> time;
  if (value.is_number()) {
    const double seconds = value.get<double>();
    if (seconds < 0) return KeepAlive();
    time = duration_of(seconds);
  } else if (value.is_string()) {
    std::string_view text = value.get_ref<const std::string&>();
    const bool is_for_good = text.starts_with('-');
    if (is_for_good) text.remove_prefix(1);
    time = duration_of(text);
    if (is_for_good && time) return KeepAlive();
  }
  if (!time) return std::nullopt;
  return KeepAlive{time};
}

}  // namespace

std::optional<KeepAlive> read_keep_alive(JsonFields& fields) {
  const Json* value = fields.member(kKeepAlive);
  if (value == nullptr) return std::nullopt;
  const auto out = keep_alive_of(*value);
  if (!out)
    fields.fail(invalid_argument(
        "[{}] expected a time of at most 365 days, as 300, \"5m\" or \"1h\", or -1, got {}",
        kKeepAlive, describe_json(*value)));
  return out;
}

void read_model(JsonFields& fields, ModelChoice& out) {
  out.keep_alive = read_keep_alive(fields);
  auto model = fields.string("model");
  if (!model) return;
  if (model->empty()) fields.fail(invalid_argument("[model] expected a name, got none"));
  out.model = *std::move(model);
}

}  // namespace anemone::serve
