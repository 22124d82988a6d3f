// SPDX-License-Identifier: Apache-2.0
// What `anemone check` looks for: the forms of a program that the chip, or Core ML on the way to
// it, is known or said to treat badly. All rules are data, with their sources, in rules.cc.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/program.h"

namespace anemone::ane {

enum class Severity {
  kRefused,    // seen: the chip or Core ML refuses it, crashes or computes wrong numbers
  kSlow,       // it runs, but slower: more memory traffic, loads, or operations on the CPU
  kContested,  // sources disagree, or nobody measured this form
};
std::string_view severity_name(Severity severity);  // "refused", "slow", "contested"

// An input whose shape is a range in the description of the package. The program alone does not
// tell it from one that takes a list of shapes.
struct RangeInput {
  std::string function;
  std::string input;
};

// What the rules look at: a program as it was read (its operations need not be lawful), and what is
// known of it besides. The program outlives it.
struct Package {
  const ir::Program& program;
  std::vector<RangeInput> ranges = {};
  std::int64_t layers = 0;  // of a model, whole or in part; 0: not known
};

// Where something was found.
struct Place {
  enum class Kind { kOperation, kInput, kOutput, kState, kFunction, kPackage };

  Kind kind = Kind::kPackage;
  std::string function = {};  // empty for kPackage
  std::string name = {};      // of the operation, input, output or state
};
std::string_view place_kind_name(Place::Kind kind);  // "operation", "input", ...

// Takes one place and what was found there. The text has no names and nothing that differs between
// places of the same kind of finding, so that the same finding in 24 layers can be one line.
using Report = std::function<void(Place place, std::string found)>;

struct Rule {
  std::string_view id;  // "block-scales"; never changes its meaning
  Severity severity;
  std::string_view statement;  // what is wrong, with the limit
  std::string_view source;     // who found it out, and whether it was measured
  std::string_view remedy;     // what to change
  // Reports every place of a package that breaks the rule. Takes time linear in the program, and
  // accepts operations that lack parameters.
  void (*find)(const Package& package, const Report& report);
};

// All rules, the refused ones first.
std::span<const Rule> rules();

}  // namespace anemone::ane
