// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

#include "grammar/automaton/grammar.h"

namespace anemone::grammar {

// Compiled grammars by what they were made from, so that requests with the same schema share one,
// and with it the masks of TokenMasks. The least recently used ones are dropped. Thread-safe.
class GrammarCache {
 public:
  using Made = Result<std::shared_ptr<const Grammar>>;

  // `max_source_bytes` bounds the texts of the keys, and so the requests that are remembered.
  explicit GrammarCache(std::size_t max_grammars = 64, std::size_t max_source_bytes = 8 << 20)
      : max_grammars_(max_grammars), max_source_bytes_(max_source_bytes) {}

  // The grammar of this key, or that of `make`, which is called without a lock and whose error is
  // returned and not kept. The key has everything that the grammar depends on: the kind of the
  // source, its options and its text.
  Made get(const std::string& key, const std::function<Made()>& make);
  std::size_t size() const;

 private:
  struct Entry {
    std::string key;
    std::shared_ptr<const Grammar> grammar;
  };

  const std::size_t max_grammars_;
  const std::size_t max_source_bytes_;
  mutable std::mutex mutex_;  // guards all below
  std::list<Entry> entries_;  // the most recently used first
  std::unordered_map<std::string_view, std::list<Entry>::iterator> by_key_;
  std::size_t source_bytes_ = 0;
};

}  // namespace anemone::grammar
