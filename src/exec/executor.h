// SPDX-License-Identifier: Apache-2.0
// The one interface between the engine and whatever runs a package: the CPU engine, Core ML, or a
// test double. An Executor loads packages; a LoadedProgram is one loaded package with all its
// functions over one set of weights; a StateStore holds the states (KV caches and the like) of one
// conversation.
//
// Thread rules. An Executor and a LoadedProgram are thread-safe and shared read-only by many
// sessions. A StateStore is single-thread: one run at a time uses it. Several runs with different
// StateStores may be in flight on one LoadedProgram.
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "exec/step_facts.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

namespace anemone::exec {

// Allowed sizes of one flexible dimension, both ends included; kUnbounded: no upper end.
struct SizeRange {
  static constexpr std::int64_t kUnbounded = -1;
  std::int64_t lower = 1;
  std::int64_t upper = kUnbounded;
};

// An input, an output or a state of a function, as the package describes it. A value of rank 0 in
// the program has the shape [1] here, on the way in and on the way out.
struct Feature {
  std::string name;
  DType dtype = DType::kFp32;
  // kDynamic where flexible (inputs) or known only at run time (outputs); an output of which not
  // even the rank is known before it has none.
  Shape shape;
  std::vector<SizeRange> size_ranges;  // one per dimension, or empty
  std::vector<Shape> allowed_shapes;   // the only legal shapes, when not empty
  bool is_optional = false;  // an input that may be left out: then it is `default_value` everywhere
  std::optional<double> default_value;
  Shape default_shape;  // shape of a default input; empty unless optional
};

struct Signature {
  std::vector<Feature> inputs;
  std::vector<Feature> outputs;
  std::vector<Feature> states;

  // Looks at one after the other (base/name_index.h finds many). nullptr when absent.
  const Feature* input(std::string_view name) const;
  const Feature* output(std::string_view name) const;
  const Feature* state(std::string_view name) const;
};

// What goes into a call. The elements must stay readable and unchanged until the call returns.
using Inputs = std::vector<NamedView>;

struct NamedTensor {
  std::string name;
  Tensor tensor;
};
// The outputs of a run. After a successful run: every output of the function, in the order of its
// signature. Before it: empty, or the tensors of an earlier call, whose storage is used again where
// name, dtype and shape still fit (so a decode loop does not allocate). A tensor must not also be
// the storage of an input of the same call: a cache that is an input and an output alternates
// between two tensors.
using Outputs = std::vector<NamedTensor>;

// nullptr when absent.
const Tensor* find_output(const Outputs& outputs, std::string_view name);

// All states that a program declares, by name, zero at the start; shared by all functions of the
// program. Single-thread.
class StateStore {
 public:
  virtual ~StateStore() = default;
  virtual const std::vector<Feature>& states() const = 0;
  // A copy of a state. kNotFound for an unknown name.
  virtual Result<Tensor> read(std::string_view name) const = 0;
  // Replaces a state. kNotFound for an unknown name, kInvalidArgument for another dtype or shape;
  // the state is unchanged after an error.
  virtual Status write(std::string_view name, const TensorView& value) = 0;
  // Calls `edit` with the elements of a state, which it may read and change; the view is valid
  // until it returns. In place where the executor can, so that it costs what `edit` touches; by
  // default by read() and write(). kNotFound for an unknown name.
  virtual Status edit(std::string_view name,
                      const std::function<void(const MutableTensorView&)>& edit);
  // Every state back to zero.
  virtual void reset() = 0;
};

struct CacheBinding;  // cache_binding.h
struct RunTimes;      // profile.h

// One run of several together; the pointers are those of LoadedProgram::run().
struct BatchItem {
  const Inputs* inputs = nullptr;
  Outputs* outputs = nullptr;
  StateStore* states = nullptr;
  // May be null. The masks that it has stand in for inputs, which are then left out: only some of
  // LoadedProgram::mask_inputs().
  const StepFacts* facts = nullptr;
  // Caches of the caller that the run works on; no cache is bound twice in one item.
  std::span<const CacheBinding> caches = {};
  // May be null; of the first item alone. Called again and again while the run goes on, on the
  // caller's thread, by executors that can: it may run other functions, with other states and
  // caches, which then need not wait for the end of a long run. It does not throw.
  const std::function<void()>* meanwhile = nullptr;
  // May be null; of the first item alone. Gets how long the steps of all items took, from executors
  // that tell. The results are the same to the bit.
  RunTimes* times = nullptr;
  // False where nobody reads the outputs of the run, as of a part of a prompt whose tokens need
  // only be in the caches: they are then unspecified, and an executor may leave out whatever states
  // and bound caches do not depend on, with the errors of what it leaves out. States and caches are
  // the same to the bit.
  bool wants_outputs = true;
};

class Profiled;

// One loaded package. Thread-safe, immutable, shared.
class LoadedProgram {
 public:
  virtual ~LoadedProgram() = default;
  // The names of the functions in the order of the package; never empty.
  virtual const std::vector<std::string>& functions() const = 0;
  virtual const std::string& default_function() const = 0;
  // nullptr when the package has no such function. Lives as long as the program.
  virtual const Signature* signature(std::string_view function) const = 0;

