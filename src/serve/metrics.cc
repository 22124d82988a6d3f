// SPDX-License-Identifier: Apache-2.0
#include "serve/metrics.h"

#include <algorithm>
#include <fmt/format.h>
#include <functional>

namespace anemone::serve {
namespace {

// Seconds. Small models on a fast machine give a token per millisecond, large ones one per second.
constexpr std::array kTokenSeconds = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15,
                                      0.2,   0.3,    0.4,   0.5,  0.75,  1.0,  2.5,   5.0, 10.0};
constexpr std::array kFirstTokenSeconds = {0.001, 0.005, 0.01, 0.02, 0.04, 0.06,  0.08,
                                           0.1,   0.25,  0.5,  0.75, 1.0,  2.5,   5.0,
                                           7.5,   10.0,  20.0, 40.0, 80.0, 160.0, 640.0};
constexpr std::array kRequestSeconds = {0.01, 0.05, 0.1,  0.3,  0.5,  0.8,  1.0,   1.5,
                                        2.0,  2.5,  5.0,  10.0, 15.0, 20.0, 30.0,  40.0,
                                        50.0, 60.0, 120., 240., 480., 960., 1920., 7680.};
constexpr std::array kTokens = {1.,   2.,    5.,    10.,   20.,    50.,    100.,   200.,
                                500., 1000., 2000., 5000., 10000., 20000., 50000., 100000.};
constexpr std::array<std::string_view, 4> kEndNames = {"stop", "length", "abort", "error"};

// A value of a label: \, " and line ends are escaped.
std::string label_value(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || c == '"') out += '\\';
    out += c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  return out;
}

void print_head(std::string_view name, std::string_view type, std::string_view help,
                std::string& out) {
  out += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
}

// What vLLM, which serves one model, has no names for.
void print_models(const std::vector<ModelInfo>& models, std::string& out) {
  if (models.empty()) return;
  const auto each = [&](std::string_view name, std::string_view type, std::string_view help,
                        const auto& value_of) {
    print_head(name, type, help, out);
    for (const ModelInfo& model : models)
      out += fmt::format("{}{{model_name=\"{}\"}} {}\n", name, label_value(model.names.front()),
                         value_of(model));
  };
  each("anemone:model_loaded", "gauge", "Whether the model is loaded.",
       [](const ModelInfo& model) { return model.state == ModelState::kLoaded ? 1 : 0; });
  each("anemone:model_bytes", "gauge", "Bytes of the files of a model that is loaded.",
       [](const ModelInfo& model) { return model.bytes; });
  each("anemone:model_loads_total", "counter", "Loads of the model.",
       [](const ModelInfo& model) { return model.loads; });
  each("anemone:model_load_failures_total", "counter", "Loads of the model that failed.",
       [](const ModelInfo& model) { return model.failed_loads; });
  each("anemone:model_unloads_total", "counter", "Unloads of the model.",
       [](const ModelInfo& model) { return model.unloads; });
  each("anemone:model_load_seconds_total", "counter", "Seconds that the loads took together.",
       [](const ModelInfo& model) { return model.load_seconds; });
}

}  // namespace

void Histogram::observe(double value) {
  const auto bound = std::ranges::lower_bound(bounds_, value);
  if (bound != bounds_.end()) ++counts_[static_cast<std::size_t>(bound - bounds_.begin())];
  ++count_;
  sum_ += value;
}

void Histogram::print(std::string_view name, std::string_view labels, std::string& out) const {
  std::uint64_t below = 0;
  for (std::size_t i = 0; i < bounds_.size(); ++i) {
    below += counts_[i];
    out += fmt::format("{}_bucket{{{},le=\"{}\"}} {}\n", name, labels, bounds_[i], below);
  }
  out += fmt::format("{}_bucket{{{},le=\"+Inf\"}} {}\n", name, labels, count_);
  out +=
      fmt::format("{}_sum{{{}}} {}\n{}_count{{{}}} {}\n", name, labels, sum_, name, labels, count_);
}

ModelMetrics::ModelMetrics()
    : first_token_(kFirstTokenSeconds),
      next_token_(kTokenSeconds),
      request_(kRequestSeconds),
      prompt_length_(kTokens),
      generation_length_(kTokens) {}

void ModelMetrics::first_token(double seconds_since_submit) {
  const std::lock_guard lock(mutex_);
  first_token_.observe(seconds_since_submit);
}

void ModelMetrics::next_token(double seconds_since_the_last) {
  const std::lock_guard lock(mutex_);
  next_token_.observe(seconds_since_the_last);
}

