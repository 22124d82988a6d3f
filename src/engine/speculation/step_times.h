// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace anemone::engine {

// How long steps of one model take by their number of tokens, as measured. Single-thread.
class StepTimes {
 public:
  // A step of `tokens` >= 1 tokens took so many seconds.
  void add(std::int64_t tokens, double seconds);
  // Seconds that a step of so many tokens is expected to take: the median of the last such steps,
  // else a value between those of the next shorter and the next longer ones, else that of the next
  // ones and a little more or less for each token. 0 when nothing was measured.
  double expected(std::int64_t tokens) const;

 private:
  // Steps of more tokens count as ones of so many.
  static constexpr std::size_t kMostTokens = 64;
  // Few, as times change with the length of the texts and with what else the machine does.
  static constexpr std::size_t kKept = 5;
  struct Times {
    std::array<double, kKept> last{};
    std::size_t count = 0;  // of all that were added
    double median() const;
  };
  static std::size_t index_of(std::int64_t tokens);

  std::vector<Times> times_ = std::vector<Times>(kMostTokens + 1);  // [tokens]
};

}  // namespace anemone::engine
