// SPDX-License-Identifier: Apache-2.0
#include "text/tokenizer/pre_tokenizer.h"

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/error.h"
#include "text/tokenizer/pattern.h"
#include "text/tokenizer/split_behavior.h"
#include "text/unicode.h"
#include "text/utf8.h"

namespace anemone::text {
namespace {

using PreTokenizerPtr = std::unique_ptr<const PreTokenizer>;

// The regex of ByteLevel's use_regex (GPT-2).
constexpr std::string_view kByteLevelPattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

constexpr std::size_t kCutUnits = 50;  // of the work on a piece, whatever its length

// Replaces each piece by its parts around the matches that `find` reports.
Status split_pieces(PieceList& list, SplitBehavior behavior, bool invert, WorkBudget& work,
                    const std::function<Status(std::string_view, ChargedVector<Match>&)>& find) {
  ChargedVector<Piece> out(work);
  ChargedVector<Match> matches(work);
  for (const Piece& piece : list.pieces) {
    matches.clear();
    ANEMONE_RETURN_IF_ERROR(work.spend(kCutUnits + 2 * piece.text.size()));
    ANEMONE_RETURN_IF_ERROR(find(piece.text, matches));
    ANEMONE_RETURN_IF_ERROR(split_around(piece, matches, behavior, invert, out));
  }
  list.pieces = std::move(out);
  return ok_status();
}

// Gives each piece the text that `write` appends for it, never an empty one. What an earlier step
// wrote is freed.
Status rewrite_pieces(PieceList& list, WorkBudget& work,
                      const std::function<Status(const Piece&, ChargedVector<char>&)>& write) {
  ChargedVector<char> changed(work);
  ChargedVector<std::size_t> ends(work);
  ANEMONE_RETURN_IF_ERROR(ends.make_room(list.pieces.size()));
  for (const Piece& piece : list.pieces) {
    ANEMONE_RETURN_IF_ERROR(work.spend(kCutUnits + 2 * piece.text.size()));
    ANEMONE_RETURN_IF_ERROR(write(piece, changed));
    ends.push_back(changed.size());
  }
  list.changed = std::move(changed);
  std::size_t begin = 0;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    list.pieces[i].text = {list.changed.data() + begin, ends[i] - begin};
    begin = ends[i];
  }
  return ok_status();
}

// Each character of one class.
Status find_characters(std::string_view text, bool (*is_member)(char32_t),
                       ChargedVector<Match>& matches) {
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint point = decode_code_point(text, i);
    const std::size_t next = i + static_cast<std::size_t>(point.length);
    if (is_member(point.value)) ANEMONE_RETURN_IF_ERROR(matches.push({i, next}));
    i = next;
  }
  return ok_status();
}

class Split : public PreTokenizer {
 public:
  Split(Pattern pattern, SplitBehavior behavior, bool invert)
      : pattern_(std::move(pattern)), behavior_(behavior), invert_(invert) {}
  Status apply(PieceList& list, WorkBudget& work) const override {
    return split_pieces(list, behavior_, invert_, work,
                        [&](std::string_view text, ChargedVector<Match>& matches) {
                          return pattern_.find_all(text, matches, work);
                        });
  }

 private:
  Pattern pattern_;
  SplitBehavior behavior_;
  bool invert_;
};

class Digits : public PreTokenizer {
 public:
  explicit Digits(bool individual)
      : behavior_(individual ? SplitBehavior::kIsolated : SplitBehavior::kContiguous) {}
  Status apply(PieceList& list, WorkBudget& work) const override {
    return split_pieces(list, behavior_, false, work,
                        [](std::string_view text, ChargedVector<Match>& matches) {
                          return find_characters(text, is_numeric, matches);
                        });
  }

 private:
  SplitBehavior behavior_;
};

class WhitespaceSplit : public PreTokenizer {
 public:
  Status apply(PieceList& list, WorkBudget& work) const override {
    return split_pieces(list, SplitBehavior::kRemoved, false, work,
                        [](std::string_view text, ChargedVector<Match>& matches) {
                          return find_characters(text, is_white_space, matches);
                        });
  }
};

