// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "grammar/automaton/matcher.h"
#include "grammar/tokens/lazy_automaton.h"
#include "grammar/tokens/token_mask.h"
#include "grammar/tokens/token_trie.h"

namespace anemone::grammar {

struct TokenMaskOptions {
  // Bound of what is kept for later: masks, parts of masks, and the automata of the grammars. While
  // a mask is computed it may be exceeded by half.
  std::size_t max_bytes = std::size_t{64} << 20;
};

struct TokenMaskCounts {
  std::int64_t hits = 0;    // masks that were kept
  std::int64_t misses = 0;  // masks that were put together
  std::int64_t walks = 0;   // parts of masks that took a walk of the whole trie
  std::size_t kept_bytes = 0;
};

// Masks of the tokens that may follow a text, for all requests of one model.
//
// A mask is put together from one part for each configuration of the matcher. A part depends on
// the state within its rule, and not on the stack below: a walk of the trie finds the tokens that
// the rule takes, and the nodes of the trie at which the rule ends. From these nodes, which are
// few, the walk goes on with the stack of the request. So the part of a string's inside is computed
// once, however deep the string lies. Parts and whole masks are kept, the least recently used ones
// are dropped.
//
// Thread-safe: one mask is computed at a time.
class TokenMasks {
 public:
  explicit TokenMasks(std::shared_ptr<const TokenTrie> trie, const TokenMaskOptions& options = {});

  // The tokens whose bytes the matcher would accept, and the end-of-sequence tokens if the text is
  // complete. kInvalidArgument if there is none and the text is not complete, with the rules that
  // expect more; kUnsupported if the grammar is too ambiguous.
  Result<std::shared_ptr<const TokenMask>> mask(const GrammarMatcher& matcher);

  const TokenTrie& trie() const { return *trie_; }
  TokenMaskCounts counts() const;

 private:
  // What a state does without its stack.
  struct Part {
    std::vector<std::int32_t> few;          // the tokens, if they are few
    std::shared_ptr<const TokenMask> many;  // otherwise
    bool is_deep = false;                   // a token may nest so deep that the limit matters
    std::vector<std::uint32_t> rule_ends;   // nodes of the trie
  };
  struct Entry {
    std::shared_ptr<const TokenMask> mask;  // a whole one, or else
    std::shared_ptr<const Part> part;
    std::size_t bytes = 0;
    std::list<Hash128>::iterator use;
  };
  struct Automaton {
    explicit Automaton(std::shared_ptr<const Grammar> grammar) : lazy(std::move(grammar)) {}
    LazyAutomaton lazy;
    std::uint64_t last_use = 0;
  };
  using StateId = LazyAutomaton::StateId;

  Automaton& automaton_of(const std::shared_ptr<const Grammar>& grammar);
  const Entry* find(const Hash128& key);
  void keep(const Hash128& key, Entry entry);
  void make_room();
  Status check_work(LazyAutomaton& lazy, std::size_t work_before) const;

  // Visits the nodes below `top` that the automaton takes from `state`.
  template <typename Visit>
  Status walk(LazyAutomaton& lazy, std::uint32_t top, StateId state, const Visit& visit);
  Result<std::shared_ptr<const Part>> part_of(LazyAutomaton& lazy, std::uint32_t state,
                                              std::vector<Frame> rounds);
  // Allows the tokens that a walk meets.
  Status add_walk(LazyAutomaton& lazy, std::uint32_t top, StateId state, TokenMask& mask);
  Status add_config(LazyAutomaton& lazy, const Config& config, const Stack& stack,
                    std::vector<Frame>& rounds, TokenMask& mask);
  Result<std::shared_ptr<const TokenMask>> compute(LazyAutomaton& lazy, const ParserState& state);

  const std::shared_ptr<const TokenTrie> trie_;
  const TokenMaskOptions options_;
  mutable std::mutex mutex_;                                                // guards all below
  std::unordered_map<std::uint64_t, std::unique_ptr<Automaton>> automata_;  // by grammar id
  std::unordered_map<Hash128, Entry, Hash128Hasher> entries_;
  std::list<Hash128> uses_;  // the most recent first
  std::size_t entry_bytes_ = 0;
  std::uint64_t clock_ = 0;
  std::vector<StateId> path_;  // of a walk, by depth
  TokenMaskCounts counts_;
};

}  // namespace anemone::grammar
