// SPDX-License-Identifier: Apache-2.0
// predict --input and --print, and packages in their compiled form.
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/json.h"
#include "tests/cli/package_fixture.h"
#include "values/picture.h"

namespace anemone::cli {
namespace {

namespace fs = std::filesystem;
using Floats = std::vector<float>;

Json json_in(const Outcome& outcome) {
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const auto json = parse_json(outcome.out, "output");
  EXPECT_TRUE(json.ok()) << outcome.out;
  return json.ok() ? *json : Json();
}

std::string coremltools_package(const std::string& name) {
  return testing::source_path("tests/mlpackage/data/coremltools/" + name + ".mlpackage");
}

struct PredictValues : PackageFixture {
  void SetUp() override { write_package_file(); }

  Outcome predict(const std::string& arguments) const {
    return run_anemone("predict " + package + " " + arguments);
  }
  std::string refusal(const std::string& arguments) const {
    const Outcome outcome = predict(arguments + " --outputs " + outputs);
    EXPECT_EQ(outcome.code, 2) << arguments;
    EXPECT_FALSE(exists(outputs)) << arguments;
    return outcome.err;
  }
  // An array of numpy, its data as the bytes of `values`.
  template <typename T>
  std::string npy(const std::string& name, const char* descr, const char* shape,
                  const std::vector<T>& values) const {
    std::string header = std::string("{'descr': '") + descr +
                         "', 'fortran_order': False, 'shape': " + shape + ", }\n";
    std::string bytes("\x93NUMPY\x01\x00", 8);
    bytes += static_cast<char>(header.size());
    bytes += '\0';
    bytes += header;
    bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
    EXPECT_TRUE(write_file(folder.file(name), bytes).ok());
    return folder.file(name);
  }
  // A package that takes an image of red, green and blue and gives it back as one of blue, green
  // and red.
  std::string picture_package(std::int64_t height, std::int64_t width) const {
    using mlpackage::FeatureDescription;
    mlpackage::Model model;
    ir::Builder b(model.program, ops::op_registry(), "main", ir::Opset::kIOS18);
    ir::Value* x = b.input("x", ir::Type::tensor(DType::kFp32, {1, 3, height, width}));
    ir::Value* y = b.op("abs", {{"x", x}}, "y");
    EXPECT_TRUE(b.finish({y}).ok()) << b.status().message();
    auto described = mlpackage::describe_function(b.function());
    EXPECT_TRUE(described.ok());
    for (auto* feature : {&described->inputs[0], &described->outputs[0]}) {
      feature->kind = FeatureDescription::Kind::kImage;
      feature->shape = {height, width};
      feature->dtype = DType::kFp32;
    }
    described->outputs[0].color_space = FeatureDescription::ColorSpace::kBgr;
    model.functions = {*described};
    const std::string path = folder.file("image.mlpackage");
    const auto written = mlpackage::write_package(model, path, {.registry = &ops::op_registry()});
    EXPECT_TRUE(written.ok()) << written.status().message();
    return path;
  }
};

TEST_F(PredictValues, TakesNumbersInTheTypeOfTheInput) {
  const Outcome outcome = predict("--input x=1,2.5 --input k=10 --outputs " + outputs);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(read(outputs, "y"), (Floats{11, 12.5}));
}

TEST_F(PredictValues, TakesArraysWordsAndTheRestFromAFile) {
  const std::string x = npy<double>("x.npy", "<f8", "(1, 2)", {0.5, -3});
  EXPECT_EQ(predict("--input x=" + x + " --input k=ones --outputs " + outputs).code, 0);
  EXPECT_EQ(read(outputs, "y"), (Floats{1.5, -2}));
  EXPECT_EQ(predict("--input x=zeros --input k=1 --outputs " + outputs).code, 0);
  EXPECT_EQ(read(outputs, "y"), (Floats{1, 1}));
  const Tensor k = tensor(DType::kFp16, {1}, {7});
  ASSERT_TRUE(checkpoint::write_safetensors(inputs, {{"k", k.view()}}).ok());
  EXPECT_EQ(predict("--inputs " + inputs + " --input x=1,2 --outputs " + outputs).code, 0);
  EXPECT_EQ(read(outputs, "y"), (Floats{8, 9}));
}

TEST_F(PredictValues, GivesTheSameRandomNumbersForASeed) {
  const std::string rest = " --input k=0 --print";
  const Outcome first = predict("--input x=random:5" + rest);
  EXPECT_EQ(first.code, 0) << first.err;
  EXPECT_EQ(first.out, predict("--input x=random:5" + rest).out);
  EXPECT_NE(first.out, predict("--input x=random:6" + rest).out);
  EXPECT_EQ(predict("--input x=random" + rest).out, predict("--input x=random:0" + rest).out);
}

TEST_F(PredictValues, SaysWhatAnInputTakes) {
  EXPECT_EQ(refusal("--input x=1,2,3 --input k=0"),
            "anemone: [x] expected numbers that fill shape [2], got 3\n");
  EXPECT_EQ(refusal("--input x=1,2049 --input k=0"),
            "anemone: [x] expected values that fp16 holds, got 2049 (element 1)\n");
  EXPECT_EQ(refusal("--input x=1,,2 --input k=0"),
            "anemone: [x] expected numbers with commas between, got \"\"\n");
  EXPECT_NE(refusal("--input x=x.txt --input k=0")
                .find("[x] expected FILE.npy, FILE.png, FILE.jpg, zeros"),
            std::string::npos);
  EXPECT_EQ(refusal("--input y=1"), "anemone: [--input] expected one of the inputs x, k, got y\n");
  EXPECT_EQ(refusal("--input x=1,2"), "anemone: [k] expected a value of fp16 [1], got none\n");
  EXPECT_EQ(refusal("--input x=1,2 --input x=1,2 --input k=0"),
            "anemone: [--input] expected one value for x, got two\n");
  for (const char* text : {"x", "=1", "x="})
    EXPECT_NE(refusal(std::string("--input ") + text).find("[--input] expected NAME=VALUE"),
              std::string::npos)
        << text;
  EXPECT_NE(
      refusal("--input x=cat.png --input k=0").find("for a tensor of fp16 [2], got a picture"),
      std::string::npos);
  // Columns are no rows.
  const std::string turned = npy<float>("t.npy", "<f4", "(2, 1, 3)", Floats(6));
  EXPECT_EQ(refusal("--input k=0 --input x=" + turned),
            "anemone: [x] expected shape [2], got [2, 1, 3]\n");
  EXPECT_EQ(predict("--input k=0 --input x=missing.npy --print").code, 5);
}

TEST_F(PredictValues, MakesValuesUpInAShape) {
  const std::string predict = "predict " + coremltools_package("range") + " --json --input ";
  const Json input = json_in(run_anemone("inspect --json " + coremltools_package("range")));
  const std::string name = input["functions"][0]["inputs"][0]["name"];
  for (const char* value : {"ones:1x2x8", "random:1x2x8", "random:7:1x2x8"})
    EXPECT_EQ(json_in(run_anemone(predict + name + "=" + value))["outputs"][0]["values"].size(),
              json_in(run_anemone(predict + name + "=zeros:1x2x8"))["outputs"][0]["values"].size())
        << value;
  EXPECT_EQ(run_anemone(predict + name + "=random:7:1x2x8").out,
            run_anemone(predict + name + "=random:7:1x2x8").out);
  const Outcome wrong = run_anemone(predict + name + "=ones:1x2x9");
  EXPECT_EQ(wrong.code, 2);
  EXPECT_NE(wrong.err.find("got [1, 2, 9]"), std::string::npos) << wrong.err;
  for (const char* value : {"ones:", "ones:x", "ones:1xx8", "ones:1x", "ones:-1", "random:1:"})
    EXPECT_NE(run_anemone(predict + name + "=" + value).err.find("with :SHAPE as in ones:1x8"),
              std::string::npos)
        << value;
}

TEST_F(PredictValues, PrintsOutputsForPeopleAndPrograms) {
  const Outcome text = predict("--input x=1,4 --input k=0.5 --print");
  EXPECT_EQ(text.out, "y  fp16 [2]  min 1.5, max 4.5, mean 3\n  1.5 4.5\n");
  const Json json = json_in(predict("--input x=inf,4 --input k=0.5 --print --json"));
  const Json& y = json["outputs"][0];
  EXPECT_EQ(y["name"], "y");
  EXPECT_EQ(y["shape"], (Json{2}));
  EXPECT_EQ(y["max"], 4.5);
  EXPECT_EQ(y["not_finite"], 1);
  EXPECT_EQ(y["values"], (Json{"inf", 4.5}));
  EXPECT_EQ(y["truncated"], false);
  // The JSON has more values than the text.
  const Json long_one =
      json_in(run_anemone("predict " + picture_package(3, 5) + " --fill ones --json"));
  EXPECT_EQ(long_one["outputs"][0]["values"].size(), 45U);
}

TEST_F(PredictValues, ShapesNumbersToFlexibleInputs) {
  for (const char* name : {"range", "listed_shapes"}) {
    const std::string path = coremltools_package(name);
    const Json inspected = json_in(run_anemone("inspect --json " + path));
    const Json& input = inspected["functions"][0]["inputs"][0];
    const std::string flag = " --input " + input["name"].get<std::string>() + "=";
    EXPECT_EQ(run_anemone("predict " + path + flag + "zeros --print").code, 0) << name;
    // Both take [1, 4, 8], and only the range takes [1, 2, 8].
    std::string numbers = "0";
    for (int i = 1; i < 32; ++i) numbers += "," + std::to_string(i);
    EXPECT_EQ(run_anemone("predict " + path + flag + numbers + " --print").code, 0) << name;
    const std::string half = numbers.substr(0, numbers.find(",16"));
    EXPECT_EQ(run_anemone("predict " + path + flag + half + " --print").code == 0,
              name == std::string("range"))
        << name;
    const Outcome wrong = run_anemone("predict " + path + flag + "1,2,3 --print");
    EXPECT_EQ(wrong.code, 2) << name;
    EXPECT_NE(wrong.err.find(", got 3\n"), std::string::npos) << wrong.err;
  }
}

// What coremlcompiler makes of a package, as far as anemone reads it.
std::string compile(const std::string& package, const std::string& folder) {
  const std::string out = folder + "/m.mlmodelc";
  fs::create_directories(out + "/weights");
  const Outcome mil = run_anemone("inspect --mil " + package);
  EXPECT_EQ(mil.code, 0) << mil.err;
  EXPECT_TRUE(write_file(out + "/model.mil", mil.out).ok());
  const fs::path weights = fs::path(package) / "Data/com.apple.CoreML/weights/weight.bin";
  if (fs::exists(weights)) fs::copy_file(weights, out + "/weights/weight.bin");
  return out;
}

TEST_F(PredictValues, RunsACompiledModelAsItsPackage) {
  for (const char* name : {"int8_ios18", "palette4_scales_ios18", "state", "mlp_ios15"}) {
    SCOPED_TRACE(name);
    const testing::TemporaryFolder place;
    const std::string path = coremltools_package(name);
    const std::string compiled = compile(path, place.path());
    const Json inspected = json_in(run_anemone("inspect --json " + compiled));
    EXPECT_EQ(inspected["kind"], "mlmodelc");
    const Json& described = inspected["functions"][0];
    const Json of_package = json_in(run_anemone("inspect --json " + path))["functions"][0];
    EXPECT_EQ(described["inputs"], of_package["inputs"]);
    EXPECT_EQ(described["states"], of_package["states"]);
    const std::string flags =
        " --input " + described["inputs"][0]["name"].get<std::string>() + "=random:3 --outputs ";
    EXPECT_EQ(run_anemone("predict " + path + flags + place.file("a.safetensors")).code, 0);
    EXPECT_EQ(run_anemone("predict " + compiled + flags + place.file("b.safetensors")).code, 0);
    EXPECT_EQ(contents(place.file("a.safetensors")), contents(place.file("b.safetensors")));
  }
}

TEST_F(PredictValues, RefusesADamagedCompiledModel) {
  const std::string compiled = compile(package, folder.path());
  const std::string flags = " --input x=1,2 --input k=0 --print";
  EXPECT_EQ(run_anemone("predict " + compiled + flags).code, 0);
  const std::string metadata = compiled + "/metadata.json";
  for (const char* text : {"", "{}", "[]", "[{\"inputSchema\": [1]}]",
                           R"([{"inputSchema": [{"name": "x", "type": "MultiArray",
                               "shape": "[9]"}]}])",
                           R"([{"inputSchema": [{"name": "x", "type": "MultiArray",
                               "shape": "[2]", "shapeRange": "[[1, 5]]"}]}])",
                           R"([{"inputSchema": [{"name": "x", "type": "Image", "height": "1",
                               "width": "2", "colorspace": "RGB"}]}])"}) {
    ASSERT_TRUE(write_file(metadata, text).ok());
    EXPECT_EQ(run_anemone("predict " + compiled + flags).code, 3) << text;
  }
  fs::remove(metadata);
  ASSERT_TRUE(write_file(compiled + "/model.mil", "program(1.0) {").ok());
  EXPECT_EQ(run_anemone("predict " + compiled + flags).code, 3);
}