class ByteLevel : public PreTokenizer {
 public:
  ByteLevel(bool add_prefix_space, std::optional<Regex> regex)
      : add_prefix_space_(add_prefix_space), regex_(std::move(regex)) {}
  Status apply(PieceList& list, WorkBudget& work) const override {
    if (add_prefix_space_) {
      ANEMONE_RETURN_IF_ERROR(
          rewrite_pieces(list, work, [](const Piece& piece, ChargedVector<char>& out) -> Status {
            ANEMONE_RETURN_IF_ERROR(out.make_room(piece.text.size() + 1));
            if (!piece.text.starts_with(' ')) out.push_back(' ');
            out.append(piece.text);
            return ok_status();
          }));
    }
    if (!regex_) return ok_status();
    return split_pieces(list, SplitBehavior::kIsolated, false, work,
                        [&](std::string_view text, ChargedVector<Match>& matches) {
                          return regex_->find_all(text, matches, work);
                        });
  }

 private:
  bool add_prefix_space_;
  std::optional<Regex> regex_;
};

enum class PrependScheme { kAlways, kFirst, kNever };

class Metaspace : public PreTokenizer {
 public:
  Metaspace(std::string replacement, PrependScheme scheme, bool split)
      : replacement_(std::move(replacement)), scheme_(scheme), split_(split) {}
  Status apply(PieceList& list, WorkBudget& work) const override {
    ANEMONE_RETURN_IF_ERROR(
        rewrite_pieces(list, work, [&](const Piece& piece, ChargedVector<char>& out) -> Status {
          const bool wanted = scheme_ == PrependScheme::kAlways ||
                              (scheme_ == PrependScheme::kFirst && piece.at_start);
          const bool has_prefix =
              piece.text.starts_with(' ') || piece.text.starts_with(replacement_);
          const auto spaces = static_cast<std::size_t>(std::ranges::count(piece.text, ' '));
          ANEMONE_RETURN_IF_ERROR(
              out.make_room(piece.text.size() + (spaces + 1) * replacement_.size()));
          if (wanted && !has_prefix) out.append(replacement_);
          std::string_view rest = piece.text;
          for (std::size_t at = rest.find(' '); at != rest.npos; at = rest.find(' ')) {
            out.append(rest.substr(0, at));
            out.append(replacement_);
            rest.remove_prefix(at + 1);
          }
          out.append(rest);
          return ok_status();
        }));
    if (!split_) return ok_status();
    return split_pieces(list, SplitBehavior::kMergedWithNext, false, work,
                        [&](std::string_view text, ChargedVector<Match>& matches) -> Status {
                          for (std::size_t at = text.find(replacement_); at != text.npos;
                               at = text.find(replacement_, at + replacement_.size()))
                            ANEMONE_RETURN_IF_ERROR(matches.push({at, at + replacement_.size()}));
                          return ok_status();
                        });
  }

 private:
  std::string replacement_;
  PrependScheme scheme_;
  bool split_;
};

class PreTokenizerSequence : public PreTokenizer {
 public:
  explicit PreTokenizerSequence(std::vector<PreTokenizerPtr> steps) : steps_(std::move(steps)) {}
  Status apply(PieceList& list, WorkBudget& work) const override {
    for (const auto& step : steps_) ANEMONE_RETURN_IF_ERROR(step->apply(list, work));
    return ok_status();
  }

 private:
  std::vector<PreTokenizerPtr> steps_;
};

Result<ParsedPreTokenizer> parse_split(const Json& json) {
  ANEMONE_ASSIGN_OR_RETURN(Pattern pattern, Pattern::parse(json));
  ANEMONE_ASSIGN_OR_RETURN(const auto behavior_name, json_string(json, "behavior", "Split"));
  ANEMONE_ASSIGN_OR_RETURN(const auto invert, json_bool(json, "invert", "Split"));
  if (!behavior_name) return parse_error("[pre_tokenizer Split] expected a behavior, got none");
  ANEMONE_ASSIGN_OR_RETURN(const SplitBehavior behavior, parse_split_behavior(*behavior_name));
  return ParsedPreTokenizer{
      std::make_unique<Split>(std::move(pattern), behavior, invert.value_or(false)), false};
}

