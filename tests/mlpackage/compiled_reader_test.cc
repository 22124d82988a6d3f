// SPDX-License-Identifier: Apache-2.0
#include "mlpackage/compiled_reader.h"

#include <filesystem>
#include <gtest/gtest.h>
#include <string>

#include "base/file.h"
#include "ir/text.h"
#include "mlpackage/package_reader.h"
#include "tests/support/shared_data.h"

namespace anemone::mlpackage {
namespace {

namespace fs = std::filesystem;
using anemone::testing::source_path;
using anemone::testing::TemporaryFolder;

std::string package(const std::string& name) {
  return source_path("tests/mlpackage/data/coremltools/" + name + ".mlpackage");
}

// What coremlcompiler makes of a package, as far as it is text: its program with references into
// the weight file, which lies beside it.
std::string compile(const std::string& name, const TemporaryFolder& folder) {
  const auto model = read_package(package(name));
  EXPECT_TRUE(model.ok()) << model.status().message();
  ir::PrintOptions options;
  options.blob = [&](const ir::Literal& literal) -> std::optional<ir::BlobReference> {
    const auto it = model->blob_offsets.find(literal.data().get());
    if (it == model->blob_offsets.end()) return std::nullopt;
    return ir::BlobReference{.offset = it->second};
  };
  const std::string out = folder.file(name + ".mlmodelc");
  fs::create_directories(out + "/weights");
  EXPECT_TRUE(write_file(out + "/model.mil", ir::print(model->program, options)).ok());
  EXPECT_TRUE(write_file(out + "/coremldata.bin", "").ok());
  const fs::path weights = fs::path(package(name)) / "Data/com.apple.CoreML/weights/weight.bin";
  if (fs::exists(weights)) fs::copy_file(weights, out + "/weights/weight.bin");
  return out;
}

TEST(CompiledModel, HasTheProgramOfItsPackage) {
  for (const char* name : {"int8_ios18", "int4_blocks_ios18", "palette4_scales_ios18", "state"}) {
    SCOPED_TRACE(name);
    const TemporaryFolder folder;
    const std::string path = compile(name, folder);
    EXPECT_TRUE(is_compiled_folder(path));
    const auto model = read_package(package(name));
    const auto compiled = read_compiled(path);
    ASSERT_TRUE(compiled.ok()) << compiled.status().message();
    const auto difference = ir::first_difference(model->program, compiled->program);
    ASSERT_TRUE(difference.ok());
    EXPECT_EQ(*difference, "");
    ASSERT_EQ(compiled->functions.size(), 1U);
    EXPECT_EQ(compiled->functions.front().name, "main");
  }
}

// The head that coremlcompiler writes.
TEST(CompiledModel, MayNameItsCompiler) {
  const TemporaryFolder folder;
  fs::create_directory(folder.file("m.mlmodelc"));
  ASSERT_TRUE(write_file(folder.file("m.mlmodelc/model.mil"),
                         R"(program(1.3)
[buildInfo = dict<string, string>({{"coremlc-component-MIL", "3510.2.1"}, {"coremlc-version", "3505.4.1"}, {"coremltools-version", "9.0"}})]
{
    func main<ios18>(tensor<fp16, [1, 64, 1, 64]> x) {
            tensor<fp16, [1, 64, 1, 64]> y = softplus(x = x)[name = string("y")];
        } -> (y);
})")
                  .ok());
  const auto compiled = read_compiled(folder.file("m.mlmodelc"));
  ASSERT_TRUE(compiled.ok()) << compiled.status().message();
  EXPECT_EQ(compiled->program.functions().size(), 1U);
}

TEST(CompiledModel, RefusesWhatItCannotRead) {
  const TemporaryFolder folder;
  EXPECT_EQ(read_compiled(folder.file("nothing")).status().code(), Code::kIo);
  fs::create_directory(folder.file("other.mlmodelc"));
  EXPECT_EQ(read_compiled(folder.file("other.mlmodelc")).status().code(), Code::kUnsupported);
  const std::string path = compile("int8_ios18", folder);
  fs::resize_file(path + "/weights/weight.bin", 100);
  EXPECT_FALSE(read_compiled(path).ok());
  fs::remove(path + "/weights/weight.bin");
  EXPECT_FALSE(read_compiled(path).ok());
  ASSERT_TRUE(write_file(path + "/model.mil", "program(1.0) {").ok());
  EXPECT_EQ(read_compiled(path).status().code(), Code::kParseError);
  ASSERT_TRUE(write_file(path + "/model.mil", R"(program(1.0) { func main<ios18>(fp16 x) {
    fp16 w = const()[name = string("w"), val = tensor<fp16, [4]>(BLOBFILE(path = string("@model_path/../secret"), offset = uint64(64)))];
    } -> (x); })")
                  .ok());
  EXPECT_FALSE(read_compiled(path).ok());
}

}  // namespace
}  // namespace anemone::mlpackage