TEST_F(PredictValues, BenchTimesPackagesAndCompiledModels) {
  // With a state, which each run finds as the first one did.
  for (const std::string& path : {package, compile(package, folder.path())}) {
    const Json json = json_in(run_anemone("bench " + path + " --reps 3 --threads 1,2 --json"));
    EXPECT_EQ(json["function"], "main");
    ASSERT_EQ(json["results"].size(), 2u);
    for (const Json& result : json["results"]) {
      EXPECT_EQ(result["repetitions"], 3);
      EXPECT_LE(result["least_ms"], result["run_ms"]);
      EXPECT_LE(result["run_ms"], result["most_ms"]);
    }
    EXPECT_EQ(json["results"][1]["threads"], 2);
  }
  EXPECT_NE(run_anemone("bench " + package).out.find("function main, random inputs"),
            std::string::npos);
  EXPECT_EQ(run_anemone("bench " + package + " --depth 4").err,
            "anemone: [--depth] expected a model, got a package (see anemone bench --help)\n");
  EXPECT_NE(run_anemone("bench " + package + " --function f").err.find("the functions main, got f"),
            std::string::npos);
}

#ifdef ANEMONE_HAS_PNG

std::string png(const testing::TemporaryFolder& folder, const std::string& name,
                const values::Picture& picture) {
  const auto bytes = values::png_bytes(picture);
  EXPECT_TRUE(bytes.ok());
  EXPECT_TRUE(write_file(folder.file(name), bytes.ok() ? *bytes : "").ok());
  return folder.file(name);
}

