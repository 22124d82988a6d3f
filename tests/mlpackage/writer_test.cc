// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <filesystem>
#include <gtest/gtest.h>
#include <map>

#include "base/error.h"
#include "base/file.h"
#include "mlpackage/package_reader.h"
#include "mlpackage/package_writer.h"
#include "tests/mlpackage/sample_model.h"
#include "tests/support/shared_data.h"

namespace anemone::mlpackage::testing {
namespace {

namespace fs = std::filesystem;
using anemone::testing::TemporaryFolder;

std::map<std::string, std::string> files_below(const std::string& folder) {
  std::map<std::string, std::string> out;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file())
      out[fs::relative(entry.path(), folder).string()] = *read_file(entry.path().string());
  return out;
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> out;
  for (const auto& entry : fs::directory_iterator(folder)) out.push_back(entry.path().filename());
  std::sort(out.begin(), out.end());
  return out;
}

// Calls `watch(+1)` when its bytes are loaded and `watch(-1)` when they are dropped.
class WatchedData : public ir::Data {
 public:
  WatchedData(std::uint64_t size, std::function<void(int)> watch)
      : size_(size), watch_(std::move(watch)) {}
  std::uint64_t size_bytes() const override { return size_; }
  bool is_resident() const override { return false; }
  Result<ir::DataBytes> load() const override {
    watch_(+1);
    auto bytes = new std::vector<std::byte>(size_, std::byte{7});
    std::shared_ptr<const std::vector<std::byte>> owner(
        bytes, [watch = watch_](const std::vector<std::byte>* old) {
          delete old;
          watch(-1);
        });
    return ir::DataBytes{*bytes, owner};
  }

 private:
  std::uint64_t size_;
  std::function<void(int)> watch_;
};

// A model with an int8 weight for each entry, all of `size` bytes.
Model model_of(const std::vector<std::shared_ptr<const ir::Data>>& weights, std::int64_t size) {
  Model model;
  ir::Function* main = model.program.add_function("main", ir::Opset::kIOS18);
  const ir::Type row = ir::Type::tensor(DType::kFp16, {1, 4});
  ir::Value* x = model.program.add_value("x", row);
  main->inputs = {x};
  BlockWriter block(model.program, *main->block);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    ir::Value* weight = block.constant(
        "w" + std::to_string(i), ir::Literal(ir::Type::tensor(DType::kInt8, {size}), weights[i]));
    x = block.op("use", "y" + std::to_string(i), {{"x", {x}}, {"weight", {weight}}}, {row})
            ->outputs[0];
  }
  main->block->outputs = {x};
  model.functions.push_back(*describe_function(*main));
  return model;
}

// The weights are computed when they are written.
Model lazy_model(int count, std::int64_t size, std::function<Result<Tensor>(int)> make) {
  std::vector<std::shared_ptr<const ir::Data>> weights;
  for (int i = 0; i < count; ++i)
    weights.push_back(
        ir::lazy_data(static_cast<std::uint64_t>(size), [i, make] { return make(i); }));
  return model_of(weights, size);
}

Tensor filled(int value, std::int64_t size) {
  Tensor tensor(DType::kInt8, {size});
  for (std::int8_t& element : tensor.mutable_view().as<std::int8_t>())
    element = static_cast<std::int8_t>(value);
  return tensor;
}

TEST(WriterTest, bytes_do_not_depend_on_threads_or_runs) {
  TemporaryFolder folder;
  ThreadPool two(2);
  ThreadPool four(4);
  const auto make = [](int i) { return Result<Tensor>(filled(i, 1000)); };
  ASSERT_TRUE(write_package(lazy_model(40, 1000, make), folder.file("a.mlpackage")).ok());
  ASSERT_TRUE(
      write_package(lazy_model(40, 1000, make), folder.file("b.mlpackage"), {.pool = &two}).ok());
  ASSERT_TRUE(write_package(lazy_model(40, 1000, make), folder.file("c.mlpackage"),
                            {.pool = &four, .max_bytes_in_flight = 1500})
                  .ok());
  const auto a = files_below(folder.file("a.mlpackage"));
  EXPECT_EQ(a, files_below(folder.file("b.mlpackage")));
  EXPECT_EQ(a, files_below(folder.file("c.mlpackage")));
  ASSERT_TRUE(write_package(model_of_all_forms(), folder.file("d.mlpackage")).ok());
  ASSERT_TRUE(write_package(model_of_all_forms(), folder.file("e.mlpackage"), {.pool = &two}).ok());
  EXPECT_EQ(files_below(folder.file("d.mlpackage")), files_below(folder.file("e.mlpackage")));
}

