// SPDX-License-Identifier: Apache-2.0
#include "exec/ane_direct/text_form.h"

#include <gtest/gtest.h>
#include <utility>

#include "exec/ane_direct/kernel.h"
#include "ir/builder.h"
#include "ir/text.h"
#include "mlpackage/blob.h"
#include "ops/registry.h"
#include "tests/exec/ane_direct/checked_ane.h"
#include "tests/exec/ane_direct/small_kernels.h"

namespace anemone::exec::ane_direct::testing {
namespace {

TEST(TextForm, FollowsTheGenerationOfTheChip) {
  for (const char* chip : {"Apple M1", "Apple M2 Max", "Apple M3 Ultra"})
    EXPECT_EQ(target_for(chip), ir::Opset::kIOS16) << chip;
  for (const char* chip : {"Apple M4", "Apple M5 Pro", "Apple M10", "Apple A18", "Apple M", ""})
    EXPECT_EQ(target_for(chip), ir::Opset::kIOS18) << chip;
}

// The whole text of a kernel of one matrix for both generations.
TEST(TextForm, WritesWhatTheCompilersOfBothGenerationsTake) {
  const KernelSpec spec = small_spec({2}, 3);
  const auto old_program = kernel_program(spec, ir::Opset::kIOS16);
  ASSERT_TRUE(old_program.ok()) << old_program.status().message();
  const auto old_text = write_text(*old_program, 4);
  ASSERT_TRUE(old_text.ok()) << old_text.status().message();
  for (const char* part :
       {"program(1.0)\n[buildInfo = dict<tensor<string, []>, tensor<string, []>>({{",
        "func main<ios16>(tensor<fp16, [1, 3, 1, 32]> i0_x) {\n",
        "tensor<fp16, [2, 3, 1, 1]> w00 = const()[name = tensor<string, []>(\"w00\"), val = "
        "tensor<fp16, [2, 3, 1, 1]>(BLOBFILE(path = tensor<string, "
        "[]>(\"@model_path/weights/w00.bin\"), offset = tensor<uint64, []>(64)))];\n",
        "tensor<int32, []>(1)", "tensor<string, []>(\"valid\")", "} -> (o00_y);\n"})
    EXPECT_NE(old_text->mil.find(part), std::string::npos) << part << "\n" << old_text->mil;
  EXPECT_EQ(syntax_fault(old_text->mil, "Apple M1"), "");

  const auto new_program = kernel_program(spec, ir::Opset::kIOS18);
  ASSERT_TRUE(new_program.ok());
  const auto new_text = write_text(*new_program, 4);
  ASSERT_TRUE(new_text.ok());
  for (const char* part :
       {"program(1.3)\n[buildInfo = dict<string, string>({{\"coremlc-component-MIL\", \"",
        "func main<ios18>(tensor<fp16, [1, 3, 1, 32]> i0_x) {\n",
        "tensor<fp16, [2, 3, 1, 1]> w00 = const()[name = string(\"w00\"), val = tensor<fp16, [2, "
        "3, 1, 1]>(BLOBFILE(path = string(\"@model_path/weights/w00.bin\"), offset = "
        "uint64(64)))];\n",
        "int32(1)", "string(\"valid\")", "} -> (o00_y);\n"})
    EXPECT_NE(new_text->mil.find(part), std::string::npos) << part << "\n" << new_text->mil;
  EXPECT_EQ(syntax_fault(new_text->mil, "Apple M4"), "");
  EXPECT_NE(syntax_fault(new_text->mil, "Apple M3"), "");
}

TEST(TextForm, ParsesToTheSameProgramWithEveryConstantInAFileOfItsOwn) {
  for (const ir::Opset target : {ir::Opset::kIOS16, ir::Opset::kIOS18}) {
    const auto program = kernel_program(small_spec({5, 4}, 7, true), target);
    ASSERT_TRUE(program.ok()) << program.status().message();
    const auto text = write_text(*program, 0);
    ASSERT_TRUE(text.ok()) << text.status().message();
    EXPECT_EQ(text->files.size(), text->paths.size());
    ir::ParseOptions options;
    int read = 0;
    options.blob = [&](const ir::Type& type, std::string_view path,
                       std::uint64_t offset) -> Result<ir::Literal> {
      for (const WeightFile& file : text->weights()) {
        if ("@model_path/" + file.path != path) continue;
        ++read;
        const auto reader = mlpackage::BlobReader::open(file.bytes, nullptr, file.path);
        EXPECT_TRUE(reader.ok());
        EXPECT_EQ(reader->list()->size(), 1U);
        ANEMONE_ASSIGN_OR_RETURN(
            auto data, reader->tensor(offset, type.dtype,
                                      static_cast<std::uint64_t>(element_count(type.shape))));
        return ir::Literal(type, std::move(data));
      }
      return Status(Code::kNotFound, std::string(path));
    };
    const auto parsed = ir::parse(text->mil, "text", options);
    ASSERT_TRUE(parsed.ok()) << parsed.status().message() << text->mil;
    EXPECT_EQ(*ir::first_difference(*program, *parsed), "");
    EXPECT_EQ(read, static_cast<int>(text->files.size()));
    EXPECT_GE(read, 4);  // two matrices, two biases
  }
}

TEST(TextForm, RefusesWhatThePrivateCompilerDoesNotTake) {
  auto program = kernel_program(small_spec({2}, 3), ir::Opset::kIOS17);
  ASSERT_TRUE(program.ok());
  EXPECT_EQ(write_text(*program).status().message(),
            "[program] expected the target ios16 or ios18, got ios17");
  program->functions()[0]->opset = ir::Opset::kIOS18;
  program->attributes.clear();
  EXPECT_EQ(write_text(*program).status().message(),
            "[program] expected a buildInfo, without which nothing compiles");
  add_build_info(*program);
  EXPECT_TRUE(write_text(*program).ok());
  program->functions()[0]->name = "decode";
  EXPECT_EQ(write_text(*program).status().code(), Code::kUnsupported);
  program->functions()[0]->name = "main";
  program->add_function("main2", ir::Opset::kIOS18);
  EXPECT_EQ(write_text(*program).status().message(),
            "[program] expected one function, main, got 2 functions");
}

TEST(TextForm, TheDoubleSeesAMixtureOfSyntaxes) {
  const auto program = kernel_program(small_spec({2}, 3), ir::Opset::kIOS18);
  ASSERT_TRUE(program.ok());
  const std::string good = write_text(*program)->mil;
  std::string bad = good;
  bad.replace(bad.find("1.3"), 3, "1.0");
  EXPECT_EQ(syntax_fault(bad, "Apple M1"), "no func main<ios16>(..)");
  bad.replace(bad.find("ios18"), 5, "ios16");
  EXPECT_EQ(syntax_fault(bad, "Apple M1"), "string by itself");
  bad = good;
  bad.replace(bad.find("int32(1)"), 8, "tensor<int32, []>(1)");
  EXPECT_EQ(syntax_fault(bad, "Apple M4"), "a scalar that is a tensor");
  EXPECT_EQ(syntax_fault("program(1.1)\n", "Apple M4"), "the header is neither 1.0 nor 1.3");
}

}  // namespace
}  // namespace anemone::exec::ane_direct::testing