values::Picture plain(std::int64_t height, std::int64_t width,
                      const std::vector<std::uint8_t>& color) {
  values::Picture out{height, width, static_cast<std::int64_t>(color.size()), {}};
  for (std::int64_t i = 0; i < height * width; ++i)
    out.samples.insert(out.samples.end(), color.begin(), color.end());
  return out;
}

TEST_F(PredictValues, ClassifiesAPicture) {
  const std::string path = coremltools_package("classifier");
  const Json input = json_in(run_anemone("inspect --json " + path))["functions"][0]["inputs"][0];
  EXPECT_EQ(input["color"], "bgr");
  const std::string flag = " --input " + input["name"].get<std::string>() + "=";
  const std::string cat = png(folder, "cat.png", plain(16, 20, {200, 100, 50}));
  const Json of_picture = json_in(run_anemone("predict " + path + flag + cat + " --print --json"));
  // The same picture as numbers, blue first.
  std::vector<float> pixels;
  for (const float value : {50.F, 100.F, 200.F}) pixels.insert(pixels.end(), 16 * 20, value);
  const std::string array = npy<float>("p.npy", "<f4", "(3, 16, 20)", pixels);
  EXPECT_EQ(of_picture, json_in(run_anemone("predict " + path + flag + array + " --print --json")));
  const Json* classes = nullptr;
  for (const Json& output : of_picture["outputs"])
    if (output.contains("classes")) classes = &output["classes"];
  ASSERT_NE(classes, nullptr);
  ASSERT_EQ(classes->size(), 3u);
  EXPECT_GE((*classes)[0]["probability"], (*classes)[1]["probability"]);
  const Outcome text = run_anemone("predict " + path + flag + cat + " --print");
  const auto best = (*classes)[0]["label"].get<std::string>();
  EXPECT_NE(text.out.find("\n  " + best + " "), std::string::npos) << text.out;
  // The label is an output of its own, a text.
  const Json& label = of_picture["outputs"].back();
  EXPECT_EQ(label["values"], Json::array({best}));
  EXPECT_EQ(label["dtype"], "string");
  EXPECT_TRUE(text.out.ends_with("  string  " + best + "\n")) << text.out;
  const Outcome inspected = run_anemone("inspect " + path);
  EXPECT_NE(inspected.out.find("\n  3 classes: "), std::string::npos) << inspected.out;
  const Json described = json_in(run_anemone("inspect --json " + path));
  EXPECT_EQ(described["functions"][0]["classes"].size(), 3U);
  const std::string small = png(folder, "small.png", plain(2, 3, {1, 2, 3}));
  EXPECT_NE(run_anemone("predict " + path + flag + small + " --print")
                .err.find("expected shape [1, 3, 16, 20], got a picture of 3 x 2 pixels"),
            std::string::npos);
  // The middle of a wide picture gives what a picture of the right size gives.
  const std::string wide = png(folder, "wide.png", plain(32, 99, {200, 100, 50}));
  EXPECT_EQ(json_in(run_anemone("predict " + path + flag + wide + ":fit --json")), of_picture);
  const Outcome damaged = run_anemone("predict " + path + flag + outputs + ".png --print");
  EXPECT_NE(damaged.code, 0);
}