TEST(WriterTest, lazy_constants_are_loaded_once_and_within_the_memory_limit) {
  TemporaryFolder folder;
  ThreadPool pool(4);
  std::atomic<int> alive = 0;
  std::atomic<int> most = 0;
  std::atomic<int> loads = 0;
  const auto watch = [&](int change) {
    const int now = alive += change;
    if (change > 0) ++loads;
    for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
    }
  };
  std::vector<std::shared_ptr<const ir::Data>> weights;
  for (int i = 0; i < 50; ++i) weights.push_back(std::make_shared<WatchedData>(1000, watch));
  const Model model = model_of(weights, 1000);
  ASSERT_TRUE(
      write_package(model, folder.file("a.mlpackage"), {.pool = &pool, .max_bytes_in_flight = 2000})
          .ok());
  EXPECT_EQ(loads, 50);
  EXPECT_EQ(alive, 0);
  EXPECT_LE(most, 2);
  // A constant that is larger than the limit is still written, alone.
  most = 0;
  ASSERT_TRUE(
      write_package(model, folder.file("b.mlpackage"), {.pool = &pool, .max_bytes_in_flight = 10})
          .ok());
  EXPECT_EQ(most, 1);
  const auto read = read_package(folder.file("b.mlpackage"));
  ASSERT_TRUE(read.ok());
  const ir::Op* last = read->program.functions()[0]->block->ops[98];
  ASSERT_EQ(last->name, "w49");
  EXPECT_EQ(last->attributes.at("val").data()->load()->bytes[999], std::byte{7});
}

TEST(WriterTest, progress_ends_at_the_total) {
  TemporaryFolder folder;
  ThreadPool pool(2);
  std::vector<std::uint64_t> done;
  const auto make = [](int i) { return Result<Tensor>(filled(i, 100)); };
  ASSERT_TRUE(write_package(lazy_model(7, 100, make), folder.file("a.mlpackage"),
                            {.pool = &pool,
                             .progress =
                                 [&](std::uint64_t bytes, std::uint64_t total) {
                                   EXPECT_EQ(total, 700u);
                                   done.push_back(bytes);
                                 }})
                  .ok());
  EXPECT_EQ(done, (std::vector<std::uint64_t>{100, 200, 300, 400, 500, 600, 700}));
}

TEST(WriterTest, a_failing_constant_leaves_nothing_and_its_error_is_told) {
  TemporaryFolder folder;
  ThreadPool pool(2);
  const auto make = [](int i) -> Result<Tensor> {
    if (i == 5) return corrupt("[checkpoint] expected a tensor, got none");
    return filled(i, 100);
  };
  const auto report =
      write_package(lazy_model(9, 100, make), folder.file("a.mlpackage"), {.pool = &pool});
  EXPECT_EQ(report.status().code(), Code::kCorrupt);
  EXPECT_EQ(report.status().message(), "[checkpoint] expected a tensor, got none");
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(WriterTest, an_error_keeps_the_package_that_was_there) {
  TemporaryFolder folder;
  const std::string path = folder.file("a.mlpackage");
  ASSERT_TRUE(write_package(plain_model(), path).ok());
  const auto before = files_below(path);
  const auto make = [](int) -> Result<Tensor> { return io_error("[x] cannot read"); };
  EXPECT_FALSE(write_package(lazy_model(1, 100, make), path).ok());
  EXPECT_EQ(files_below(path), before);
  EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"a.mlpackage"});
}

TEST(WriterTest, what_is_there_is_not_replaced) {
  TemporaryFolder folder;
  const std::string path = folder.file("a.mlpackage");
  ASSERT_TRUE(make_directories(path).ok());
  ASSERT_TRUE(write_package(two_function_model(), path + "/").ok()) << "an empty folder";
  ASSERT_TRUE(write_file(path + "/notes.txt", "keep me").ok());
  EXPECT_EQ(write_package(plain_model(), path).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(*read_file(path + "/notes.txt"), "keep me");
  EXPECT_TRUE(read_package(path)->is_multifunction);
  EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"a.mlpackage"});
}

TEST(WriterTest, a_link_in_the_place_of_a_package_is_left_alone) {
  TemporaryFolder folder;
  ASSERT_TRUE(make_directories(folder.file("empty")).ok());
  fs::create_directory_symlink(folder.file("empty"), folder.file("a.mlpackage"));
  EXPECT_EQ(write_package(plain_model(), folder.file("a.mlpackage")).status().code(),
            Code::kInvalidArgument);
  EXPECT_TRUE(fs::is_symlink(folder.file("a.mlpackage")));
  EXPECT_TRUE(fs::is_empty(folder.file("empty")));
}

