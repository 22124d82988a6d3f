// SPDX-License-Identifier: Apache-2.0
// One list of all laws. A severity follows the reports: refused where somebody saw a refusal, a
// crash or wrong numbers, and what is said against it is a claim or one case of many; contested
// where measurements disagree or are missing.
#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <string>

#include "ane/law.h"
#include "ane/law_tables.h"

namespace anemone::ane {
namespace {

std::vector<const Law*> all_laws() {
  std::vector<const Law*> all;
  for (const std::span<const Law> table :
       {weight_laws(), interface_laws(), operation_laws(), device_laws(), size_laws(),
        numeric_laws(), runtime_laws(), speed_laws(), private_laws()})
    for (const Law& law : table) all.push_back(&law);
  std::ranges::stable_sort(all, {}, &Law::severity);
  return all;
}

}  // namespace

std::span<const Law* const> laws() {
  static const std::vector<const Law*> all = all_laws();
  return all;
}

const Law* find_law(std::string_view id) {
  const auto it = std::ranges::find(laws(), id, &Law::id);
  return it == laws().end() ? nullptr : *it;
}

std::string_view evidence_name(Evidence::Kind kind) {
  switch (kind) {
    case Evidence::Kind::kMeasured:
      return "measured";
    case Evidence::Kind::kDerived:
      return "derived";
    case Evidence::Kind::kStated:
    case Evidence::Kind::kNone:
      break;
  }
  return "stated";
}

std::string_view hint_name(Hint::Kind kind) {
  switch (kind) {
    case Hint::Kind::kOption:
      return "option";
    case Hint::Kind::kOmit:
      return "omit";
    case Hint::Kind::kForm:
      return "form";
    case Hint::Kind::kRewrite:
      return "rewrite";
    case Hint::Kind::kNothing:
    case Hint::Kind::kUnused:
      break;
  }
  return "nothing";
}

std::string hint_text(const Hint& hint, std::string_view mark) {
  const std::string typed = fmt::format("{0}{1}{0}", mark, hint.text);
  switch (hint.kind) {
    case Hint::Kind::kOption:
      return "compile with " + typed;
    case Hint::Kind::kOmit:
      return "compile without " + typed;
    case Hint::Kind::kForm:
      return fmt::format("compile with {0}--form FILE.json{0}, a file with {1}", mark, typed);
    case Hint::Kind::kRewrite:
      return fmt::format("rewrite the graph: {}", hint.text);
    case Hint::Kind::kNothing:
    case Hint::Kind::kUnused:
      break;
  }
  return fmt::format("nothing to do: {}", hint.text);
}

std::span<const Hint> hints_of(const Law& law) {
  const auto end = std::ranges::find(law.hints, Hint::Kind::kUnused, &Hint::kind);
  return {std::begin(law.hints), end};
}

std::string source_text(const Law& law) {
  std::string text;
  for (const bool is_against : {false, true})
    for (const Evidence& each : law.evidence) {
      if (each.kind == Evidence::Kind::kNone || each.is_against != is_against) continue;
      text +=
          fmt::format("{}{}{}, {}: {}", text.empty() ? "" : "; ", is_against ? "against it " : "",
                      each.who, evidence_name(each.kind), each.what);
    }
  return text;
}

std::string_view severity_name(Severity severity) {
  switch (severity) {
    case Severity::kRefused:
      return "refused";
    case Severity::kSlow:
      return "slow";
    case Severity::kContested:
      return "contested";
    case Severity::kNote:
      return "note";
    case Severity::kFact:
      break;
  }
  return "fact";
}

std::string_view place_kind_name(Place::Kind kind) {
  switch (kind) {
    case Place::Kind::kOperation:
      return "operation";
    case Place::Kind::kInput:
      return "input";
    case Place::Kind::kOutput:
      return "output";
    case Place::Kind::kState:
      return "state";
    case Place::Kind::kFunction:
      return "function";
    case Place::Kind::kPackage:
      break;
  }
  return "package";
}

}  // namespace anemone::ane
