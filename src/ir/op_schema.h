// SPDX-License-Identifier: Apache-2.0
// What the IR knows about one operation type: its parameters, and the rule that gives the types of
// its outputs. The schemas themselves are in ops/, one file each; ir/ only uses them through
// OpRegistry, so that it does not depend on ops/.
#pragma once

#include <anemone/status.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "ir/literal.h"
#include "ir/opset.h"
#include "ir/type.h"
#include "tensor/tensor.h"

namespace anemone::ir {

// A set of element types.
class DTypeSet {
 public:
  constexpr DTypeSet() = default;
  constexpr DTypeSet(std::initializer_list<DType> dtypes) {
    for (const DType d : dtypes) bits_ |= 1u << static_cast<unsigned>(d);
  }
  constexpr bool contains(DType d) const { return (bits_ >> static_cast<unsigned>(d)) & 1u; }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr DTypeSet operator|(DTypeSet other) const {
    DTypeSet out;
    out.bits_ = bits_ | other.bits_;
    return out;
  }

 private:
  std::uint32_t bits_ = 0;
};

// What a type rule sees of an operation: the verifier shows it the types and constants of a
// program, the interpreter the tensors of a run (then every type is static and every value is
// known).
class InferContext {
 public:
  virtual ~InferContext() = default;
  virtual Opset opset() const = 0;
  // Number of arguments bound to a parameter; 0 when it is absent.
  virtual std::size_t count(std::string_view parameter) const = 0;
  // Requires i < count(parameter).
  virtual const Type& type(std::string_view parameter, std::size_t i = 0) const = 0;
  // Elements of an argument when they are known now; nullopt for run-time values and for data that
  // would have to be computed. The view lives as long as the context.
  virtual std::optional<TensorView> value(std::string_view parameter, std::size_t i = 0) const = 0;
  // Whether an argument is a compile-time constant: a const, a literal, or made by constexpr
  // operations.
  virtual bool is_constant(std::string_view parameter, std::size_t i = 0) const = 0;
  // A known scalar string.
  virtual std::optional<std::string_view> text(std::string_view parameter) const = 0;
  // Number of outputs that the operation declares.
  virtual std::size_t output_count() const = 0;
  // Declared type of output i in the program; for operations whose output types are free (cond
  // ...).
  virtual const Type* declared_output(std::size_t i) const = 0;
  // Type of an argument in the program. type() knows the dimensions of a run where this leaves them
  // open; it is for rules whose result has another rank for a dimension that is known to be 1.
  virtual const Type& declared_type(std::string_view parameter) const { return type(parameter); }

  bool has(std::string_view parameter) const { return count(parameter) > 0; }
  // Known integers of a parameter; nullopt when absent or not known now.
  std::optional<std::vector<std::int64_t>> ints(std::string_view parameter) const;
  std::optional<std::int64_t> integer(std::string_view parameter) const;
  std::optional<bool> boolean(std::string_view parameter) const;
};

struct Parameter {
  enum class Presence {
    kRequired,
    kDefaulted,  // may be absent in a program that others wrote; the builder and the writer spell
                 // it out
    kOptional,   // absent means "none"
  };

  std::string_view name;
  DTypeSet dtypes;  // of a tensor argument; empty set: any type, also lists and states
  Presence presence = Presence::kRequired;
  bool is_const = false;     // must be known at compile time
  bool is_variadic = false;  // several arguments
  char dtype_letter = 0;     // parameters with the same letter have the same dtype
  Opset since = Opset::kIOS15;
  // The default of a kDefaulted parameter. It may depend on the other parameters (strides: ones, as
  // many as spatial dimensions).
  std::function<Literal(const InferContext&)> default_value = nullptr;
};

struct OpSchema {
  std::string_view name;
  Opset since = Opset::kIOS15;
  std::vector<Parameter> parameters;
  // Checks the named constraints of the operation and appends the output types. Called after the
  // parameters were checked against the table: required ones are there, dtypes are legal. Absent
  // kDefaulted parameters are absent here too (the rule applies the default itself).
  std::function<Status(const InferContext&, std::vector<Type>&)> infer;
  // The result depends on more than the inputs (state, randomness): the operation is never folded
  // and never dropped.
  bool has_side_effects = false;

  const Parameter* parameter(std::string_view name) const;
};

// All known operations. Immutable after construction; thread-safe.
class OpRegistry {
 public:
  virtual ~OpRegistry() = default;
  virtual const OpSchema* find(std::string_view type) const = 0;
  virtual std::vector<std::string_view> names() const = 0;  // sorted
};

// Error of a constraint that does not hold: violated("conv_c3", "expected ..., got ..."). The
// verifier puts the operation in front. The name of the constraint is in the message, in the docs
// and in the test name.
template <typename... Args>
Status violated(std::string_view constraint, fmt::format_string<Args...> format, Args&&... args) {
  return corrupt("{} ({})", fmt::format(format, std::forward<Args>(args)...), constraint);
}

// Checks the parameters of an operation against its schema (unknown, missing, dtype, dtype letters,
// const-ness, opset) and runs the type rule. `outputs` receives the inferred types.
Status infer_types(const OpSchema& schema, const InferContext& context,
                   const std::vector<std::string_view>& bound_parameters,
                   std::vector<Type>& outputs);

}  // namespace anemone::ir
