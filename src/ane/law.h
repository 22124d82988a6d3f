// SPDX-License-Identifier: Apache-2.0
// What is known of how the chip, and Core ML on the way to it, treats programs. Every law is data:
// a row with its evidence for and against, beside the function that finds what breaks it, in
// laws_*.cc. docs/ane-laws.md is rendered from the rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ane/chip.h"
#include "ane/survey.h"
#include "ir/program.h"

namespace anemone::ane {

enum class Severity {
  kRefused,    // seen: the chip or Core ML refuses it, crashes or computes wrong numbers
  kSlow,       // it runs, but slower: more memory traffic, loads, or operations on the CPU
  kContested,  // sources disagree, or nobody measured it
  kNote,       // a convention that later reports go beyond: good to know, no reason for a change
  kFact,       // what a runtime, or whoever measures, has to know; no check looks for it
};
std::string_view severity_name(Severity severity);  // "refused", "slow", "contested", ...

// What a finding says of the device that runs an operation.
enum class Effect {
  kNone,            // nothing
  kOperationOnCpu,  // the operation runs on the CPU
  kFunctionOnCpu,   // all of the function does; of a finding about the package, all functions
};

// One report about a law.
struct Evidence {
  enum class Kind {
    kNone,      // an unused row of Law::evidence
    kMeasured,  // somebody ran it on a chip
    kStated,    // a vendor's guidance, a claim or an opinion
    kDerived,   // it follows from arithmetic, or from other reports
  };
  Kind kind = Kind::kNone;
  std::string_view who = {};   // "mobius#61": docs/guide/form.md has the sources
  std::string_view what = {};  // what was seen, on which chip and system
  bool is_against = false;     // it contradicts the law
};

// An input that takes several shapes by the description of the package. The program alone does not
// tell a range of shapes from a list of them.
struct FlexibleInput {
  std::string function;
  std::string input;
};

// What the laws look at: a program as it was read (its operations need not be lawful), and what is
// known of it besides. The program outlives it.
struct Package {
  const ir::Program& program;
  std::vector<FlexibleInput> ranges = {};
  std::int64_t layers = 0;  // of a language model that it holds, whole or in part; 0: not known
  // Inputs that take one shape of a list; the program's types have the default shape.
  std::vector<FlexibleInput> lists = {};
  // The specification versions that the package needs, and that the oldest system reads which is to
  // load it; 0: not known, or not asked.
  int needed_version = 0;
  int target_version = 0;
  // Operations and constants of the program; laws and placement share it.
  Survey survey = survey_program(program);
  std::uint64_t weight_bytes = survey.weight_bytes;
};

// Where something was found.
struct Place {
  enum class Kind { kOperation, kInput, kOutput, kState, kFunction, kPackage };

  Kind kind = Kind::kPackage;
  std::string function = {};  // empty for kPackage
  std::string name = {};      // of the operation, input, output or state, which may be empty
  // For kOperation, the index in SurveyedFunction::operations. Operations can share a name or have
  // none, so that the name is for people alone; functions of a program have different names.
  std::optional<std::size_t> operation = {};
};
std::string_view place_kind_name(Place::Kind kind);  // "operation", "input", ...

// Takes one place and what was found there. The text has no names and nothing that differs between
// places of the same kind of finding, so that the same finding in 24 layers can be one line.
using Reporter = std::function<void(Place place, std::string found)>;

std::string_view evidence_name(Evidence::Kind kind);  // "measured", "stated", "derived"

// One way to a package of which a law finds nothing, exact enough to be copied.
struct Hint {
  enum class Kind {
    kUnused,   // an unused row of Law::hints
    kOption,   // an option of `anemone compile` with its value: "--quant lut4"
    kOmit,     // an option of it to leave out: "--range-dim"
    kForm,     // what a file of `compile --form` holds, as JSON: {"taps": "arithmetic"}
    kRewrite,  // a change of the graph, for packages of any writer
    kNothing,  // where nothing helps, and why
  };
  Kind kind = Kind::kUnused;
  std::string_view text = {};
};
std::string_view hint_name(Hint::Kind kind);  // "option", "omit", "form", "rewrite", "nothing"
// The hint as a clause: "compile with --quant lut4". `mark` stands before and after what is typed.
std::string hint_text(const Hint& hint, std::string_view mark = "");

struct Law {
  static constexpr std::size_t kMaxEvidence = 8;
  static constexpr std::size_t kMaxHints = 5;

  std::string_view id;  // "block-scales"; never changes its meaning
  Severity severity;
  Effect effect = Effect::kNone;
  std::string_view statement;  // what is wrong, with the limit; of a fact, what is so
  Evidence evidence[kMaxEvidence];
  std::string_view remedy;  // what to change; of a fact, what follows from it
  // How to change it, the ways of `anemone compile` first. None for a law that no package breaks;
  // every other one has some.
  Hint hints[kMaxHints] = {};
  Generations generations = {};   // the chips for which it is known; all that there are by default
  std::string_view systems = {};  // the systems on which it was seen, where that is known
  // Reports every place of a package that breaks the law. Takes time linear in the program, and
  // accepts operations that lack parameters. nullptr: a package does not show it.
  void (*find)(const Package& package, const Reporter& report) = nullptr;
};

// A law that is broken, and where.
struct Finding {
  const Law* law = nullptr;  // of laws()
  Place place;
  std::string found;                         // "int4, a scale for every 32 inputs"
  Severity severity = Severity::kContested;  // of the law, or as it was measured
};

// "coremltools#2631, measured (M4); against it Anemll#50, stated: 48 run": all evidence in one
// line.
std::string source_text(const Law& law);

// The rows of Law::hints that are used.
std::span<const Hint> hints_of(const Law& law);

// All laws, the refused ones first. Thread-safe; the rows live as long as the process.
std::span<const Law* const> laws();
const Law* find_law(std::string_view id);  // nullptr when there is none

}  // namespace anemone::ane
