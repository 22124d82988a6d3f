// SPDX-License-Identifier: Apache-2.0
#include "grammar/grammar_cache.h"

namespace anemone::grammar {

GrammarCache::Made GrammarCache::get(const std::string& key, const std::function<Made()>& make) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = by_key_.find(key); found != by_key_.end()) {
      entries_.splice(entries_.begin(), entries_, found->second);
      return found->second->grammar;
    }
  }
  Made made = make();
  if (!made.ok() || key.size() > max_source_bytes_) return made;
  const std::lock_guard lock(mutex_);
  // Another thread may have made it meanwhile: all use one, and one set of masks.
  if (const auto found = by_key_.find(key); found != by_key_.end()) return found->second->grammar;
  entries_.push_front({key, *made});
  by_key_.emplace(entries_.front().key, entries_.begin());
  source_bytes_ += key.size();
  while (entries_.size() > max_grammars_ || source_bytes_ > max_source_bytes_) {
    source_bytes_ -= entries_.back().key.size();
    by_key_.erase(entries_.back().key);
    entries_.pop_back();
  }
  return made;
}

std::size_t GrammarCache::size() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

}  // namespace anemone::grammar
