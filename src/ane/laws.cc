// SPDX-License-Identifier: Apache-2.0
// One list of all laws. A severity follows the reports: refused where somebody saw a refusal, a
// crash or wrong numbers, and what is said against it is a claim or one case of many; contested
// where measurements disagree or are missing.
#include <algorithm>
#include <fmt/format.h>
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
