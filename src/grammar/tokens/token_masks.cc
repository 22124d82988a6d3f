// SPDX-License-Identifier: Apache-2.0
#include "grammar/tokens/token_masks.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace anemone::grammar {
namespace {

// Parts of so many tokens or fewer are lists.
constexpr std::size_t kFewTokens = 2048;
// A state of more configurations is walked as a whole: its automaton unites what they share, such
// as the names of many properties that begin alike, and each part would be a walk of its own.
constexpr std::size_t kMaxPartsOfState = 16;
// Where the limit on the depth of stacks may matter, a part, which knows no depth, would allow
// tokens that the matcher refuses.
constexpr std::size_t kMaxPartDepth = kMaxStackDepth / 2;
// Visits of the stepper for one mask: about a second.
constexpr std::size_t kMaxMaskWork = 5'000'000;
constexpr std::size_t kEntryBytes = 256;  // of an entry beside what it holds

enum class KeyKind : std::uint64_t { kMask, kPart };

Hash128 key_of(KeyKind kind, const Grammar& grammar) {
  Hash128 key;
  key.mix(static_cast<std::uint64_t>(kind));
  key.mix(grammar.id());
  return key;
}

// Rounds which no token can tell from `rounds`: it is further away from both limits of the loop
// than a token has bytes.
std::uint64_t equivalent_rounds(const Loop& loop, std::uint64_t rounds, std::uint64_t reach) {
  if (loop.most != kUnbounded && loop.most - rounds <= reach) return rounds;
  if (rounds >= loop.least) return loop.least;
  return loop.least - rounds > reach && (loop.most == kUnbounded || loop.most > reach) ? 0 : rounds;
}

}  // namespace

TokenMasks::TokenMasks(std::shared_ptr<const TokenTrie> trie, const TokenMaskOptions& options)
    : trie_(std::move(trie)), options_(options), path_(trie_->max_token_bytes() + 1) {}

TokenMaskCounts TokenMasks::counts() const {
  const std::lock_guard lock(mutex_);
  TokenMaskCounts counts = counts_;
  counts.kept_bytes = entry_bytes_;
  for (const auto& [id, automaton] : automata_) counts.kept_bytes += automaton->lazy.byte_size();
  return counts;
}

TokenMasks::Automaton& TokenMasks::automaton_of(const std::shared_ptr<const Grammar>& grammar) {
  std::unique_ptr<Automaton>& automaton = automata_[grammar->id()];
  if (!automaton) automaton = std::make_unique<Automaton>(grammar);
  automaton->last_use = ++clock_;
  return *automaton;
}

const TokenMasks::Entry* TokenMasks::find(const Hash128& key) {
  const auto found = entries_.find(key);
  if (found == entries_.end()) return nullptr;
  uses_.splice(uses_.begin(), uses_, found->second.use);
  return &found->second;
}

void TokenMasks::keep(const Hash128& key, Entry entry) {
  entry.bytes += kEntryBytes;
  uses_.push_front(key);
  entry.use = uses_.begin();
  entry_bytes_ += entry.bytes;
  entries_.insert_or_assign(key, std::move(entry));
}

void TokenMasks::make_room() {
  // Automata get half of the memory, so that a few large grammars do not push out the masks.
  std::size_t automata_bytes = 0;
  for (const auto& [id, automaton] : automata_) automata_bytes += automaton->lazy.byte_size();
  while (automata_bytes > options_.max_bytes / 2) {
    const auto oldest = std::min_element(
        automata_.begin(), automata_.end(),
        [](const auto& a, const auto& b) { return a.second->last_use < b.second->last_use; });
    automata_bytes -= oldest->second->lazy.byte_size();
    automata_.erase(oldest);
  }
  while (!uses_.empty() && entry_bytes_ > options_.max_bytes / 2) {
    const auto oldest = entries_.find(uses_.back());
    entry_bytes_ -= oldest->second.bytes;
    entries_.erase(oldest);
    uses_.pop_back();
  }
}

