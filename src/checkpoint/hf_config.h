// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace anemone::checkpoint {

// Rotary embedding settings, from either dialect of the file: `rope_theta` + `rope_scaling`
// (transformers 4, with `type` or `rope_type` inside) or `rope_parameters` (transformers 5, theta
// inside). All layers share it: a file with one dictionary per kind of layer is kUnsupported.
struct RopeSettings {
  std::string type = "default";  // default, linear, dynamic, llama3, yarn, longrope, ...
  double theta = 10000;
  double partial_rotary_factor = 1;
  JsonDocument parameters;  // all members of the dictionary, for the generator of that type

  // A number of `parameters`; nullopt when absent.
  Result<std::optional<double>> number(std::string_view key) const;
};

// config.json of a Hugging Face checkpoint with checked access. A config class of transformers may
// leave a value out of the file if it is the class's default; the caller passes that default as
// `fallback`. A null is an error where a value is required, as in transformers, and the same as an
// absent key where the value is optional.
class HfConfig {
 public:
  static Result<HfConfig> read(const std::string& path);
  static Result<HfConfig> from_json(Json json, std::string subject);

  const std::string& model_type() const { return model_type_; }
  const std::string& subject() const { return subject_; }
  const Json& json() const { return *json_; }
  // Whether the key is present and not null.
  bool has(std::string_view key) const { return json_member(*json_, key) != nullptr; }
  // Whether the key is present with the value null, which differs from absent for some keys:
  // "num_key_value_heads": null means one per head.
  bool is_null(std::string_view key) const;

  // A size or count: at least 1, at most 2^31 - 1; kParseError naming the key otherwise. An absent
  // key is an error without a fallback.
  Result<std::int64_t> size(std::string_view key) const;
  Result<std::int64_t> size(std::string_view key, std::int64_t fallback) const;
  Result<double> number(std::string_view key, double fallback) const;
  Result<bool> boolean(std::string_view key, bool fallback) const;
  Result<std::string> text(std::string_view key, std::string_view fallback) const;
  // Integer or null: nullopt when absent or null.
  Result<std::optional<std::int64_t>> optional_integer(std::string_view key) const;
  // A list of integers or strings; nullopt when absent or null.
  Result<std::optional<std::vector<std::int64_t>>> integers(std::string_view key) const;
  Result<std::optional<std::vector<std::string>>> texts(std::string_view key) const;
  // One id or a list of ids (eos_token_id); empty when absent.
  Result<std::vector<std::int64_t>> token_ids(std::string_view key) const;

  // quant_method of quantization_config: "mxfp4" (checkpoint/mxfp4.h), "fp8" (checkpoint/fp8.h) or
  // another; "nvfp4" (checkpoint/nvfp4.h) where two methods have another name for it; "none" where
  // it has none. nullopt without a quantization_config.
  std::optional<std::string> quantization() const;

  // kParseError when the key is there and null.
  Status refuse_null(std::string_view key) const;

  // `default_theta` is the class default.
  Result<RopeSettings> rope(double default_theta) const;

 private:
  JsonDocument json_;
  std::string subject_;
  std::string model_type_;
};

}  // namespace anemone::checkpoint