TEST(WriterTest, what_is_no_package_is_not_replaced) {
  TemporaryFolder folder;
  const std::string path = folder.file("notes.mlpackage");
  ASSERT_TRUE(make_directories(path).ok());
  ASSERT_TRUE(write_file(path + "/notes.txt", "keep me").ok());
  EXPECT_EQ(write_package(plain_model(), path).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(*read_file(path + "/notes.txt"), "keep me");
  ASSERT_TRUE(write_file(folder.file("f.mlpackage"), "keep me").ok());
  EXPECT_EQ(write_package(plain_model(), folder.file("f.mlpackage")).status().code(),
            Code::kInvalidArgument);
  EXPECT_EQ(write_package(plain_model(), folder.file("a.zip")).status().code(),
            Code::kInvalidArgument);
  EXPECT_EQ(write_package(plain_model(), folder.file(".mlpackage")).status().code(),
            Code::kInvalidArgument);
}

TEST(WriterTest, a_missing_parent_folder_is_an_io_error_with_the_callers_name) {
  TemporaryFolder folder;
  const std::string path = folder.file("none/a.mlpackage");
  const auto status = write_package(plain_model(), path).status();
  EXPECT_EQ(status.code(), Code::kIo);
  EXPECT_TRUE(status.message().starts_with("[" + path + "]")) << status.message();
}

TEST(WriterTest, the_line_between_blob_and_model_is_ten_elements) {
  for (const auto& [elements, blobs] : {std::pair(9, 0u), std::pair(10, 1u)}) {
    TemporaryFolder folder;
    const auto make = [n = elements](int i) { return Result<Tensor>(filled(i, n)); };
    const auto report = write_package(lazy_model(1, elements, make), folder.file("a.mlpackage"));
    ASSERT_TRUE(report.ok()) << report.status().message();
    EXPECT_EQ(report->blob_count, blobs) << elements;
    EXPECT_EQ(report->weight_bytes, blobs == 0 ? 0u : 128u + 10u);
    EXPECT_EQ(fs::exists(folder.file("a.mlpackage/Data/com.apple.CoreML/weights")), blobs != 0);
    EXPECT_TRUE(read_package(folder.file("a.mlpackage")).ok());
  }
}

TEST(WriterTest, before_version_nine_only_four_types_go_to_the_weight_file) {
  for (const auto& [opset, blobs] :
       {std::pair(ir::Opset::kIOS17, 4u), std::pair(ir::Opset::kIOS18, 8u)}) {
    TemporaryFolder folder;
    Model model;
    ir::Function* main = model.program.add_function("main", opset);
    const ir::Type row = ir::Type::tensor(DType::kFp16, {1, 4});
    main->inputs = {model.program.add_value("x", row)};
    BlockWriter block(model.program, *main->block);
    for (const DType dtype :
         {DType::kFp16, DType::kFp32, DType::kInt8, DType::kUInt8, DType::kInt16, DType::kUInt16,
          DType::kInt32, DType::kUInt32, DType::kBool, DType::kInt64, DType::kFp64})
      block.constant("c_" + std::string(dtype_name(dtype)),
                     ir::Literal::of(counting_tensor(dtype, {16})));
    main->block->outputs = {block.op("use", "y", {{"x", {main->inputs[0]}}}, {row})->outputs[0]};
    model.functions.push_back(*describe_function(*main));
    const auto report = write_package(model, folder.file("a.mlpackage"));
    ASSERT_TRUE(report.ok()) << report.status().message();
    EXPECT_EQ(report->blob_count, blobs);
  }
}

TEST(WriterTest, the_layout_on_disk_is_the_one_of_coremltools) {
  TemporaryFolder folder;
  ASSERT_TRUE(write_package(plain_model(), folder.file("a.mlpackage")).ok());
  const auto files = files_below(folder.file("a.mlpackage"));
  ASSERT_EQ(files.size(), 3u);
  EXPECT_TRUE(files.contains("Manifest.json"));
  EXPECT_TRUE(files.contains("Data/com.apple.CoreML/model.mlmodel"));
  EXPECT_TRUE(files.contains("Data/com.apple.CoreML/weights/weight.bin"));
}

}  // namespace
}  // namespace anemone::mlpackage::testing