Status TokenMasks::check_work(LazyAutomaton& lazy, std::size_t work_before) const {
  if (!lazy.is_too_ambiguous() && lazy.byte_size() <= options_.max_bytes &&
      lazy.stepper().work() - work_before <= kMaxMaskWork)
    return {};
  return unsupported(
      "[grammar] expected one that can be followed in few ways, got an ambiguous one");
}

template <typename Visit>
Status TokenMasks::walk(LazyAutomaton& lazy, std::uint32_t top, StateId state, const Visit& visit) {
  const std::vector<TokenTrie::Node>& nodes = trie_->nodes();
  const std::size_t work_before = lazy.stepper().work();
  path_[nodes[top].depth] = state;
  const std::uint32_t end = nodes[top].end;
  for (std::uint32_t at = top + 1; at < end;) {
    const TokenTrie::Node& node = nodes[at];
    const StateId next = lazy.next(path_[node.depth - 1U], node.byte);
    if (next == LazyAutomaton::kDead) {
      at = node.end;
      if (lazy.is_too_ambiguous()) break;
      continue;
    }
    path_[node.depth] = next;
    visit(at, node, next);
    ++at;
    if (lazy.stepper().work() - work_before > kMaxMaskWork) break;
  }
  return check_work(lazy, work_before);
}

Result<std::shared_ptr<const TokenMasks::Part>> TokenMasks::part_of(LazyAutomaton& lazy,
                                                                    std::uint32_t state,
                                                                    std::vector<Frame> rounds) {
  Hash128 key = key_of(KeyKind::kPart, lazy.grammar());
  key.mix(state);
  StackPtr stack = Stack::unknown();
  for (auto frame = rounds.rbegin(); frame != rounds.rend(); ++frame) {
    frame->rounds = equivalent_rounds(lazy.grammar().loop(frame->place), frame->rounds,
                                      trie_->max_token_bytes());
    frame->below = stack;
    stack = Stack::push(*frame);
  }
  key.mix(stack->hash());
  if (const Entry* entry = find(key)) return entry->part;

  ++counts_.walks;
  const auto part = std::make_shared<Part>();
  std::vector<std::int32_t>& tokens = part->few;
  const Config config{state, std::move(stack)};
  const StateId start = lazy.intern(lazy.stepper().close({&config, 1}));
  ANEMONE_RETURN_IF_ERROR(
      walk(lazy, 0, start, [&](std::uint32_t at, const TokenTrie::Node& node, StateId next) {
        if (node.token >= 0) tokens.push_back(node.token);
        if (node.has_more_tokens)
          for (const auto& [same, token] : trie_->more_tokens(at)) tokens.push_back(token);
        part->is_deep |= lazy.depth(next) > kMaxPartDepth;
        if (lazy.meets_unknown(next) && node.end > at + 1) part->rule_ends.push_back(at);
      }));
  Entry entry;
  if (tokens.size() > kFewTokens) {
    const auto mask = std::make_shared<TokenMask>(trie_->vocab_size());
    for (const std::int32_t token : tokens) mask->allow(token);
    entry.bytes = mask->byte_size();
    part->many = mask;
    tokens = {};
  }
  tokens.shrink_to_fit();
  part->rule_ends.shrink_to_fit();
  entry.bytes += (tokens.size() + part->rule_ends.size()) * sizeof(std::uint32_t);
  entry.part = part;
  keep(key, entry);
  return std::shared_ptr<const Part>(part);
}

Status TokenMasks::add_walk(LazyAutomaton& lazy, std::uint32_t top, StateId state,
                            TokenMask& mask) {
  return walk(lazy, top, state, [&](std::uint32_t at, const TokenTrie::Node& node, StateId) {
    if (node.token >= 0) mask.allow(node.token);
    if (node.has_more_tokens)
      for (const auto& [same, token] : trie_->more_tokens(at)) mask.allow(token);
  });
}

