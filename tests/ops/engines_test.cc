// SPDX-License-Identifier: Apache-2.0
// Runs programs of one operation, made of the cases of tests/ops/data, with hostile values in every
// operand that is known only in a run. The engines are the reference interpreter, and the planned
// engine on every instruction set of this machine.
//
// If the type rule of the operation refuses the values, every engine has to refuse them, whatever
// types the program declares. Any other values are refused with an error or executed within the
// memory of their tensors, which the address sanitizer watches. All engines have to agree.
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <gtest/gtest.h>
#include <limits>
#include <memory>
#include <set>

#include "exec/cpu/cpu_executor.h"
#include "ir/builder.h"
#include "kernels/kernel.h"
#include "ops/registry.h"
#include "tests/ops/op_call.h"
#include "tests/ops/op_case.h"

namespace anemone::testing {
namespace {

using exec::LoadedProgram;
using kernels::simd::Isa;

// The memory of a run, in bytes: little, so that a hostile size is refused, or served at once.
constexpr std::uint64_t kMemory = 1 << 20;
// About so many cases of a file are run: they differ little from each other.
constexpr std::size_t kCases = 5;

bool is_number(DType dtype) {
  return dtype != DType::kString && dtype != DType::kBool;
}

// Whether a run may decide the elements of a parameter.
bool is_operand(const ir::Parameter& parameter) {
  bool has_numbers = false;
  for (int i = 0; i <= static_cast<int>(DType::kUInt64); ++i)
    has_numbers |=
        parameter.dtypes.contains(static_cast<DType>(i)) && is_number(static_cast<DType>(i));
  return has_numbers && !parameter.is_const;
}

enum class Form {
  kInferred,  // the program declares the types that the rule infers without the values
  kDeclared,  // it declares those of the case, and another operation of the run makes each operand
  kOpen,      // no dimension of an input is known
  kInBlock,   // it declares those of the case, in both blocks of a condition
};
constexpr Form kForms[] = {Form::kInferred, Form::kDeclared, Form::kOpen, Form::kInBlock};

std::string name_of(std::string_view parameter, std::size_t i) {
  return "in_" + std::string(parameter) + "_" + std::to_string(i);
}

// The program of a case in a form. Null if no operand is left to a run, or if the type rule refuses
// the form, as it may because it does not see the values.
class ProgramOfCase {
 public:
  ProgramOfCase(const OpCase& op_case, Form form)
      : case_(op_case),
        form_(form),
        schema_(*ops::op_registry().find(op_case.op)),
        builder_(*program_, ops::op_registry(), "main", op_case.opset) {}

  std::shared_ptr<ir::Program> build() {
    for (const auto& [parameter, arguments] : case_.inputs)
      if (!bind(parameter, arguments)) return nullptr;
    if (builder_.function().inputs.empty()) return nullptr;
    std::vector<ir::Value*> outputs = form_ == Form::kInBlock
                                          ? in_block()
                                          : builder_.ops(case_.op, inputs_, case_.outputs.size());
    if (outputs.empty() || !builder_.status().ok()) return nullptr;
    if (form_ == Form::kDeclared || form_ == Form::kInBlock) declare(outputs);
    return builder_.finish(outputs).ok() ? program_ : nullptr;
  }

 private:
  bool bind(std::string_view parameter, const std::vector<Argument>& arguments) {
    const ir::Parameter* entry = schema_.parameter(parameter);
    if (entry == nullptr) return false;
    std::vector<ir::Value*> values;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const Argument& argument = arguments[i];
      if (argument.text || (entry->is_const && !entry->is_variadic)) {
        inputs_.push_back({entry->name, literal(argument)});
        return true;
      }
      const std::string name = name_of(parameter, i);
      if (entry->is_const) {
        values.push_back(builder_.constant(literal(argument), name));
        continue;
      }
      ir::Type type = argument.type;
      if (form_ == Form::kOpen) std::fill(type.shape.begin(), type.shape.end(), kDynamic);
      ir::Value* value = builder_.input(name, type);
      if (form_ == Form::kDeclared) value = copy(value, argument);
      values.push_back(value);
    }
    if (values.empty()) return true;
    if (entry->is_variadic)
      inputs_.push_back({entry->name, values});
    else
      inputs_.push_back({entry->name, values[0]});
    return true;
  }

