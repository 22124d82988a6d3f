// SPDX-License-Identifier: Apache-2.0
#include "selftest/function_check.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <utility>
#include <vector>

#include "base/error.h"
#include "mlpackage/package_reader.h"
#include "mlpackage/package_writer.h"
#include "ops/registry.h"
#include "selftest/prefix.h"

namespace anemone::selftest {
namespace {

namespace fs = std::filesystem;

struct Ran {
  exec::Outputs outputs;
  std::unique_ptr<exec::StateStore> states;
};

Result<Ran> run(exec::Executor& executor, const std::string& package, const std::string& function,
                const InputTensors& tensors) {
  ANEMONE_ASSIGN_OR_RETURN(const auto program, executor.load(package, {.functions = {function}}));
  const exec::Signature* signature = program->signature(function);
  if (signature == nullptr) return not_found("[{}] expected a function of the package", function);
  exec::Inputs inputs;
  for (const exec::Feature& feature : signature->inputs) {
    const auto found = tensors.find(feature.name);
    if (found == tensors.end())
      return internal_error("[input {}] expected a value, got none", feature.name);
    inputs.push_back({feature.name, found->second.view()});
  }
  Ran out;
  if (!signature->states.empty()) {
    ANEMONE_ASSIGN_OR_RETURN(out.states, program->make_state());
  }
  ANEMONE_RETURN_IF_ERROR(program->run(function, inputs, out.outputs, out.states.get()));
  return out;
}

// Whether the two executors differ on a function that is cut at a place.
class Cuts {
 public:
  Cuts(const Pair& pair, const mlpackage::Model& whole, const std::string& function,
       const InputTensors& inputs, const SearchOptions& options)
      : pair_(pair), whole_(whole), function_(function), inputs_(inputs), options_(options) {}

  struct Outcome {
    double error = 0;
    std::string failure;
  };

  // nullopt: there is nothing to compare, since what crosses this cut are bools or scalars.
  Result<std::optional<Outcome>> at(std::size_t index) {
    auto cut = cut_after(whole_, function_, index);
    if (cut.status().code() == Code::kUnsupported) return std::optional<Outcome>();
    if (!cut.ok()) return cut.status();
    const std::string path = fmt::format("{}/cut_{}.mlpackage", options_.scratch, index);
    ANEMONE_RETURN_IF_ERROR(
        mlpackage::write_package(*cut, path, {.registry = &ops::op_registry()}).status());
    const auto errors = compare(pair_, path, "main", inputs_);
    std::error_code ignored;
    fs::remove_all(path, ignored);
    if (options_.forget) options_.forget();
    if (errors.ok()) return std::optional(Outcome{largest(*errors), ""});
    if (errors.status().code() == Code::kInternal) return errors.status();
    return std::optional(Outcome{0, errors.status().message()});
  }

 private:
  const Pair& pair_;
  const mlpackage::Model& whole_;
  const std::string& function_;
  const InputTensors& inputs_;
  const SearchOptions& options_;
};

// An error of the tested executor, which is never kInternal: that is one of the reference.
Status of_tested(const exec::Executor& tested, const Status& status) {
  return Status(status.code() == Code::kInternal ? Code::kDevice : status.code(),
                fmt::format("[{}] {}", tested.name(), status.message()));
}

}  // namespace

Result<InputTensors> make_inputs(const exec::Signature& signature, const probe::Roles& roles,
                                 std::uint64_t seed) {
  InputTensors out;
  for (const exec::Feature& feature : signature.inputs) {
    ANEMONE_ASSIGN_OR_RETURN(Tensor tensor, probe::make_input(feature, roles, ++seed));
    out.emplace(feature.name, std::move(tensor));
  }
  return out;
}

Result<Errors> compare(const Pair& pair, const std::string& package, const std::string& function,
                       const InputTensors& inputs) {
  auto expected = run(pair.reference, package, function, inputs);
  if (!expected.ok())
    return internal_error("the reference does not run: {}", expected.status().message());
  auto got = run(pair.tested, package, function, inputs);
  if (!got.ok()) return of_tested(pair.tested, got.status());
  auto errors = errors_of(got->outputs, expected->outputs);
  if (!errors.ok()) return of_tested(pair.tested, errors.status());
  const auto states = errors_of(got->states.get(), expected->states.get());
  if (!states.ok()) return of_tested(pair.tested, states.status());
  errors->insert(errors->end(), states->begin(), states->end());
  return errors;
}

Result<std::optional<FirstDifference>> find_first_difference(
    const Pair& pair, const std::string& package, const std::string& function,
    const InputTensors& inputs, double tolerance, const SearchOptions& options) {
  ANEMONE_ASSIGN_OR_RETURN(const mlpackage::Model whole, mlpackage::read_package(package));
  const ir::Function* found = whole.program.function(function);
  if (found == nullptr) return not_found("[{}] expected a function of the package", function);
  const std::vector<OperationName> operations = operations_of(*found);
  if (operations.empty()) return std::optional<FirstDifference>();
  Cuts cuts(pair, whole, function, inputs, options);
  const auto differs = [&](const Cuts::Outcome& outcome) {
    return !outcome.failure.empty() || !(outcome.error <= tolerance);
  };
  std::size_t last = operations.size() - 1;  // the first known cut that differs
  ANEMONE_ASSIGN_OR_RETURN(std::optional<Cuts::Outcome> at_last, cuts.at(last));
  if (!at_last || !differs(*at_last)) return std::optional<FirstDifference>();
  std::size_t begin = 0;   // cuts before this one agree
  std::size_t end = last;  // cuts from this one to `last` have nothing to compare
  double before = 0;
  while (begin < end) {
    if (options.cancel != nullptr && *options.cancel) return cancelled("[selftest] interrupted");
    const std::size_t middle = begin + (end - begin) / 2;
    std::size_t tried = middle;
    std::optional<Cuts::Outcome> outcome;
    for (; tried < end; ++tried) {
      ANEMONE_ASSIGN_OR_RETURN(outcome, cuts.at(tried));
      if (outcome) break;
    }
    if (outcome && !differs(*outcome)) {
      begin = tried + 1;
      before = outcome->error;
      continue;
    }
    end = middle;
    if (!outcome) continue;
    last = tried;
    at_last = std::move(outcome);
  }
  return std::optional(FirstDifference{.operation = operations[last].name,
                                       .type = operations[last].type,
                                       .index = last,
                                       .count = operations.size(),
                                       .error_before = before,
                                       .error = at_last->error,
                                       .failure = std::move(at_last->failure)});
}

}  // namespace anemone::selftest