Result<ParsedPreTokenizer> parse_byte_level(const Json& json) {
  ANEMONE_ASSIGN_OR_RETURN(const auto prefix, json_bool(json, "add_prefix_space", "ByteLevel"));
  ANEMONE_ASSIGN_OR_RETURN(const auto use_regex, json_bool(json, "use_regex", "ByteLevel"));
  std::optional<Regex> regex;
  if (use_regex.value_or(true)) {
    ANEMONE_ASSIGN_OR_RETURN(regex, Regex::compile(kByteLevelPattern));
  }
  return ParsedPreTokenizer{std::make_unique<ByteLevel>(prefix.value_or(true), std::move(regex)),
                            true};
}

Result<ParsedPreTokenizer> parse_metaspace(const Json& json) {
  ANEMONE_ASSIGN_OR_RETURN(auto replacement, json_string(json, "replacement", "Metaspace"));
  ANEMONE_ASSIGN_OR_RETURN(const auto scheme_name,
                           json_string(json, "prepend_scheme", "Metaspace"));
  ANEMONE_ASSIGN_OR_RETURN(const auto legacy, json_bool(json, "add_prefix_space", "Metaspace"));
  ANEMONE_ASSIGN_OR_RETURN(const auto split, json_bool(json, "split", "Metaspace"));
  if (!replacement || count_code_points(*replacement) != 1)
    return parse_error("[pre_tokenizer Metaspace] expected a replacement of one character");
  PrependScheme scheme = PrependScheme::kAlways;
  if (scheme_name) {
    if (*scheme_name == "first") {
      scheme = PrependScheme::kFirst;
    } else if (*scheme_name == "never") {
      scheme = PrependScheme::kNever;
    } else if (*scheme_name != "always") {
      return parse_error("[pre_tokenizer Metaspace] expected a prepend_scheme, got {}",
                         *scheme_name);
    }
  } else if (legacy && !*legacy) {
    scheme = PrependScheme::kNever;
  }
  return ParsedPreTokenizer{
      std::make_unique<Metaspace>(std::move(*replacement), scheme, split.value_or(true)), false};
}

Result<ParsedPreTokenizer> parse_pre_tokenizer_sequence(const Json& json) {
  const Json* list = json_member(json, "pretokenizers");
  if (list == nullptr || !list->is_array())
    return parse_error("[pre_tokenizer Sequence] expected a list of pretokenizers");
  std::vector<PreTokenizerPtr> steps;
  bool byte_level = false;
  for (const Json& step : *list) {
    if (byte_level)
      return unsupported("[pre_tokenizer] expected ByteLevel last, got a step after it");
    ANEMONE_ASSIGN_OR_RETURN(ParsedPreTokenizer parsed, parse_pre_tokenizer(step));
    byte_level = parsed.byte_level;
    steps.push_back(std::move(parsed.steps));
  }
  return ParsedPreTokenizer{std::make_unique<PreTokenizerSequence>(std::move(steps)), byte_level};
}

}  // namespace

Result<ParsedPreTokenizer> parse_pre_tokenizer(const Json& json) {
  ANEMONE_ASSIGN_OR_RETURN(const auto type, json_string(json, "type", "pre_tokenizer"));
  if (!type) return parse_error("[pre_tokenizer] expected an object with a type");
  if (*type == "Split") return parse_split(json);
  if (*type == "ByteLevel") return parse_byte_level(json);
  if (*type == "Metaspace") return parse_metaspace(json);
  if (*type == "Sequence") return parse_pre_tokenizer_sequence(json);
  if (*type == "WhitespaceSplit")
    return ParsedPreTokenizer{std::make_unique<WhitespaceSplit>(), false};
  if (*type == "Digits") {
    ANEMONE_ASSIGN_OR_RETURN(const auto individual, json_bool(json, "individual_digits", "Digits"));
    return ParsedPreTokenizer{std::make_unique<Digits>(individual.value_or(false)), false};
  }
  return unsupported("[pre_tokenizer] expected a supported type, got {}", *type);
}

}  // namespace anemone::text