  // A new set of states for this program, all zero.
  virtual Result<std::unique_ptr<StateStore>> make_state() const = 0;

  // Runs one function; an empty name is the default function. `states` may be null when the
  // function declares none. Everything about the inputs is checked first, with one line that names
  // the input; then nothing has changed. After any other error the values of `states` and of
  // `outputs` are unspecified, and both are safe to pass again: whoever wants to go on with the
  // states resets or writes them first.
  virtual Status run(std::string_view function, const Inputs& inputs, Outputs& outputs,
                     StateStore* states) const = 0;

  // Does what run() would do for each item in turn, with the same results to the bit; an executor
  // may read the weights once for all of them. Items may share a StateStore and bound caches: a
  // later one sees what an earlier one has stored. After an error what run() says holds for every
  // item.
  virtual Status run_batch(std::string_view function, std::span<const BatchItem> items) const;
  // Whether it reads the weights once for the items of most batches, so that a batch of single
  // tokens costs no more than one run of them all.
  virtual bool reads_weights_once() const { return false; }

  // Calls body(0) to body(count - 1), several at a time where the executor has threads for its
  // runs: for the work of a caller between runs, which the threads would wait for. The bodies
  // neither throw nor run programs of the executor.
  virtual void for_each(std::size_t count, const std::function<void(std::size_t)>& body) const;

  // The inputs of a function that a run needs no tensors for, when it has facts about them
  // (BatchItem::facts), by name. None by default, and for an unknown function.
  virtual std::vector<std::string> mask_inputs(std::string_view function) const;

  // How the program runs (profile.h); nullptr where the executor does not tell. Lives as long as
  // the program.
  virtual const Profiled* profiled() const { return nullptr; }
};

struct LoadOptions {
  // The functions that are made runnable; empty: all. kNotFound when one is not in the package.
  std::vector<std::string> functions;
  // Each function is made runnable when it first runs, which then says what is wrong with it: for
  // packages of which a session uses a few functions of many.
  bool when_first_run = false;
};

// Thread-safe.
class Executor {
 public:
  virtual ~Executor() = default;
  virtual std::string_view name() const = 0;  // "cpu", "coreml"
  // kUnsupported (naming the operation) when the package holds something that this executor cannot
  // run.
  virtual Result<std::shared_ptr<const LoadedProgram>> load(const std::string& package_path,
                                                            const LoadOptions& options = {}) = 0;
};

// Checks the inputs of a call against a signature: unknown, doubled or missing names, dtype, rank,
// fixed dimensions, ranges and enumerations. kInvalidArgument: "[input x] expected shape [1, 64],
// got [1, 32]". Implementations of LoadedProgram call it.
Status check_inputs(const Signature& signature, const Inputs& inputs);
// Checks a run: its tensors as check_inputs() does, and its step facts and cache bindings, which
// stand for inputs that must not be among the tensors.
Status check_item(const Signature& signature, const BatchItem& item);

// The largest shape that a feature may have; dimensions without a limit stay kDynamic.
Shape greatest_shape(const Feature& feature);

// The shape of a mask that is given as a fact. An open axis has the tokens of the step; over a past
// of open length it has its greatest size, and the positions beyond the past that is there are
// masked.
Shape mask_shape(const Feature& feature, const MaskFact& mask, const StepFacts& facts);

// One shape against one feature, as check_inputs does it.
Status check_shape(const Feature& feature, const Shape& shape);

}  // namespace anemone::exec
