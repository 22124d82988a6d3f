// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "mlpackage/model.h"
#include "tests/support/shared_data.h"

namespace anemone::mlpackage {
namespace wire {
class Block;
class Model;
}  // namespace wire

namespace testing {

inline constexpr std::string_view kModelFile = "Data/com.apple.CoreML/model.mlmodel";

// A good package on disk (plain_model(), or two_function_model() as it is written) that a test
// changes before it is read.
class DamagedPackage {
 public:
  // `without_weights`: plain_model() whose first operation is the small constant "bias".
  explicit DamagedPackage(bool without_weights = false);
  explicit DamagedPackage(const Model& model);

  std::string path() const { return folder_.file("x.mlpackage"); }
  std::string file(std::string_view relative) const { return path() + "/" + std::string(relative); }
  std::string outside(const std::string& name) const { return folder_.file(name); }

  void edit_model(const std::function<void(wire::Model&)>& edit);
  void edit_bytes(std::string_view relative, const std::function<void(std::string&)>& edit);
  void edit_weights(const std::function<void(std::string&)>& edit);
  // Replaces the first occurrence, which must exist.
  void edit_manifest(std::string_view what, std::string_view with);
  void write(std::string_view relative, std::string_view text);

  Result<Model> read() const;

 private:
  anemone::testing::TemporaryFolder folder_;
};

// The block of function main.
wire::Block& block_of(wire::Model& model);

struct Damage {
  const char* name;
  Code code;
  const char* message_part;
  std::function<void(DamagedPackage&)> inflict;
  bool has_two_functions = false;  // the package is two_function_model()
};

// Damages of the model file and its program; of the description; of a description of several
// functions; and of the manifest, the weight file and the files around them.
const std::vector<Damage>& model_damages();
const std::vector<Damage>& description_damages();
const std::vector<Damage>& function_damages();
const std::vector<Damage>& blob_damages();

// A good package with this damage.
std::unique_ptr<DamagedPackage> damaged_package(const Damage& damage);

// Reading must fail with the code and one line that names a file of the package and holds the part.
void expect_refused(const DamagedPackage& package, const Damage& damage);

}  // namespace testing
}  // namespace anemone::mlpackage