TEST_F(PredictValues, KnowsThePicturesOfACompiledModel) {
  const std::string path = coremltools_package("classifier");
  const std::string compiled = compile(path, folder.path());
  const Json input = json_in(run_anemone("inspect --json " + path))["functions"][0]["inputs"][0];
  const Json entry = {{"name", input["name"]},    {"type", "Image"}, {"isOptional", "0"},
                      {"colorspace", "BGR"},      {"height", "16"},  {"width", "20"},
                      {"hasSizeFlexibility", "0"}};
  const Json metadata = Json::array({{{"inputSchema", Json::array({entry})}}});
  ASSERT_TRUE(write_file(compiled + "/metadata.json", metadata.dump()).ok());
  const std::string flags = " --input " + input["name"].get<std::string>() + "=" +
                            png(folder, "cat.png", plain(16, 20, {9, 80, 7})) + " --print";
  const Outcome of_package = run_anemone("predict " + path + flags);
  EXPECT_EQ(of_package.code, 0) << of_package.err;
  EXPECT_EQ(run_anemone("predict " + compiled + flags).out, of_package.out);
}

TEST_F(PredictValues, WritesAnImageAsAPicture) {
  const std::string path = picture_package(2, 2);
  const std::string in = png(folder, "in.png", plain(2, 2, {1, 2, 250}));
  const std::string out = folder.file("out.png");
  const Outcome outcome = run_anemone("predict " + path + " --input x=" + in + " --outputs " + out);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const auto picture = values::parse_png(contents(out), "out");
  ASSERT_TRUE(picture.ok()) << picture.status().message();
  EXPECT_EQ(picture->samples, plain(2, 2, {250, 2, 1}).samples);
  // A gray picture is one of equal colors.
  const std::string gray = png(folder, "gray.png", plain(2, 2, {77}));
  EXPECT_EQ(run_anemone("predict " + path + " --input x=" + gray + " --outputs " + out).code, 0);
  EXPECT_EQ(values::parse_png(contents(out), "out")->samples, plain(2, 2, {77, 77, 77}).samples);

  EXPECT_NE(predict("--input x=1,2 --input k=0 --outputs " + folder.file("no.png"))
                .err.find("expected a function with one image output, got 0"),
            std::string::npos);
}

