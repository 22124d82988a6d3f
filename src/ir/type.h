// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace anemone::ir {

// A MIL value type. Almost everything is a tensor; scalars and strings are tensors of rank 0. A
// plain value.
struct Type {
  enum class Kind { kTensor, kList, kTuple, kDictionary, kState };

  Kind kind = Kind::kTensor;
  DType dtype = DType::kFp32;      // tensor; state: of the wrapped tensor
  Shape shape;                     // tensor; state: of the wrapped tensor. kDynamic where unknown
  std::vector<Type> members;       // list: {element}; dictionary: {key, value}; tuple: its parts
  std::int64_t length = kDynamic;  // list: number of elements when fixed

  static Type tensor(DType dtype, Shape shape);
  static Type scalar(DType dtype) { return tensor(dtype, {}); }
  static Type state(DType dtype, Shape shape);
  static Type list(Type element, std::int64_t length);
  static Type dictionary(Type key, Type value);

  bool is_tensor() const { return kind == Kind::kTensor; }
  bool is_state() const { return kind == Kind::kState; }
  friend bool operator==(const Type&, const Type&) = default;
};

// The two spellings of MIL text. Apple's compilers take no mixture of them.
enum class Syntax {
  kTensors,  // program(1.0), for targets up to ios17: a scalar is a "tensor<fp32, []>"
  kScalars,  // program(1.3), for targets from ios18 on: a scalar is an "fp32"
};

// MIL text: "tensor<fp16, [1, 64, ?, 1]>", "fp32" for a scalar, "state<tensor<fp16, [2, 8]>>",
// "list<string, 3>", "dict<string, fp32>", "tuple<...>".
std::string to_string(const Type& type, Syntax syntax = Syntax::kScalars);

// True when a value of type `actual` may stand where `declared` is written: equal, but for
// dimensions that one of the two leaves unknown.
bool is_compatible(const Type& declared, const Type& actual);

}  // namespace anemone::ir
