// SPDX-License-Identifier: Apache-2.0
// A Core ML package in memory: the interface that callers see, and the MIL program behind it. Read
// by package_reader.h, written by package_writer.h.
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "base/mapped_file.h"
#include "ir/program.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace anemone::mlpackage {

// Bounds of one dimension, inclusive. A fixed dimension has lower == upper.
struct DimensionRange {
  std::int64_t lower = 1;
  std::int64_t upper = 1;  // -1: no bound
  friend bool operator==(const DimensionRange&, const DimensionRange&) = default;
};

// Which shapes a feature takes besides its default: none others, any in a range, or one of a list.
struct Flexibility {
  std::vector<DimensionRange> ranges = {};  // one for each dimension
  std::vector<Shape> enumerated = {};       // the default shape is one of them
  bool is_fixed() const { return ranges.empty() && enumerated.empty(); }
  friend bool operator==(const Flexibility&, const Flexibility&) = default;
};

// One input, output or state as the package describes it: Core ML's FeatureDescription.
struct FeatureDescription {
  enum class Kind { kMultiArray, kImage, kState, kInt64, kDouble, kString, kDictionary };
  enum class ColorSpace { kGrayscale = 10, kRgb = 20, kBgr = 30, kGrayscaleFp16 = 40 };

  std::string name = {};
  std::string description = {};
  Kind kind = Kind::kMultiArray;
  DType dtype = DType::kFp32;  // multi-array and state: fp16, fp32, fp64, int8, int32
  // Default shape. A scalar input has [1]; an output whose shape is a scalar or not known has none.
  // Image: [height, width]; the program's tensor is [1, channels, height, width].
  Shape shape = {};
  Flexibility flexibility = {};
  bool is_optional = false;
  // Fills an optional multi-array that the caller leaves out; none means 0.
  std::variant<std::monostate, std::int32_t, float, double> default_value = {};
  ColorSpace color_space = ColorSpace::kRgb;  // image
  bool has_string_keys = true;                // dictionary: else int64 keys

  friend bool operator==(const FeatureDescription&, const FeatureDescription&) = default;
};

std::string_view kind_name(FeatureDescription::Kind kind);
std::int64_t image_channels(FeatureDescription::ColorSpace color_space);

// What one function takes and gives. Inputs do not contain states.
struct FunctionInterface {
  std::string name = "main";
  std::vector<FeatureDescription> inputs;
  std::vector<FeatureDescription> outputs;
  std::vector<FeatureDescription> states;
  std::string predicted_feature_name;        // classifiers only
  std::string predicted_probabilities_name;  // classifiers only

  // nullptr when absent. `input` also finds states.
  const FeatureDescription* input(std::string_view feature_name) const;
  const FeatureDescription* output(std::string_view feature_name) const;
  friend bool operator==(const FunctionInterface&, const FunctionInterface&) = default;
};

struct Metadata {
  std::string short_description;
  std::string version;
  std::string author;
  std::string license;
  std::map<std::string, std::string> user_defined;
  friend bool operator==(const Metadata&, const Metadata&) = default;
};

// Movable, not copyable (it owns the program). Constants that lie in a weight file keep it mapped.
struct Model {
  int specification_version = 0;  // 0 when written: the least that the content needs
  // The functions in the order of the package; one named "main" unless is_multifunction.
  std::vector<FunctionInterface> functions;
  std::string default_function = "main";
  bool is_multifunction = false;
  Metadata metadata;
  ir::Program program;

  // Set by the reader: the weight files that are mapped, and for each constant that lies in one the
  // offset of its blob.
  std::vector<std::shared_ptr<const MappedFile>> weight_files;
  std::unordered_map<const ir::Data*, std::uint64_t> blob_offsets;

  const FunctionInterface* function(std::string_view name) const;  // nullptr when absent
};

// The shapes that an input with unknown dimensions takes.
struct FlexibleShape {
  Shape default_shape;
  Flexibility flexibility;
};

// The interface that follows from a function's inputs, states and outputs: names, dtypes, shapes.
// Inputs with unknown dimensions need an entry in `flexible`, keyed by input name; kInvalidArgument
// without one or when an output is no tensor of a dtype that a package can describe. The writer
// checks the result in full.
Result<FunctionInterface> describe_function(
    const ir::Function& function, const std::map<std::string, FlexibleShape>& flexible = {});

// The lowest specification version that has everything the model uses: opsets, states, several
// functions, element types of the interface.
int minimum_specification_version(const Model& model);

}  // namespace anemone::mlpackage
