// SPDX-License-Identifier: Apache-2.0
// What the Core ML executor needs of Core ML, in plain C++: no Objective-C type stands here, and
// nothing here decides anything. One implementation calls Core ML (coreml_runtime.mm, macOS alone);
// the tests have another, which runs packages by the CPU engine and refuses whatever breaks a rule
// of this page.
//
// Models and states are handles. Whoever gets one releases it; one that was released, or that
// another runtime gave, is an error and never undefined behaviour.
//
// Thread rules. Every function may be called by several threads at a time, within these limits,
// which are Core ML's:
//   - one prediction at a time with one model;
//   - one prediction or access at a time with one state;
//   - a model or a state is not released while a call uses it.
// Memory that a call is given must stay valid until the call returns, and nobody else may write to
// it meanwhile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "exec/executor.h"
#include "exec/runtime_error.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace anemone::exec::coreml {

enum class ComputeUnits { kCpuOnly, kCpuAndGpu, kAll, kCpuAndNeuralEngine };

// What a model is loaded with.
struct ModelOptions {
  std::string function = {};  // empty: the default function of the package
  ComputeUnits units = ComputeUnits::kCpuAndNeuralEngine;
  // Asks for fast predictions at the price of a slower load, more memory and more disk.
  bool specializes_for_speed = false;
  std::string display_name = {};  // in Apple's tools
};

// An input, an output or a state.
struct FeatureInfo {
  std::string name;
  DType dtype = DType::kFp16;  // kString stands for whatever is no multi-array
  // The default shape. Empty where Core ML does not tell, as of an output whose shape depends on
  // those of the inputs.
  Shape shape = {};
  std::vector<SizeRange> size_ranges = {};  // of each dimension, or empty: the shape is fixed
  std::vector<Shape> allowed_shapes = {};   // the only ones, unless empty; may be one
  bool is_optional = false;
  // Bytes of which every row (the last axis) takes a multiple in the arrays of a prediction; 0:
  // rows may lie one after the other. The memory formats of the chip pad rows to 64 bytes.
  std::int64_t row_bytes = 0;
};

// The interface of one function. The features are in an order that Core ML chooses.
struct ModelInfo {
  std::vector<FeatureInfo> inputs;
  std::vector<FeatureInfo> outputs;
  std::vector<FeatureInfo> states;
};

// Elements in memory of somebody else. Strides count elements; none is negative or zero.
struct Array {
  DType dtype = DType::kFp16;
  Shape shape;
  std::vector<std::int64_t> strides;  // one for each dimension
  std::byte* data = nullptr;
  std::uint64_t bytes = 0;  // that may be read, and written where the call says so, from `data` on
};

struct NamedArray {
  std::string_view name;
  Array array;
};

enum class ModelHandle : std::uint64_t { kNone = 0 };
enum class StateHandle : std::uint64_t { kNone = 0 };

struct Prediction {
  // Every input that is not optional. Only read.
  std::span<const NamedArray> inputs;
  // Where outputs should go; any of them may be absent. The runtime may write elsewhere in spite of
  // it. Only written; shares no memory with an input.
  std::span<const NamedArray> backings = {};
  StateHandle state = StateHandle::kNone;  // for a function with states, and for no other
  // Called for every output, with its memory, which is valid until it returns; null: it is in its
  // backing. Not called after an error. It does not throw.
  std::function<void(std::string_view name, const Array* array)> take;
};

enum class Device { kUnknown, kNeuralEngine, kGpu, kCpu };

// What Core ML expects of an operation. It is a forecast, not a record of what ran.
struct PlannedOperation {
  std::string name;                     // of its first output
  std::string type;                     // "conv" or, in compiled models, "ios18.conv"
  Device preferred = Device::kUnknown;  // kUnknown is usual of constants
  std::vector<Device> supported;
  double cost = 0;  // its share of the function, from 0 to 1; 0 where it is not known
};
using ComputePlan = std::vector<PlannedOperation>;  // the outermost block, in order

// The machine, as far as compiled models depend on it.
struct MachineInfo {
  std::string os_build;  // "25F71"; compiled models are tied to it
  std::string hardware;  // "Mac16,10"
  bool has_neural_engine = false;
};

class CoreMlRuntime {
 public:
  virtual ~CoreMlRuntime() = default;

  virtual MachineInfo machine() const = 0;

  // Compiles a package into the folder `target` ("X.mlmodelc"), which does not exist yet. Takes
  // from a second to hours and cannot be stopped; after an error or a kill anything may lie there.
  virtual Failure compile(const std::string& package, const std::string& target) = 0;

  // The functions of a compiled model, in an order that Core ML chooses; none: it has a single one,
  // without a name.
  virtual Outcome<std::vector<std::string>> functions(const std::string& compiled) = 0;
  // The interface of a function, without loading it; empty: the default function.
  virtual Outcome<ModelInfo> describe(const std::string& compiled, const std::string& function) = 0;

  // Makes one function of a compiled model ready for predictions.
  virtual Outcome<ModelHandle> load(const std::string& compiled, const ModelOptions& options) = 0;
  virtual void release(ModelHandle model) = 0;

  // A set of states, all zero, for the functions of one compiled model that have states of the same
  // names, types and shapes and are loaded for the same units.
  virtual Outcome<StateHandle> make_state(ModelHandle model) = 0;
  virtual void release(StateHandle state) = 0;
  // Calls `access` with the memory of a state, which it may read and write until it returns; the
  // memory may be elsewhere the next time, and its rows may be padded. It does not throw.
  virtual Failure access_state(StateHandle state, const std::string& name,
                               const std::function<void(const Array&)>& access) = 0;

  // Runs a function once. After an error the state and the backings are unspecified.
  virtual Failure predict(ModelHandle model, const Prediction& prediction) = 0;

  // Where Core ML expects to run the operations of a function.
  virtual Outcome<ComputePlan> plan(const std::string& compiled, const ModelOptions& options) = 0;
};

// Core ML of this machine. `row_bytes` becomes FeatureInfo::row_bytes of inputs and outputs: Core
// ML takes any strides and has no public call that tells which it need not copy, so it is the
// caller's choice. Null on a system without Core ML, and before macOS 15.
std::shared_ptr<CoreMlRuntime> make_coreml_runtime(std::int64_t row_bytes = 0);

}  // namespace anemone::exec::coreml
