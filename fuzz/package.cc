// SPDX-License-Identifier: Apache-2.0
// A whole package: Manifest.json, the model and its weight file as parts of one input. What loads
// runs: by both engines, with tensors that the part "values" puts together.
#include <cmath>
#include <limits>

#include "base/check.h"
#include "exec/cpu/cpu_executor.h"
#include "fuzz/support.h"
#include "ir/text.h"
#include "mlpackage/package_reader.h"

namespace {

using namespace anemone;

// Most elements of all inputs together, and of all states together, of a function that runs; and
// most bytes of the values of a run.
constexpr std::int64_t kMaxElements = 1 << 14;
constexpr std::uint64_t kMaxMemory = 1 << 20;

// Hands out the bytes of a part again and again.
class Values {
 public:
  explicit Values(std::string_view bytes) : bytes_(bytes) {}

  std::uint8_t byte() {
    if (bytes_.empty()) return 0;
    return static_cast<std::uint8_t>(bytes_[next_++ % bytes_.size()]);
  }

  // A dimension may be one of a few sizes that the feature allows.
  Shape shape(const exec::Feature& feature) {
    if (!feature.allowed_shapes.empty())
      return feature.allowed_shapes[byte() % feature.allowed_shapes.size()];
    Shape out = feature.shape;
    for (std::size_t i = 0; i < out.size(); ++i) {
      if (out[i] != kDynamic) continue;
      const bool has_range = i < feature.size_ranges.size();
      out[i] = (has_range ? feature.size_ranges[i].lower : 1) + byte() % 5;
    }
    return out;
  }

  // Memory of exactly the size of the tensor.
  std::vector<std::byte> elements(DType dtype, std::int64_t count) {
    std::vector<std::byte> out(dtype_bytes(dtype, static_cast<std::uint64_t>(count)));
    if (is_sub_byte(dtype)) return out;
    const auto size = static_cast<std::size_t>(dtype_bits(dtype)) / 8;
    for (std::size_t at = 0; at < out.size(); at += size) {
      const float value = number();
      if (dtype == DType::kBool)
        out[at] = std::byte{value > 0};
      else
        store_floats({&value, 1}, {dtype, {1}, out.data() + at});
    }
    return out;
  }

 private:
  // Mostly what an index may be, sometimes what none is.
  float number() {
    static constexpr float kOthers[] = {2147483648.0f,
                                        -2147483648.0f,
                                        std::numeric_limits<float>::infinity(),
                                        -std::numeric_limits<float>::infinity(),
                                        std::numeric_limits<float>::quiet_NaN(),
                                        1e30f,
                                        0.5f,
                                        65504.0f,
                                        1000000.0f};
    const int chosen = byte();
    if (chosen < 192) return static_cast<float>(chosen % 24 - 8);
    return kOthers[static_cast<std::size_t>(chosen - 192) % std::size(kOthers)];
  }

  std::string_view bytes_;
  std::size_t next_ = 0;
};

bool is_small(const std::vector<exec::Feature>& features) {
  std::int64_t all = 0;
  for (const exec::Feature& feature : features) {
    const auto count = checked_element_count(feature.shape);
    if (!count.ok() || *count > kMaxElements - all) return false;
    all += *count;
  }
  return true;
}

void run(const exec::LoadedProgram& program, std::string_view function, Values& values) {
  const exec::Signature& signature = *program.signature(function);
  exec::Inputs inputs;
  std::vector<std::vector<std::byte>> memory;
  std::vector<exec::Feature> given = signature.inputs;
  for (exec::Feature& feature : given) feature.shape = values.shape(feature);
  if (!is_small(given) || !is_small(signature.states)) return;
  for (const exec::Feature& feature : given) {
    memory.push_back(values.elements(feature.dtype, element_count(feature.shape)));
    inputs.push_back({feature.name, {feature.dtype, feature.shape, memory.back().data()}});
  }
  std::unique_ptr<exec::StateStore> states;
  if (!signature.states.empty()) {
    auto made = program.make_state();
    if (!made.ok()) return;
    states = std::move(*made);
  }
  exec::Outputs outputs;
  for (int i = 0; i < 2; ++i) {
    const Status status = program.run(function, inputs, outputs, states.get());
    ANEMONE_CHECK(status.code() != Code::kInternal);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::Parts parts = fuzz::split_parts(fuzz::text_of(data, size));
  const fuzz::ScratchFolder folder(parts);
  const auto model = mlpackage::read_package(folder.path());
  if (!model.ok()) {
    ANEMONE_CHECK(model.status().message().starts_with("["));
    return 0;
  }
  ANEMONE_CHECK(!ir::print(model->program).empty());
  for (const bool is_reference : {true, false}) {
    const auto executor = exec::make_cpu_executor(
        {.threads = 1, .is_reference = is_reference, .memory_bytes = kMaxMemory, .max_rounds = 64});
    const auto program = executor->load(folder.path());
    if (!program.ok()) continue;
    Values values(fuzz::part(parts, "values"));
    for (const std::string& function : (*program)->functions()) run(**program, function, values);
  }
  return 0;
}
