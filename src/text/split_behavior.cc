// SPDX-License-Identifier: Apache-2.0
#include "text/split_behavior.h"

#include "base/error.h"

namespace anemone::text {
namespace {

// Takes the spans of a text in order, as matched or not, and forms the parts.
class PartBuilder {
 public:
  PartBuilder(SplitBehavior behavior, std::vector<Match>& parts)
      : behavior_(behavior), parts_(parts), first_(parts.size()) {}

  void add(Match span, bool matched) {
    switch (behavior_) {
      case SplitBehavior::kIsolated:
        parts_.push_back(span);
        break;
      case SplitBehavior::kRemoved:
        if (!matched) parts_.push_back(span);
        break;
      case SplitBehavior::kContiguous:
        join_if(matched == previous_, span);
        break;
      case SplitBehavior::kMergedWithPrevious:
        join_if(matched && !previous_, span);
        break;
      case SplitBehavior::kMergedWithNext:
        // A match waits for the text after it; another match after it leaves it alone.
        join_if(!matched && previous_, span);
        break;
    }
    previous_ = matched;
  }

 private:
  void join_if(bool join, Match span) {
    if (join && parts_.size() > first_)
      parts_.back().end = span.end;
    else
      parts_.push_back(span);
  }

  SplitBehavior behavior_;
  std::vector<Match>& parts_;
  std::size_t first_;
  bool previous_ = false;
};

}  // namespace

Result<SplitBehavior> parse_split_behavior(std::string_view name) {
  if (name == "Removed") return SplitBehavior::kRemoved;
  if (name == "Isolated") return SplitBehavior::kIsolated;
  if (name == "MergedWithPrevious") return SplitBehavior::kMergedWithPrevious;
  if (name == "MergedWithNext") return SplitBehavior::kMergedWithNext;
  if (name == "Contiguous") return SplitBehavior::kContiguous;
  return parse_error("[pre_tokenizer Split] expected a known behavior, got {}", name);
}

void split_around(std::size_t size, const std::vector<Match>& matches, SplitBehavior behavior,
                  bool invert, std::vector<Match>& parts) {
  PartBuilder builder(behavior, parts);
  std::size_t last = 0;
  for (const Match& match : matches) {
    if (match.begin > last) builder.add({last, match.begin}, invert);
    if (match.end > match.begin) builder.add(match, !invert);
    last = match.end;
  }
  if (last < size) builder.add({last, size}, invert);
}

}  // namespace anemone::text
