// SPDX-License-Identifier: Apache-2.0
#include "ane/laws_page.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <fmt/format.h>
#include <span>
#include <string_view>

#include "ane/law.h"

namespace anemone::ane {
namespace {

constexpr std::string_view kIntroduction = R"(# The laws of the chip

Written by `anemone check --laws` from the rows in `src/ane/laws_*.cc`: do not edit it.

This is what is known of how the Neural Engine, and Core ML on the way to it, treats programs. Nothing here was measured by us: the laws are what others reported, and where reports disagree both sides stand. A Mac settles what they leave open: `anemone probe` writes packages for it, and what it measured overrides these laws (`anemone check --measured`).

Each law has a severity, which is its section. Its evidence is **measured** (somebody ran it on a chip), **stated** (guidance of a vendor, a claim or an opinion) or **derived** (arithmetic, or a conclusion from other reports). Evidence that begins with **Against** contradicts the law. [The guide](guide/form.md#sources) has the addresses of most sources. Chips are those for which it is known, systems those on which it was seen. The last line says what to change, or what follows; below it stand the options of `anemone compile`, the fields of a [form file](guide/form.md) and the changes of a graph that do it (`anemone check --hints`).
)";

struct Section {
  Severity severity;
  std::string_view title;
  std::string_view text;
};
constexpr std::array kSections = {
    Section{Severity::kRefused, "Refused",
            "Seen: the chip or Core ML refuses it, crashes or computes wrong numbers."},
    Section{Severity::kSlow, "Slow",
            "It runs, but slower: more memory traffic, loads, or operations on the CPU."},
    Section{Severity::kContested, "Contested", "Sources disagree, or nobody measured this form."},
    Section{Severity::kNote, "Notes",
            "Conventions that later reports go beyond: good to know, no reason for a change."},
    Section{
        Severity::kFact, "Facts",
        "What a runtime, or whoever measures, has to know; no check looks for them in a package."},
};

std::string_view effect_text(Effect effect) {
  switch (effect) {
    case Effect::kOperationOnCpu:
      return "The operation runs on the CPU.";
    case Effect::kFunctionOnCpu:
      return "All of the function runs on the CPU.";
    case Effect::kNone:
      break;
  }
  return "";
}

constexpr std::string_view kMarks = "\\`*<";

// Text that Markdown shows as it is. An underscore inside a word is no mark.
std::string as_markdown(std::string_view text) {
  const auto is_word = [&](std::size_t i) {
    return i < text.size() && std::isalnum(static_cast<unsigned char>(text[i])) != 0;
  };
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_mark = text[i] == '_' ? i == 0 || !is_word(i - 1) || !is_word(i + 1)
                                        : kMarks.find(text[i]) != std::string_view::npos;
    if (is_mark) out += '\\';
    out += text[i];
  }
  return out;
}

// "A last axis of fewer than 32 elements is padded."
std::string sentence(std::string_view text) {
  std::string out(text);
  if (!out.empty())
    out.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(out.front())));
  return as_markdown(out) + ".";
}

// The Macs' name of a generation; that of iPhones where no Mac has it.
std::string generation_name(int generation) {
  return generation == 16 ? "A16" : fmt::format("M{}", generation - (generation < 16 ? 13 : 14));
}

std::string generations_text(Generations generations) {
  const int first = std::max(generations.first, kOldestGeneration);
  const int last = std::min(generations.last, kNewestGeneration);
  if (first == kOldestGeneration && last == kNewestGeneration) return "all";
  if (first == last) return generation_name(first) + " generation";
  return fmt::format("{} {} {} generations", generation_name(first),
                     last == first + 1 ? "and" : "to", generation_name(last));
}

void append_evidence(const Law& law, bool is_against, std::string& out) {
  for (const Evidence& each : law.evidence)
    if (each.kind != Evidence::Kind::kNone && each.is_against == is_against)
      out += fmt::format("- {}{}, {}: {}\n", is_against ? "**Against:** " : "",
                         as_markdown(each.who), evidence_name(each.kind), as_markdown(each.what));
}

// What is typed stands between marks of code, in which Markdown shows every character.
void append_hints(const Law& law, std::string& out) {
  if (!hints_of(law).empty()) out += '\n';
  for (const Hint& hint : hints_of(law)) {
    const bool is_typed = hint.kind != Hint::Kind::kRewrite && hint.kind != Hint::Kind::kNothing;
    const std::string text = hint_text(hint, is_typed ? "`" : "");
    out += fmt::format("- {}\n", is_typed ? text : as_markdown(text));
  }
}

void append_law(const Law& law, std::string& out) {
  out += fmt::format("\n### {}\n\n{}\n\n", law.id, sentence(law.statement));
  append_evidence(law, false, out);
  append_evidence(law, true, out);
  out += fmt::format("\nChips: {}.", generations_text(law.generations));
  if (!law.systems.empty()) out += fmt::format(" Systems: {}.", as_markdown(law.systems));
  if (law.effect != Effect::kNone) out += fmt::format(" {}", effect_text(law.effect));
  out += law.find == nullptr ? " No package shows it.\n" : " Found by `anemone check`.\n";
  out += fmt::format("\n{} {}.\n",
                     law.severity == Severity::kFact ? "So:" : "Change:", as_markdown(law.remedy));
  append_hints(law, out);
}

}  // namespace

std::string laws_page() {
  std::string out(kIntroduction);
  for (const Section& section : kSections) {
    out += fmt::format("\n## {}\n\n{}\n", section.title, section.text);
    for (const Law* law : laws())
      if (law->severity == section.severity) append_law(*law, out);
  }
  return out;
}

}  // namespace anemone::ane
