// SPDX-License-Identifier: Apache-2.0
#include "text/tokenizer/split_behavior.h"

#include <algorithm>

#include "base/error.h"

namespace anemone::text {
namespace {

// Takes the spans of a text in order, as matched or not, and forms the parts, for which there is
// room.
class PartBuilder {
 public:
  PartBuilder(const Piece& piece, SplitBehavior behavior, ChargedVector<Piece>& parts)
      : piece_(piece), behavior_(behavior), parts_(parts), first_(parts.size()) {}

  void add(Match span, bool matched) {
    switch (behavior_) {
      case SplitBehavior::kIsolated:
        append(span);
        break;
      case SplitBehavior::kRemoved:
        if (!matched) append(span);
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
  void append(Match span) {
    parts_.push_back({piece_.text.substr(span.begin, span.end - span.begin),
                      piece_.at_start && span.begin == 0});
  }
  void join_if(bool join, Match span) {
    if (!join || parts_.size() == first_) return append(span);
    std::string_view& text = parts_.back().text;
    text = {text.data(), text.size() + (span.end - span.begin)};  // the spans touch
  }

  const Piece& piece_;
  SplitBehavior behavior_;
  ChargedVector<Piece>& parts_;
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

Status split_around(const Piece& piece, const ChargedVector<Match>& matches, SplitBehavior behavior,
                    bool invert, ChargedVector<Piece>& parts) {
  const std::size_t size = piece.text.size();
  ANEMONE_RETURN_IF_ERROR(parts.make_room(std::min(size, 2 * matches.size() + 1)));
  PartBuilder builder(piece, behavior, parts);
  std::size_t last = 0;
  for (const Match& match : matches) {
    if (match.begin > last) builder.add({last, match.begin}, invert);
    if (match.end > match.begin) builder.add(match, !invert);
    last = match.end;
  }
  if (last < size) builder.add({last, size}, invert);
  return ok_status();
}

}  // namespace anemone::text
