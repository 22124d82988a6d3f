// SPDX-License-Identifier: Apache-2.0
// What it costs to pick a token of a large vocabulary, by sampling options. How often each token
// comes is checked first against its probability in double precision.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <map>
#include <random>
#include <vector>

#include "engine/sampling/logprobs.h"
#include "engine/sampling/sampler.h"

namespace anemone::engine {
namespace {

constexpr std::size_t kVocabulary = 151'936;  // Qwen2.5
constexpr int kDraws = 4000;
constexpr int kTimed = 201;

struct Case {
  const char* name;
  SamplingOptions options;
};

SamplingOptions sampled(double temperature, std::int64_t top_k, double top_p, double min_p = 0) {
  SamplingOptions options;
  options.greedy = false;
  options.temperature = temperature;
  options.top_k = top_k;
  options.top_p = top_p;
  options.min_p = min_p;
  return options;
}

// A bell curve, whose highest few stand apart.
std::vector<float> make_logits() {
  std::mt19937 engine(1);
  std::vector<float> logits(kVocabulary);
  for (float& logit : logits) {
    float sum = 0;
    for (int i = 0; i < 6; ++i) sum += static_cast<float>(engine() % 4096) / 4096 - 0.5F;
    logit = 5 * sum;
  }
  for (int i = 0; i < 5; ++i) logits[engine() % kVocabulary] = 14 + static_cast<float>(i);
  return logits;
}

// The probability of each token that top-k, top-p and min-p leave.
std::vector<double> probabilities(const std::vector<float>& logits,
                                  const SamplingOptions& options) {
  const auto highest = static_cast<double>(*std::ranges::max_element(logits));
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t i = 0; i < logits.size(); ++i)
    order.emplace_back(std::exp((static_cast<double>(logits[i]) - highest) / options.temperature),
                       i);
  std::ranges::stable_sort(order, std::greater<>(), &std::pair<double, std::size_t>::first);
  const auto top_k = static_cast<std::size_t>(options.top_k);
  if (top_k > 0) order.resize(std::min(order.size(), top_k));
  const auto total = [&] {
    double sum = 0;
    for (const auto& [weight, id] : order) sum += weight;
    return sum;
  };
  const double most = options.top_p * total();
  std::size_t kept = 0;
  for (double sum = 0; kept < order.size() && (kept == 0 || sum < most); ++kept)
    sum += order[kept].first;
  order.resize(kept);
  std::erase_if(order, [&](const auto& entry) { return entry.first < options.min_p; });
  std::vector<double> out(logits.size());
  const double all = total();
  for (const auto& [weight, id] : order) out[id] = weight / all;
  return out;
}

[[noreturn]] void fail(const char* name, const char* what) {
  std::fprintf(stderr, "bench_sampling: %s: %s\n", name, what);
  std::exit(1);
}

void check(const Case& item, const std::vector<float>& logits) {
  Sampler sampler = *Sampler::create(item.options);
  if (item.options.is_greedy()) {
    if (*sampler.sample(logits) != std::ranges::max_element(logits) - logits.begin())
      fail(item.name, "not the highest");
    return;
  }
  const std::vector<double> wanted = probabilities(logits, item.options);
  std::map<std::size_t, int> counts;
  for (int i = 0; i < kDraws; ++i) ++counts[static_cast<std::size_t>(*sampler.sample(logits))];
  for (const auto& [id, count] : counts)
    if (wanted[id] == 0) fail(item.name, "a token that should have been dropped");
  for (std::size_t id = 0; id < wanted.size(); ++id) {
    if (wanted[id] < 0.01) continue;
    // Five standard deviations.
    const double deviation = std::sqrt(kDraws * wanted[id] * (1 - wanted[id]));
    if (std::abs(counts[id] - kDraws * wanted[id]) > 5 * deviation + 1)
      fail(item.name, "a token comes more or less often than its probability says");
  }
}

double now_ms() {
  return 1e3 * static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

void time(const char* name, const std::function<void()>& pick) {
  std::vector<double> times;
  for (int i = 0; i < kTimed; ++i) {
    const double start = now_ms();
    pick();
    times.push_back(now_ms() - start);
  }
  std::ranges::sort(times);
  std::printf("%-42s median %7.3f ms, 95 %% %7.3f ms\n", name, times[times.size() / 2],
              times[times.size() * 95 / 100]);
}

int run() {
  SamplingOptions penalised = sampled(0.7, 20, 0.8);
  penalised.processors.repetition_penalty = 1.1;
  const Case cases[] = {{"greedy", {}},
                        {"temperature 0.7, top-k 20, top-p 0.8", sampled(0.7, 20, 0.8)},
                        {"temperature 1", sampled(1, 0, 1)},
                        {"temperature 1, top-p 0.9", sampled(1, 0, 0.9)},
                        {"temperature 1, min-p 0.05", sampled(1, 0, 1, 0.05)}};
  const std::vector<float> logits = make_logits();
  for (const Case& item : cases) {
    check(item, logits);
    Sampler sampler = *Sampler::create(item.options);
    time(item.name, [&] {
      if (!sampler.sample(logits).ok()) fail(item.name, "no token");
    });
  }
  // Not checked by its frequencies, which change with what was picked.
  Sampler sampler = *Sampler::create(penalised);
  time("the second with a repetition penalty", [&] { (void)sampler.sample(logits); });
  time("log-probabilities of 5 tokens", [&] { (void)token_logprobs(logits, 7, 5); });
  return 0;
}

}  // namespace
}  // namespace anemone::engine

int main() {
  return anemone::engine::run();
}