Status TokenMasks::add_config(LazyAutomaton& lazy, const Config& config, const Stack& stack,
                              std::vector<Frame>& rounds, TokenMask& mask) {
  std::vector<Config> returns;
  for (const Frame& frame : stack.frames()) {
    if (frame.is_loop) {
      rounds.push_back(frame);
      ANEMONE_RETURN_IF_ERROR(add_config(lazy, config, *frame.below, rounds, mask));
      rounds.pop_back();
    } else {
      returns.push_back({frame.place, frame.below});
    }
  }
  if (returns.empty() && !stack.has_bottom()) return {};
  ANEMONE_ASSIGN_OR_RETURN(const auto part, part_of(lazy, config.state, rounds));
  if (part->is_deep)
    return add_walk(lazy, 0, lazy.intern(lazy.stepper().close({&config, 1})), mask);
  if (part->many) mask.allow_all_of(*part->many);
  for (const std::int32_t token : part->few) mask.allow(token);
  if (part->rule_ends.empty() || returns.empty()) return {};
  const StateId after = lazy.intern(lazy.stepper().close(returns));
  for (const std::uint32_t node : part->rule_ends)
    ANEMONE_RETURN_IF_ERROR(add_walk(lazy, node, after, mask));
  return {};
}

Result<std::shared_ptr<const TokenMask>> TokenMasks::compute(LazyAutomaton& lazy,
                                                             const ParserState& state) {
  const auto mask = std::make_shared<TokenMask>(trie_->vocab_size());
  const std::size_t work_before = lazy.stepper().work();
  const bool is_walked_whole =
      state.configs.size() > kMaxPartsOfState ||
      std::any_of(state.configs.begin(), state.configs.end(),
                  [](const Config& config) { return config.stack->depth() > kMaxPartDepth; });
  if (is_walked_whole) {
    ++counts_.walks;
    ANEMONE_RETURN_IF_ERROR(add_walk(lazy, 0, lazy.intern(state), *mask));
  }
  for (const Config& config : state.configs) {
    if (is_walked_whole) break;
    std::vector<Frame> rounds;
    ANEMONE_RETURN_IF_ERROR(add_config(lazy, config, *config.stack, rounds, *mask));
    ANEMONE_RETURN_IF_ERROR(check_work(lazy, work_before));
  }
  if (state.is_complete)
    for (const std::int32_t id : trie_->eos_ids()) mask->allow(id);
  if (!state.is_complete && mask->is_empty()) {
    std::string rules;
    for (std::size_t i = 0; i < state.configs.size() && i < 3; ++i) {
      const std::string_view rule = lazy.grammar().rule_of(state.configs[i].state);
      if (rules.find(rule) != rules.npos) continue;
      rules += (rules.empty() ? "" : ", ") + std::string(rule);
    }
    return invalid_argument(
        "[grammar] expected a token that continues the text, got none (rule {})", rules);
  }
  return std::shared_ptr<const TokenMask>(mask);
}

Result<std::shared_ptr<const TokenMask>> TokenMasks::mask(const GrammarMatcher& matcher) {
  const std::lock_guard lock(mutex_);
  Hash128 key = key_of(KeyKind::kMask, *matcher.grammar());
  key.mix(matcher.state().hash);
  if (const Entry* entry = find(key)) {
    ++counts_.hits;
    return entry->mask;
  }
  ++counts_.misses;
  Automaton& automaton = automaton_of(matcher.grammar());
  const bool has_old_states = automaton.lazy.byte_size() > 0;
  auto mask = compute(automaton.lazy, matcher.state());
  if (!mask.ok() && has_old_states) {
    // The states of earlier masks may have left too little room for those of this one.
    automaton.lazy.clear();
    mask = compute(automaton.lazy, matcher.state());
  }
  if (mask.ok()) {
    Entry entry;
    entry.mask = *mask;
    entry.bytes = (*mask)->byte_size();
    keep(key, entry);
  } else {
    automata_.erase(matcher.grammar()->id());
  }
  make_room();
  return mask;
}

}  // namespace anemone::grammar