void ModelMetrics::text_ended(std::int64_t prompt_tokens, std::int64_t cached_tokens,
                              std::int64_t new_tokens) {
  const std::lock_guard lock(mutex_);
  prompt_tokens_ += static_cast<std::uint64_t>(prompt_tokens);
  looked_up_tokens_ += static_cast<std::uint64_t>(prompt_tokens);
  cached_tokens_ += static_cast<std::uint64_t>(cached_tokens);
  generation_tokens_ += static_cast<std::uint64_t>(new_tokens);
  if (prompt_tokens > 0) prompt_length_.observe(static_cast<double>(prompt_tokens));
  generation_length_.observe(static_cast<double>(new_tokens));
}

void ModelMetrics::inputs_read(std::int64_t tokens) {
  const std::lock_guard lock(mutex_);
  prompt_tokens_ += static_cast<std::uint64_t>(tokens);
}

void ModelMetrics::request_ended(RequestEnd end, double seconds) {
  const std::lock_guard lock(mutex_);
  ++ends_[static_cast<std::size_t>(end)];
  request_.observe(seconds);
}

Metrics::Metrics(const std::vector<std::string>& models) {
  for (const std::string& model : models) models_.try_emplace(model);
}

std::string Metrics::text(const engine::Engine::Counts& counts,
                          const std::vector<ModelInfo>& models) const {
  std::string out;
  std::string all;
  for (const auto& [name, model] : models_) all += (all.empty() ? "" : ",") + name;
  const auto gauge = [&](std::string_view name, std::string_view help, auto value) {
    print_head(name, "gauge", help, out);
    out += fmt::format("{}{{model_name=\"{}\"}} {}\n", name, label_value(all), value);
  };
  // One engine runs the texts of all models.
  gauge("vllm:num_requests_running", "Requests that are being answered.", counts.running);
  gauge("vllm:num_requests_waiting", "Requests that wait.", counts.waiting);
  gauge("vllm:kv_cache_usage_perc", "Caches of running texts; 1 means all memory for caches.",
        counts.max_cache_bytes == 0 ? 0.0
                                    : static_cast<double>(counts.cache_bytes) /
                                          static_cast<double>(counts.max_cache_bytes));

  const auto each = [&](std::string_view name, std::string_view type, std::string_view help,
                        const std::function<void(const ModelMetrics&, const std::string&)>& print) {
    print_head(name, type, help, out);
    for (const auto& [model, metrics] : models_) {
      const std::lock_guard lock(metrics.mutex_);
      print(metrics, fmt::format("model_name=\"{}\"", label_value(model)));
    }
  };
  const auto counter = [&](std::string_view name, std::string_view help, auto member) {
    each(name, "counter", help, [&](const ModelMetrics& metrics, const std::string& labels) {
      out += fmt::format("{}{{{}}} {}\n", name, labels, metrics.*member);
    });
  };
  const auto histogram = [&](std::string_view name, std::string_view help, auto member) {
    each(name, "histogram", help, [&](const ModelMetrics& metrics, const std::string& labels) {
      (metrics.*member).print(name, labels, out);
    });
  };
  counter("vllm:prompt_tokens_total", "Tokens of prompts.", &ModelMetrics::prompt_tokens_);
  counter("vllm:generation_tokens_total", "Tokens that were made.",
          &ModelMetrics::generation_tokens_);
  counter("vllm:prefix_cache_queries_total", "Tokens of prompts that were looked for in caches.",
          &ModelMetrics::looked_up_tokens_);
  counter("vllm:prefix_cache_hits_total", "Tokens of prompts that were found in caches.",
          &ModelMetrics::cached_tokens_);
  constexpr std::string_view kEnds = "vllm:request_success_total";
  each(kEnds, "counter", "Requests that have ended, by their reason.",
       [&](const ModelMetrics& metrics, const std::string& labels) {
         for (std::size_t i = 0; i < kEndNames.size(); ++i)
           out += fmt::format("{}{{{},finished_reason=\"{}\"}} {}\n", kEnds, labels, kEndNames[i],
                              metrics.ends_[i]);
       });
  histogram("vllm:time_to_first_token_seconds", "From the request to the first token of a text.",
            &ModelMetrics::first_token_);
  histogram("vllm:inter_token_latency_seconds", "Between two tokens of a text.",
            &ModelMetrics::next_token_);
  histogram("vllm:e2e_request_latency_seconds", "From the request to the end of its answer.",
            &ModelMetrics::request_);
  histogram("vllm:request_prompt_tokens", "Tokens of a prompt.", &ModelMetrics::prompt_length_);
  histogram("vllm:request_generation_tokens", "Tokens of a text that was made.",
            &ModelMetrics::generation_length_);
  print_models(models, out);
  return out;
}

}  // namespace anemone::serve
