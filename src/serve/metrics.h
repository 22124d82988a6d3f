// SPDX-License-Identifier: Apache-2.0
// What the server counts for Prometheus, under the names that vLLM gives to the same things, so
// that dashboards made for it work.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/loop/engine.h"
#include "serve/model_pool.h"

namespace anemone::serve {

// Counts of values below fixed bounds. Single-thread.
class Histogram {
 public:
  // Upper bounds in ascending order; they outlive the histogram.
  explicit Histogram(std::span<const double> bounds) : bounds_(bounds), counts_(bounds.size()) {}

  void observe(double value);
  // Adds its lines in the text format of Prometheus; `labels` are those of each line.
  void print(std::string_view name, std::string_view labels, std::string& out) const;

 private:
  std::span<const double> bounds_;
  std::vector<std::uint64_t> counts_;  // of values up to a bound and above the one before
  std::uint64_t count_ = 0;
  double sum_ = 0;
};

// How a request ended, as vLLM names it.
enum class RequestEnd { kStop, kLength, kAbort, kError };

// What was observed of one model. Thread-safe; its calls take no time to speak of.
class ModelMetrics {
 public:
  ModelMetrics();

  void first_token(double seconds_since_submit);
  void next_token(double seconds_since_the_last);
  // One text of an answer. A prompt counts with its first text alone; `prompt_tokens` is 0 for the
  // others.
  void text_ended(std::int64_t prompt_tokens, std::int64_t cached_tokens, std::int64_t new_tokens);
  // Input tokens of embedding and label requests.
  void inputs_read(std::int64_t tokens);
  // The answer to a request as a whole.
  void request_ended(RequestEnd end, double seconds);

 private:
  friend class Metrics;
  mutable std::mutex mutex_;
  std::uint64_t prompt_tokens_ = 0;
  std::uint64_t looked_up_tokens_ = 0;  // of prompts that are looked for in caches
  std::uint64_t cached_tokens_ = 0;
  std::uint64_t generation_tokens_ = 0;
  std::array<std::uint64_t, 4> ends_ = {};  // by RequestEnd
  Histogram first_token_;
  Histogram next_token_;
  Histogram request_;
  Histogram prompt_length_;
  Histogram generation_length_;
};

// The metrics of all models of a server. Thread-safe.
class Metrics {
 public:
  // One name per model; each has its metrics under it.
  explicit Metrics(const std::vector<std::string>& models);

  ModelMetrics& of(const std::string& model) { return models_.at(model); }
  // The text format of Prometheus, version 0.0.4.
  std::string text(const engine::Engine::Counts& counts,
                   const std::vector<ModelInfo>& models = {}) const;

 private:
  std::map<std::string, ModelMetrics> models_;
};

}  // namespace anemone::serve