  static ir::Literal literal(const Argument& argument) {
    return argument.text ? ir::Literal::text(*argument.text)
                         : ir::Literal::of(argument.tensor->clone());
  }

  // maximum(x, x): the same values, which now lie in the arena of the plan and not in the memory of
  // the caller. Of types that maximum does not take, the input itself.
  ir::Value* copy(ir::Value* value, const Argument& argument) {
    ir::Builder::Input x{"x", value};
    const ir::Type& type = argument.type;
    if (type.dtype != DType::kFp32 && type.dtype != DType::kFp16 && type.dtype != DType::kInt32)
      return value;
    std::vector<ir::Builder::Input> inputs = {x, {"y", value}};
    return builder_.op("maximum", std::move(inputs));
  }

  // if (yes) { the operation } else { the same }
  std::vector<ir::Value*> in_block() {
    ir::Value* yes = builder_.input("yes", ir::Type::tensor(DType::kBool, {}));
    ir::Block* block = builder_.function().block;
    std::vector<ir::Block*> blocks;
    for (int i = 0; i < 2; ++i) {
      ir::Block* inner = program_->add_block();
      inner->outputs = builder_.ops(case_.op, inputs_, case_.outputs.size());
      if (inner->outputs.empty()) return {};
      inner->ops.push_back(block->ops.back());
      block->ops.pop_back();
      declare(inner->outputs);
      blocks.push_back(inner);
    }
    ir::Op* cond = program_->add_op();
    cond->type = "cond";
    cond->name = "choice";
    cond->inputs.emplace("pred", ir::Arguments{yes});
    cond->blocks = blocks;
    for (std::size_t i = 0; i < case_.outputs.size(); ++i) {
      ir::Value* value =
          program_->add_value("out_" + std::to_string(i), blocks[0]->outputs[i]->type);
      value->producer = cond;
      cond->outputs.push_back(value);
    }
    block->ops.push_back(cond);
    return cond->outputs;
  }

  void declare(const std::vector<ir::Value*>& outputs) const {
    for (std::size_t i = 0; i < outputs.size(); ++i) outputs[i]->type = case_.outputs[i].type;
  }

  const OpCase& case_;
  const Form form_;
  const ir::OpSchema& schema_;
  std::shared_ptr<ir::Program> program_ = std::make_shared<ir::Program>();
  ir::Builder builder_;
  std::vector<ir::Builder::Input> inputs_;
};

struct Engine {
  std::string name;
  std::shared_ptr<const LoadedProgram> program;
};

std::vector<Engine> load(const std::shared_ptr<ir::Program>& program, bool on_all_isas) {
  std::vector<exec::CpuOptions> options = {{.threads = 1, .is_reference = true}};
  std::vector<Isa> isas = kernels::simd::supported_isas();
  if (!on_all_isas) isas = {isas.back()};
  for (const Isa isa : isas) options.push_back({.threads = 1, .isa = isa});
  std::vector<Engine> out;
  for (exec::CpuOptions& option : options) {
    option.memory_bytes = kMemory;
    const std::string name =
        option.is_reference ? "reference" : std::string(kernels::simd::isa_name(option.isa));
    auto loaded = exec::load_program(program, {}, {}, option);
    EXPECT_TRUE(loaded.ok()) << name << ": " << loaded.status().message();
    if (loaded.ok()) out.push_back({name, *loaded});
  }
  return out;
}

// The operands of a case in memory of exactly their size.
class Given {
 public:
  explicit Given(const OpCase& op_case) {
    for (const auto& [parameter, arguments] : op_case.inputs)
      for (std::size_t i = 0; i < arguments.size(); ++i) {
        if (!arguments[i].tensor) continue;
        const TensorView view = arguments[i].tensor->view();
        const auto size = static_cast<std::size_t>(view.size_bytes());
        Operand& operand = operands_.emplace_back();
        operand.name = name_of(parameter, i);
        operand.bytes = std::make_unique<std::byte[]>(size);
        if (size > 0) std::memcpy(operand.bytes.get(), view.data, size);
        // A value of rank 0 is [1] at the interface of a function (exec::Feature).
        operand.view = {view.dtype, view.shape.empty() ? Shape{1} : view.shape,
                        operand.bytes.get()};
      }
  }

