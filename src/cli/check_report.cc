// SPDX-License-Identifier: Apache-2.0
#include "cli/check_report.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "base/escape.h"

namespace anemone::cli {
namespace {

using ane::CheckedPackage;
using ane::Finding;
using ane::Place;
using ane::Rule;
using ane::Severity;

constexpr Severity kSeverities[] = {Severity::kRefused, Severity::kSlow, Severity::kContested};

std::string count_of(std::size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

// Words in lines of at most 96 columns; every line after the first begins with `indent` spaces.
std::string wrapped(std::string_view text, std::size_t indent) {
  constexpr std::size_t kWidth = 96;
  std::string out;
  std::size_t column = 0;
  while (!text.empty()) {
    const std::size_t space = std::min(text.find(' '), text.size());
    if (column != 0 && column + 1 + space > kWidth) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (column != 0) {
      out += ' ';
      ++column;
    }
    out += text.substr(0, space);
    column += space;
    text.remove_prefix(std::min(space + 1, text.size()));
  }
  return out + "\n";
}

// Equal findings of a rule.
struct Line {
  std::string found;
  Place::Kind kind = Place::Kind::kPackage;
  std::size_t count = 0;
  std::string first;
};

std::string place_text(const CheckedPackage& package, const Place& place, bool names_package) {
  std::string text = names_package ? escaped(package.name) : "";
  for (const std::string& part : {place.function, place.name})
    if (!part.empty()) text += (text.empty() ? "" : " ") + escaped(part);
  return text;
}

std::vector<Line> lines_of(const Rule& rule, const std::vector<CheckedPackage>& packages) {
  std::vector<Line> lines;
  std::map<std::pair<Place::Kind, std::string_view>, std::size_t> places;  // in `lines`
  for (const CheckedPackage& package : packages)
    for (const Finding& finding : package.findings) {
      if (finding.rule != &rule) continue;
      const auto [it, is_new] =
          places.try_emplace({finding.place.kind, finding.found}, lines.size());
      if (is_new)
        lines.push_back({finding.found, finding.place.kind, 0,
                         place_text(package, finding.place, packages.size() > 1)});
      ++lines[it->second].count;
    }
  return lines;
}

std::string rule_text(const Rule& rule, const std::vector<Line>& lines) {
  constexpr std::size_t kMaxLines = 8;
  std::string text = "\n" + wrapped(fmt::format("{} {}: {}", ane::severity_name(rule.severity),
                                                rule.id, rule.statement),
                                    4);
  std::vector<std::vector<std::string>> rows;
  for (const Line& line : lines) {
    if (rows.size() == kMaxLines) break;
    rows.push_back({count_of(line.count, ane::place_kind_name(line.kind)), escaped(line.found),
                    line.first.empty() ? "" : (line.count == 1 ? "" : "first: ") + line.first});
  }
  text += table(rows, "  ");
  if (lines.size() > kMaxLines)
    text += fmt::format("  and {} more (--json has all)\n", lines.size() - kMaxLines);
  return text + "  " + wrapped(fmt::format("source: {}", rule.source), 4) + "  " +
         wrapped(fmt::format("change: {}", rule.remedy), 4);
}

}  // namespace

std::vector<std::string> broken_rules(const std::vector<CheckedPackage>& packages,
                                      Severity severity) {
  std::vector<std::string> ids;
  for (const Rule& rule : ane::rules()) {
    if (rule.severity != severity) continue;
    const bool is_broken = std::ranges::any_of(packages, [&](const CheckedPackage& package) {
      return std::ranges::find(package.findings, &rule, &Finding::rule) != package.findings.end();
    });
    if (is_broken) ids.emplace_back(rule.id);
  }
  return ids;
}

Report check_report(const std::string& path, const std::vector<CheckedPackage>& packages) {
  Report report;
  report.json = {{"file", path},
                 {"packages", Json::array()},
                 {"rules", Json::array()},
                 {"findings", Json::array()}};
  std::size_t functions = 0;
  for (const CheckedPackage& package : packages) {
    functions += package.functions;
    report.json["packages"].push_back(package.name);
    for (const Finding& finding : package.findings)
      report.json["findings"].push_back({{"rule", finding.rule->id},
                                         {"package", package.name},
                                         {"place", ane::place_kind_name(finding.place.kind)},
                                         {"function", finding.place.function},
                                         {"name", finding.place.name},
                                         {"found", finding.found}});
  }
  report.text = fmt::format("{}: {}, {}, checked against {} rules of the chip\n", escaped(path),
                            count_of(packages.size(), "package"), count_of(functions, "function"),
                            ane::rules().size());
  for (const Rule& rule : ane::rules()) {
    const std::vector<Line> lines = lines_of(rule, packages);
    if (lines.empty()) continue;
    report.text += rule_text(rule, lines);
    report.json["rules"].push_back({{"rule", rule.id},
                                    {"severity", ane::severity_name(rule.severity)},
                                    {"statement", rule.statement},
                                    {"source", rule.source},
                                    {"remedy", rule.remedy}});
  }
  std::string totals;
  for (const Severity severity : kSeverities) {
    const std::size_t count = broken_rules(packages, severity).size();
    totals +=
        fmt::format("{}{} {}", totals.empty() ? "" : ", ", count, ane::severity_name(severity));
    report.json[std::string(ane::severity_name(severity))] = count;
  }
  report.text += "\n" + totals + "\n";
  return report;
}

}  // namespace anemone::cli
