// SPDX-License-Identifier: Apache-2.0
// Manifest, files and weight file, damaged one thing at a time. The weight is fp16 [4, 4]: record
// at 64, 32 bytes of data at 128.
#include <cstring>
#include <filesystem>
#include <gtest/gtest.h>

#include "mlpackage/manifest.h"
#include "mlpackage/proto/mil.pb.h"
#include "mlpackage/proto/model.pb.h"
#include "tests/mlpackage/damaged_package.h"

namespace anemone::mlpackage::testing {
namespace {

namespace fs = std::filesystem;

template <typename T>
std::function<void(DamagedPackage&)> put(std::size_t offset, T value) {
  return [=](DamagedPackage& package) {
    package.edit_weights(
        [=](std::string& bytes) { std::memcpy(&bytes[offset], &value, sizeof(T)); });
  };
}

std::function<void(DamagedPackage&)> reference(std::string file, std::uint64_t offset) {
  return [=](DamagedPackage& package) {
    package.edit_model([=](wire::Model& model) {
      auto* blob = block_of(model)
                       .mutable_operations(0)
                       ->mutable_attributes(1)
                       ->mutable_value()
                       ->mutable_blob();
      blob->set_file_name(file);
      blob->set_offset(offset);
    });
  };
}

std::function<void(DamagedPackage&)> weight_type(int code, std::uint64_t rows) {
  return [=](DamagedPackage& package) {
    package.edit_model([=](wire::Model& model) {
      auto* type = block_of(model)
                       .mutable_operations(0)
                       ->mutable_attributes(1)
                       ->mutable_value()
                       ->mutable_type()
                       ->mutable_tensor_type();
      type->set_data_type(code);
      type->mutable_dimensions(0)->mutable_constant()->set_size(rows);
    });
  };
}

std::function<void(DamagedPackage&)> manifest(std::string what, std::string with) {
  return [=](DamagedPackage& package) { package.edit_manifest(what, with); };
}

std::function<void(DamagedPackage&)> with_manifest(std::function<void(Manifest&)> edit) {
  return [=](DamagedPackage& package) {
    package.edit_bytes("Manifest.json", [=](std::string& text) {
      auto manifest = parse_manifest(text, "m");
      ASSERT_TRUE(manifest.ok());
      edit(*manifest);
      text = format_manifest(*manifest);
    });
  };
}

const char* const kWeights = "@model_path/weights/weight.bin";

}  // namespace

const std::vector<Damage>& blob_damages() {
  static const std::vector<Damage> table = {
      {"blob_version_1", Code::kVersionMismatch, "version 2, got 1", put<std::uint32_t>(4, 1)},
      {"blob_sentinel", Code::kCorrupt, "sentinel", put<std::uint32_t>(64, 0xDEADBEEE)},
      {"blob_dtype_unknown", Code::kUnsupported, "dtype code, got 99", put<std::uint32_t>(68, 99)},
      {"blob_dtype_zero", Code::kUnsupported, "dtype code, got 0", put<std::uint32_t>(68, 0)},
      {"blob_dtype_other", Code::kCorrupt, "fp16 data, got uint16", put<std::uint32_t>(68, 7)},
      {"blob_size_smaller", Code::kCorrupt, "16 fp16 elements, got 15", put<std::uint64_t>(72, 30)},
      {"blob_size_odd", Code::kCorrupt, "whole fp16 elements", put<std::uint64_t>(72, 31)},
      {"blob_size_past_the_end", Code::kCorrupt, "160 bytes", put<std::uint64_t>(72, 64)},
      {"blob_size_huge", Code::kCorrupt, "bytes of data", put<std::uint64_t>(72, UINT64_MAX)},
      {"blob_data_past_the_end", Code::kCorrupt, "bytes of data", put<std::uint64_t>(80, 1 << 20)},
      {"blob_data_overflow", Code::kCorrupt, "bytes of data",
       put<std::uint64_t>(80, UINT64_MAX - 63)},
      {"blob_data_unaligned", Code::kCorrupt, "multiple of 64", put<std::uint64_t>(80, 130)},
      {"blob_data_in_the_record", Code::kCorrupt, "after their record", put<std::uint64_t>(80, 64)},
      {"blob_truncated_data", Code::kCorrupt, "bytes of data",
       [](DamagedPackage& p) { p.edit_weights([](std::string& b) { b.resize(159); }); }},
      {"blob_truncated_record", Code::kCorrupt, "more bytes",
       [](DamagedPackage& p) { p.edit_weights([](std::string& b) { b.resize(100); }); }},
      {"blob_truncated_header", Code::kCorrupt, "more bytes",
       [](DamagedPackage& p) { p.edit_weights([](std::string& b) { b.resize(10); }); }},
      {"blob_empty_file", Code::kCorrupt, "more bytes",
       [](DamagedPackage& p) { p.edit_weights([](std::string& b) { b.clear(); }); }},
      {"blob_missing_file", Code::kCorrupt, "to hold Data/com.apple.CoreML/weights/weight.bin",
       [](DamagedPackage& p) { fs::remove(p.file("Data/com.apple.CoreML/weights/weight.bin")); }},
      {"blob_is_a_folder", Code::kIo, "regular file",
       [](DamagedPackage& p) {
         fs::remove(p.file("Data/com.apple.CoreML/weights/weight.bin"));
         fs::create_directory(p.file("Data/com.apple.CoreML/weights/weight.bin"));
       }},

      {"reference_to_data", Code::kCorrupt, "sentinel",
       [](DamagedPackage& package) {
         // The data is shorter than a record.
         package.edit_weights([](std::string& bytes) { bytes.append(64, '\0'); });
         reference(kWeights, 128)(package);
       }},
      {"reference_to_data_at_the_end", Code::kCorrupt, "64 more bytes", reference(kWeights, 128)},
      {"reference_to_header", Code::kCorrupt, "not 0", reference(kWeights, 0)},
      {"reference_unaligned", Code::kCorrupt, "multiple of 64", reference(kWeights, 72)},
      {"reference_past_the_end", Code::kCorrupt, "past the end", reference(kWeights, 1 << 30)},
      {"reference_overflow", Code::kCorrupt, "past the end", reference(kWeights, UINT64_MAX - 63)},
      {"reference_to_another_file", Code::kCorrupt, "to hold",
       reference("@model_path/weights/other.bin", 64)},
      {"reference_out_of_the_package", Code::kCorrupt, "plain relative path",
       reference("@model_path/../../../etc/passwd", 64)},
      {"reference_absolute", Code::kCorrupt, "@model_path/", reference("/etc/passwd", 64)},
      {"reference_empty", Code::kCorrupt, "@model_path/", reference("", 64)},
      {"reference_of_another_dtype", Code::kCorrupt, "int32 data, got fp16", weight_type(23, 4)},
      {"reference_of_another_shape", Code::kCorrupt, "20 fp16 elements, got 16",
       weight_type(10, 5)},
      {"reference_of_a_64_bit_type", Code::kCorrupt, "int64 data, got fp16", weight_type(24, 4)},
      {"reference_of_a_huge_shape", Code::kCorrupt, "too large", weight_type(10, 1ULL << 47)},
      {"reference_of_an_unknown_type", Code::kUnsupported, "code 40", weight_type(40, 4)},

      {"manifest_missing", Code::kCorrupt, "Manifest.json",
       [](DamagedPackage& p) { fs::remove(p.file("Manifest.json")); }},
      {"manifest_truncated", Code::kParseError, "JSON",
       [](DamagedPackage& p) {
         p.edit_bytes("Manifest.json", [](std::string& text) { text.resize(text.size() / 2); });
       }},
      {"manifest_not_utf8", Code::kParseError, "JSON", manifest("CoreML Model", "\xff\xfe")},
      {"manifest_deeply_nested", Code::kParseError, "JSON",
       [](DamagedPackage& p) { p.write("Manifest.json", std::string(100000, '[')); }},
      {"manifest_later_version", Code::kVersionMismatch, "2.0.0", manifest("1.0.0", "2.0.0")},
      {"manifest_absolute_path", Code::kCorrupt, "plain relative path",
       manifest("com.apple.CoreML/weights", "/etc")},
      {"manifest_path_traversal", Code::kCorrupt, "plain relative path",
       manifest("com.apple.CoreML/model.mlmodel", "../../x")},
      {"manifest_item_without_file", Code::kCorrupt, "to hold Data/nowhere",
       manifest("\"com.apple.CoreML/weights\"", "\"nowhere\"")},
      {"manifest_root_unknown", Code::kCorrupt, "rootModelIdentifier",
       with_manifest([](Manifest& manifest) { manifest.root += "x"; })},
      {"manifest_without_weights", Code::kCorrupt, "item \"weights\"",
       with_manifest([](Manifest& manifest) { manifest.items.pop_back(); })},
      {"model_is_a_folder", Code::kCorrupt, "to be a file",
       manifest("com.apple.CoreML/model.mlmodel", "com.apple.CoreML")},
      {"link_to_weights_outside", Code::kCorrupt, "leads out",
       [](DamagedPackage& p) {
         const std::string inside = p.file("Data/com.apple.CoreML/weights/weight.bin");
         fs::rename(inside, p.outside("weight.bin"));
         fs::create_symlink(p.outside("weight.bin"), inside);
       }},
      {"link_to_model_outside", Code::kCorrupt, "leads out",
       [](DamagedPackage& p) {
         const std::string inside = p.file("Data/com.apple.CoreML/model.mlmodel");
         fs::rename(inside, p.outside("model.mlmodel"));
         fs::create_symlink(p.outside("model.mlmodel"), inside);
       }},
      {"link_to_data_outside", Code::kCorrupt, "leads out",
       [](DamagedPackage& p) {
         fs::rename(p.file("Data"), p.outside("Data"));
         fs::create_directory_symlink(p.outside("Data"), p.file("Data"));
       }},
      {"link_to_itself", Code::kCorrupt, "to hold",
       [](DamagedPackage& p) {
         const std::string inside = p.file("Data/com.apple.CoreML/model.mlmodel");
         fs::remove(inside);
         fs::create_symlink("model.mlmodel", inside);
       }},
  };
  return table;
}

}  // namespace anemone::mlpackage::testing