  Status run(const LoadedProgram& program) const {
    exec::Inputs inputs;
    const bool yes = true;
    for (const exec::Feature& feature : program.signature("")->inputs) {
      if (feature.name == "yes") {
        inputs.push_back({"yes", {DType::kBool, {1}, reinterpret_cast<const std::byte*>(&yes)}});
        continue;
      }
      const auto found = std::ranges::find(operands_, feature.name, &Operand::name);
      inputs.push_back({found->name, found->view});
    }
    exec::Outputs outputs;
    return program.run("", inputs, outputs, nullptr);
  }

 private:
  struct Operand {
    std::string name;
    std::unique_ptr<std::byte[]> bytes;
    TensorView view;
  };
  std::vector<Operand> operands_;
};

// Hostile values of an element that is a count, an index or a size: around 0, around each dimension
// of the case, and the ends of int32; and for floats huge, fractional and non-finite ones.
std::vector<double> hostile_numbers(const OpCase& op_case, DType dtype) {
  std::set<double> out = {-1, 0, 1, -2147483648.0, 2147483647.0};
  for (const auto& [parameter, arguments] : op_case.inputs)
    for (const Argument& argument : arguments)
      for (const std::int64_t dim : argument.type.shape)
        for (const std::int64_t near : {dim - 1, dim, dim + 1, -dim, -dim - 1})
          out.insert(static_cast<double>(near));
  std::vector<double> numbers(out.begin(), out.end());
  if (is_float(dtype))
    for (const double value :
         {1e30, -1e30, 65504.0, -0.5, std::numeric_limits<double>::infinity(),
          -std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()})
      numbers.push_back(value);
  return numbers;
}

void set_element(Tensor& tensor, std::size_t i, double number) {
  const MutableTensorView view = tensor.mutable_view();
  if (view.dtype == DType::kInt32) {  // a float cannot hold 2147483647
    view.as<std::int32_t>()[i] = static_cast<std::int32_t>(number);
    return;
  }
  const std::size_t size = static_cast<std::size_t>(dtype_bits(view.dtype)) / 8;
  const float value = static_cast<float>(number);
  store_floats({&value, 1}, {view.dtype, {1}, view.data + i * size});
}

class Engines : public ::testing::TestWithParam<std::string> {
 protected:
  // Whether the type rule accepts the case when it sees all values; `types` gets what it infers.
  static bool is_accepted(const OpCase& op_case, std::vector<ir::Type>& types) {
    const ir::OpSchema& schema = *ops::op_registry().find(op_case.op);
    const CaseContext context(op_case, op_case.inputs, schema, {});
    return ir::infer_types(schema, context, context.bound_parameters(), types).ok();
  }

  // One call of every engine; the first is the reference.
  void expect_refused_or_executed(const OpCase& op_case, Form form,
                                  const std::vector<Engine>& engines, const std::string& what) {
    std::vector<ir::Type> types;
    bool may_run = is_accepted(op_case, types);
    if (may_run && form != Form::kInferred && form != Form::kOpen)
      for (std::size_t i = 0; i < types.size(); ++i)
        may_run = may_run && ir::is_compatible(op_case.outputs[i].type, types[i]);
    const Given given(op_case);
    std::optional<bool> reference;
    for (const Engine& engine : engines) {
      const Status status = given.run(*engine.program);
      if (!may_run) {
        EXPECT_FALSE(status.ok()) << engine.name << " executes " << what;
      }
      if (!reference) reference = status.ok();
      EXPECT_EQ(status.ok(), *reference) << engine.name << ", " << what << ": " << status.message();
      EXPECT_NE(status.code(), Code::kInternal) << engine.name << ", " << what;
    }
  }

