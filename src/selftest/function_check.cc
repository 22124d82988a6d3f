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
       const InputTensors& inputs, const std::string& scratch)
      : pair_(pair), whole_(whole), function_(function), inputs_(inputs), scratch_(scratch) {}

  struct Outcome {
    double error = 0;
    std::string failure;
  };

  Result<Outcome> at(std::size_t index) {
    auto cut = cut_behind(whole_, function_, index);
    // Nothing to compare: what crosses this cut are truth values or scalars.
    if (cut.status().code() == Code::kUnsupported) return Outcome{};
    if (!cut.ok()) return cut.status();
    const std::string path = fmt::format("{}/cut_{}.mlpackage", scratch_, index);
    ANEMONE_RETURN_IF_ERROR(
        mlpackage::write_package(*cut, path, {.registry = &ops::op_registry()}).status());
    const auto errors = compare(pair_, path, "main", inputs_);
    std::error_code ignored;
    fs::remove_all(path, ignored);
    if (errors.ok()) return Outcome{largest(*errors), ""};
    if (errors.status().code() == Code::kInternal) return errors.status();
    return Outcome{0, errors.status().message()};
  }

 private:
  const Pair& pair_;
  const mlpackage::Model& whole_;
  const std::string& function_;
  const InputTensors& inputs_;
  const std::string& scratch_;
};

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
  if (!got.ok())
    return Status(got.status().code() == Code::kInternal ? Code::kDevice : got.status().code(),
                  fmt::format("[{}] {}", pair.tested.name(), got.status().message()));
  ANEMONE_ASSIGN_OR_RETURN(Errors errors, errors_of(got->outputs, expected->outputs));
  ANEMONE_ASSIGN_OR_RETURN(const Errors states,
                           errors_of(got->states.get(), expected->states.get()));
  errors.insert(errors.end(), states.begin(), states.end());
  return errors;
}

Result<std::optional<FirstDifference>> find_first_difference(
    const Pair& pair, const std::string& package, const std::string& function,
    const InputTensors& inputs, double tolerance, const std::string& scratch,
    const std::atomic<bool>* cancel) {
  ANEMONE_ASSIGN_OR_RETURN(const mlpackage::Model whole, mlpackage::read_package(package));
  const ir::Function* found = whole.program.function(function);
  if (found == nullptr) return not_found("[{}] expected a function of the package", function);
  const std::vector<OperationName> operations = operations_of(*found);
  if (operations.empty()) return std::optional<FirstDifference>();
  Cuts cuts(pair, whole, function, inputs, scratch);
  const auto differs = [&](const Cuts::Outcome& outcome) {
    return !outcome.failure.empty() || !(outcome.error <= tolerance);
  };
  std::size_t agreed = 0;  // cuts before this one agree
  std::size_t last = operations.size() - 1;
  ANEMONE_ASSIGN_OR_RETURN(Cuts::Outcome at_last, cuts.at(last));
  if (!differs(at_last)) return std::optional<FirstDifference>();
  double before = 0;
  while (agreed < last) {
    if (cancel != nullptr && *cancel) return cancelled("[selftest] interrupted");
    const std::size_t middle = agreed + (last - agreed) / 2;
    ANEMONE_ASSIGN_OR_RETURN(Cuts::Outcome outcome, cuts.at(middle));
    if (differs(outcome)) {
      last = middle;
      at_last = std::move(outcome);
    } else {
      agreed = middle + 1;
      before = outcome.error;
    }
  }
  return std::optional(FirstDifference{.operation = operations[last].name,
                                       .type = operations[last].type,
                                       .index = last,
                                       .count = operations.size(),
                                       .error_before = before,
                                       .error = at_last.error,
                                       .failure = std::move(at_last.failure)});
}

}  // namespace anemone::selftest
