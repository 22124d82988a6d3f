// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include "ir/op_schema.h"
#include "ir/program.h"

namespace anemone::ir {

// An InferContext over an operation of a program. Views into constants stay valid while it lives.
class ProgramInferContext : public InferContext {
 public:
  ProgramInferContext(const Op& op, Opset opset) : op_(op), opset_(opset) {}
  Opset opset() const override { return opset_; }
  std::size_t count(std::string_view parameter) const override;
  const Type& type(std::string_view parameter, std::size_t i) const override;
  std::optional<TensorView> value(std::string_view parameter, std::size_t i) const override;
  bool is_constant(std::string_view parameter, std::size_t i) const override;
  std::optional<std::string_view> text(std::string_view parameter) const override;
  std::size_t output_count() const override { return op_.outputs.size(); }
  const Type* declared_output(std::size_t i) const override { return &op_.outputs[i]->type; }

 private:
  const Literal* literal(std::string_view parameter, std::size_t i) const;
  const Op& op_;
  Opset opset_;
  mutable std::vector<DataBytes> kept_;
};

struct VerifyOptions {
  // Structure only (names, SSA, blocks): everything that does not need an operation's schema.
  bool structure_only = false;
};

// A program is valid when: names are identifiers and unique in a function; operands are defined
// before use; every operation is known to the registry and to the function's opset; parameters fit
// the schema; inferred output types agree with the declared ones; tensors have rank <= 5 (constants
// that only feed constexpr operations excepted); states are read and written as states. Reports the
// first violation as kCorrupt, an operation that the registry does not know as kUnsupported:
// "[decode, conv "q_proj"] expected ..., got ... (conv_c2)".
Status verify(const Program& program, const OpRegistry& registry,
              const VerifyOptions& options = {});

}  // namespace anemone::ir