  void walk(OpCase& op_case, Form form, const std::vector<Engine>& engines) {
    const ir::OpSchema& schema = *ops::op_registry().find(op_case.op);
    for (auto& [parameter, arguments] : op_case.inputs) {
      const ir::Parameter* entry = schema.parameter(parameter);
      for (Argument& argument : arguments) {
        if (entry == nullptr || !is_operand(*entry) || !argument.tensor ||
            !is_number(argument.type.dtype))
          continue;
        walked_.insert(entry->name);
        const auto count = static_cast<std::size_t>(argument.tensor->view().size());
        if (count == 0) continue;
        for (const std::size_t i : std::set<std::size_t>{0, 1 % count, count / 2, count - 1}) {
          const Tensor before = argument.tensor->clone();
          for (const double number : hostile_numbers(op_case, argument.type.dtype)) {
            set_element(*argument.tensor, i, number);
            expect_refused_or_executed(op_case, form, engines,
                                       op_case.name + " with " + std::to_string(number) + " at " +
                                           std::to_string(i) + " of " + std::string(parameter));
          }
          argument.tensor = before.clone();
        }
      }
    }
  }

  // Whether a run decides a parameter of the case that no case before it has walked.
  bool has_new_operand(const OpCase& op_case) const {
    return std::ranges::any_of(op_case.inputs, [&](const auto& input) {
      const ir::Parameter* entry = ops::op_registry().find(op_case.op)->parameter(input.first);
      return entry != nullptr && is_operand(*entry) && !walked_.contains(entry->name);
    });
  }

  std::set<std::string_view> walked_;  // parameters
};

TEST_P(Engines, RefuseOrExecuteHostileValues) {
  auto cases = read_op_cases(ANEMONE_SOURCE_DIR "/tests/ops/data/" + GetParam() + ".json");
  ASSERT_TRUE(cases.ok()) << cases.status().message();
  std::erase_if(*cases, [](const OpCase& one) { return !one.error.empty() || one.no_kernel; });
  const std::size_t step = 1 + cases->size() / kCases;
  for (const Form form : kForms) {
    for (std::size_t i = 0; i < cases->size(); ++i) {
      OpCase& op_case = (*cases)[i];
      if (i % step != 0 && !has_new_operand(op_case)) continue;
      const auto program = ProgramOfCase(op_case, form).build();
      if (program == nullptr) continue;
      SCOPED_TRACE(op_case.name + ", form " + std::to_string(static_cast<int>(form)));
      const auto engines = load(program, form == Form::kDeclared);
      for (const Engine& engine : engines) {
        const Status status = Given(op_case).run(*engine.program);
        ASSERT_TRUE(status.ok()) << engine.name << ": " << status.message();
      }
      walk(op_case, form, engines);
    }
  }
  for (const ir::Parameter& parameter : ops::op_registry().find(GetParam())->parameters)
    if (is_operand(parameter)) {
      EXPECT_TRUE(walked_.contains(parameter.name))
          << "no case of " << GetParam() << " has " << parameter.name << " as a value of a run";
    }
}

// All operations but those that the interpreter runs itself: tests/exec has their hostile values.
// registry_test.cc checks that each of the others has a data file.
std::vector<std::string> kernel_operations() {
  std::vector<std::string> out;
  for (const std::string_view op : ops::op_registry().names())
    if (kernels::find_reference_kernel(op) != nullptr) out.emplace_back(op);
  return out;
}

INSTANTIATE_TEST_SUITE_P(Operations, Engines, ::testing::ValuesIn(kernel_operations()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace anemone::testing
