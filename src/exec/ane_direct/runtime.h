// SPDX-License-Identifier: Apache-2.0
// What the private client needs of the Neural Engine, in plain C++: no Objective-C type stands
// here, and nothing here decides anything. One implementation calls Apple's private classes
// (ane_runtime.mm, only with the build option ANEMONE_PRIVATE_ANE on macOS); the tests have
// another, which runs the programs by the reference interpreter and refuses whatever breaks a rule
// of this page. The rules are what others measured (docs/ane-laws.md); Apple documents none.
//
// The order of calls for a program: compile, load, evaluate as often as wanted, unload, release.
// An unloaded program may be loaded again.
//
// Text. A program has one function, "main", whose inputs and outputs are fp16 tensors. Its syntax
// and target go together (text_form.h), and it has a buildInfo with a "coremlc-version".
// Constants in files are BLOBFILE(path = "@model_path/weights/NAME.bin", offset = 64), one constant
// per file.
//
// Surfaces. An input or output [1, C, H, S] is a flat surface of C * H rows. Each row begins at a
// multiple of 64 bytes, so a surface has at least C * H * round_up(2 * S, 64) bytes. S is a
// multiple of 32: then rows that lie one after the other and rows at multiples of 64 bytes are
// the same memory. A surface may be larger.
//
// Order. Surfaces are given by position, and positions go by the names of the inputs or outputs in
// alphabetical order (bytes), not by the order of the program. One report contradicts it for
// outputs: port_order.h measures it, and our names are the same in both orders.
//
// Limits. A process compiles about 119 programs; after that, compilation fails without a usable
// error. Failed compilations may count. compile_budget.h stops well before. A program has at most
// 32 inputs and 32 outputs.
//
// Quality of service. Any number from 0 to 63 works and none was seen to change a run; kQos is
// what everybody uses.
//
// Handles. Whoever gets one releases it, a model after its unload; one that was released, or that
// another runtime gave, is an error and never undefined behaviour.
//
// Threads. Every function may be called by several threads at a time, but for one model one call
// at a time, and a surface is in use by one evaluation or access at a time. Compiling one program
// and evaluating others at the same time is fine.
//
// Errors. Every call that can fail says so. After a failed evaluation the outputs are unspecified.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "exec/runtime_error.h"

namespace anemone::exec::ane_direct {

inline constexpr std::uint32_t kQos = 21;
inline constexpr std::int64_t kRowBytes = 64;        // what rows of surfaces are a multiple of
inline constexpr std::int64_t kColumnMultiple = 32;  // of the last axis: kRowBytes of fp16
inline constexpr std::size_t kMostPorts = 32;        // inputs of a program, and outputs

// A file that the text refers to.
struct WeightFile {
  std::string path;                  // "weights/NAME.bin", below @model_path
  std::span<const std::byte> bytes;  // in the blob format (mlpackage/blob.h)
};

enum class ModelHandle : std::uint64_t { kNone = 0 };
enum class SurfaceHandle : std::uint64_t { kNone = 0 };

class AneRuntime {
 public:
  virtual ~AneRuntime() = default;

  // "Apple M4 Max"; empty where the system does not tell.
  virtual std::string chip() const = 0;

  // Compiles a program. The memory of the arguments may go after the call.
  virtual Outcome<ModelHandle> compile(std::string_view mil, std::span<const WeightFile> weights,
                                       std::uint32_t qos) = 0;
  // Makes a compiled program ready to run.
  virtual Failure load(ModelHandle model, std::uint32_t qos) = 0;
  // Runs a loaded program once: reads `inputs`, writes `outputs`, each surface once.
  virtual Failure evaluate(ModelHandle model, std::span<const SurfaceHandle> inputs,
                           std::span<const SurfaceHandle> outputs, std::uint32_t qos) = 0;
  virtual Failure unload(ModelHandle model, std::uint32_t qos) = 0;
  // Forgets a program that is not loaded, with the files that its compilation left.
  virtual void release(ModelHandle model) = 0;

  // Memory for an input or an output, with any contents.
  virtual Outcome<SurfaceHandle> make_surface(std::uint64_t bytes) = 0;
  enum class Access { kRead, kWrite };
  // Calls `use` with the memory of a surface, which is valid until it returns; with kWrite it may
  // be changed. It does not throw.
  virtual Failure access(SurfaceHandle surface, Access access,
                         const std::function<void(std::span<std::byte>)>& use) = 0;
  virtual void release(SurfaceHandle surface) = 0;
};

// The Neural Engine of this machine. Null without ANEMONE_PRIVATE_ANE, on other systems than
// macOS, and where the private classes are absent or lack a method that is called.
std::shared_ptr<AneRuntime> make_ane_runtime();

}  // namespace anemone::exec::ane_direct
