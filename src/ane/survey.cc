// SPDX-License-Identifier: Apache-2.0
#include "ane/survey.h"

#include <map>
#include <utility>
#include <variant>

#include "ane/program_walk.h"

namespace anemone::ane {
namespace {

// Strides, axes and the like stand in the program and are no weights.
constexpr std::uint64_t kMinConstantBytes = 64;

// By where their bytes lie, to bytes: what several operations or functions share is there once.
using Constants = std::map<const void*, std::uint64_t>;

std::uint64_t total_bytes(const Constants& constants) {
  std::uint64_t total = 0;
  for (const auto& [place, bytes] : constants) total += bytes;
  return total;
}

void collect(const ir::Literal& literal, Constants& constants) {
  if (literal.data() == nullptr || literal.data()->size_bytes() < kMinConstantBytes) return;
  const void* place = literal.data().get();
  if (literal.data()->is_resident())
    if (const auto loaded = literal.data()->load(); loaded.ok() && !loaded->bytes.empty())
      place = loaded->bytes.data();
  constants[place] = literal.data()->size_bytes();
}

// The constants of an operation, also those in place (constexpr operations).
Constants constants_of(const ir::Op& op) {
  Constants constants;
  for (const auto& [name, literal] : op.attributes) collect(literal, constants);
  for (const auto& [name, arguments] : op.inputs)
    for (const ir::Argument& argument : arguments)
      if (const auto* literal = std::get_if<ir::Literal>(&argument)) collect(*literal, constants);
  return constants;
}

void list_operations(const ir::Block& block, std::vector<SurveyedOperation>& operations) {
  for (const ir::Op* op : block.ops) {
    operations.push_back({op, 0});
    for (const ir::Block* inner : op->blocks) list_operations(*inner, operations);
  }
}

// The constants of the operations of a program that have any.
using ConstantsByOp = std::map<const ir::Op*, Constants>;

// The stored bytes behind a weight, through the operations that restore it.
std::uint64_t weight_bytes_of(const ir::Op& product, const ConstantsByOp& by_op) {
  // A weight is restored in at most two steps, from a few constants each; a stranger's file may
  // have more.
  constexpr std::size_t kMostProducers = 64;
  Constants constants;
  std::vector<const ir::Op*> open{producer_of(product, "weight")};
  for (std::size_t at = 0; at < open.size() && at < kMostProducers; ++at) {
    const ir::Op* producer = open[at];
    if (producer == nullptr || is_computed(*producer)) continue;
    if (const auto own = by_op.find(producer); own != by_op.end())
      constants.insert(own->second.begin(), own->second.end());
    for (const auto& [name, arguments] : producer->inputs)
      open.push_back(producer_of(*producer, name));
  }
  return total_bytes(constants);
}

}  // namespace

Survey survey_program(const ir::Program& program) {
  Survey out;
  Constants of_program;
  for (const ir::Function* function : program.functions()) {
    SurveyedFunction& surveyed = out.functions.emplace_back();
    surveyed.function = function;
    if (function->block != nullptr) list_operations(*function->block, surveyed.operations);
    Constants of_function;
    ConstantsByOp by_op;
    for (SurveyedOperation& each : surveyed.operations) {
      Constants own = constants_of(*each.op);
      of_function.insert(own.begin(), own.end());
      if (!own.empty()) by_op.emplace(each.op, std::move(own));
      // What it reads stands before it.
      if (is_weighted(*each.op)) each.weight_bytes = weight_bytes_of(*each.op, by_op);
    }
    surveyed.weight_bytes = total_bytes(of_function);
    of_program.merge(of_function);
  }
  out.weight_bytes = total_bytes(of_program);
  return out;
}

}  // namespace anemone::ane