#endif

#ifdef ANEMONE_HAS_JPEG

TEST_F(PredictValues, TakesAJpegFile) {
  const std::string corpus = testing::source_path("fuzz/corpus/picture/");
  const std::string path = picture_package(16, 32);
  const std::string predict = "predict " + path + " --print --input x=";
  const Outcome outcome = run_anemone(predict + corpus + "rgb.jpg");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  // The name says that the file is a picture, and the bytes say of which kind.
  std::filesystem::copy_file(corpus + "rgb.jpg", folder.file("PHOTO.JPEG"));
  EXPECT_EQ(run_anemone(predict + folder.file("PHOTO.JPEG")).out, outcome.out);
  // It was taken with the camera on its side.
  EXPECT_NE(run_anemone(predict + corpus + "rotated.jpg")
                .err.find("expected shape [1, 3, 16, 32], got a picture of 16 x 32 pixels"),
            std::string::npos);
  const Outcome cmyk = run_anemone(predict + corpus + "cmyk.jpg");
  EXPECT_EQ(cmyk.err, "anemone: [" + corpus +
                          "cmyk.jpg] expected a JPEG file of gray or of red, green and blue, got "
                          "CMYK: convert it first\n");
}

#endif

TEST_F(PredictValues, InspectShowsALineThatRuns) {
  const Json json = json_in(run_anemone("inspect --json " + package));
  const std::string example = json["example"];
  EXPECT_EQ(example, "anemone predict " + package + " --input x=zeros --input k=zeros");
  EXPECT_NE(run_anemone("inspect " + package).out.find("\ntry it:\n  " + example + "\n"),
            std::string::npos);
  const Outcome outcome = run_anemone(example.substr(std::string("anemone ").size()));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("y  fp16 [2]"), std::string::npos);
}

}  // namespace
}  // namespace anemone::cli
