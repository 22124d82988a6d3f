// SPDX-License-Identifier: Apache-2.0
// An operation case seen as the type rules see it, and as the kernels see it.
#pragma once

#include <string_view>
#include <vector>

#include "ir/op_schema.h"
#include "kernels/kernel.h"
#include "tests/ops/op_case.h"

namespace anemone::testing {

// What the type rule is told. Constant parameters are always known.
struct Knowledge {
  bool values = true;      // values of parameters that need not be constant
  bool dimensions = true;  // dimensions of the same
};

// Arguments with the defaults of absent parameters filled in, if there are any; nullopt if none is
// absent.
Result<std::optional<Arguments>> with_defaults(const ir::OpSchema& schema, const OpCase& op_case);

class CaseContext : public ir::InferContext {
 public:
  // All arguments outlive the context.
  CaseContext(const OpCase& op_case, const Arguments& inputs, const ir::OpSchema& schema,
              Knowledge knowledge);
  ir::Opset opset() const override { return case_.opset; }
  std::size_t count(std::string_view parameter) const override;
  const ir::Type& type(std::string_view parameter, std::size_t i) const override;
  std::optional<TensorView> value(std::string_view parameter, std::size_t i) const override;
  bool is_constant(std::string_view parameter, std::size_t i) const override;
  std::optional<std::string_view> text(std::string_view parameter) const override;
  std::size_t output_count() const override { return case_.outputs.size(); }
  const ir::Type* declared_output(std::size_t i) const override { return &case_.outputs[i].type; }

  std::vector<std::string_view> bound_parameters() const;

 private:
  bool is_const(std::string_view parameter) const;

  const OpCase& case_;
  const Arguments& inputs_;
  const ir::OpSchema& schema_;
  Knowledge knowledge_;
  std::map<std::string, std::vector<ir::Type>, std::less<>> types_;
};

class CaseCall : public kernels::KernelCall {
 public:
  // Inputs outlive the call. Allocates outputs of the given types, filled with garbage.
  CaseCall(const Arguments& inputs, const std::vector<ir::Type>& outputs, ThreadPool& threads);
  std::size_t count(std::string_view parameter) const override;
  TensorView input(std::string_view parameter, std::size_t i) const override;
  std::string_view text(std::string_view parameter, std::string_view fallback) const override;
  std::size_t output_count() const override { return outputs_.size(); }
  MutableTensorView output(std::size_t i) const override { return outputs_[i].mutable_view(); }
  ThreadPool& threads() const override { return threads_; }

 private:
  const Arguments& inputs_;
  mutable std::vector<Tensor> outputs_;
  ThreadPool& threads_;
};

}  // namespace anemone::testing
