// SPDX-License-Identifier: Apache-2.0
// Lists and classify: operations that the interpreter runs itself, on values that no caller can
// hand in or take out.
#include <tuple>

#include "tests/exec/program_fixture.h"

namespace anemone::exec {
namespace {

using Floats = std::vector<float>;

struct Lists : ProgramFixture {
  Builder b = function();

  // list<tensor<fp32, [2]>>, growable or of a fixed length.
  Value* make_list(std::int32_t length, bool is_growable) {
    Value* width = b.constant(Literal::int32(2), "width");
    return b.op("make_list",
                {{"init_length", Literal::int32(length)},
                 {"dynamic_length", Literal::boolean(is_growable)},
                 {"elem_shape", std::vector<Value*>{width}},
                 {"dtype", Literal::text("fp32")}},
                "list");
  }

  std::shared_ptr<const LoadedProgram> finish(std::vector<Value*> outputs) {
    const Status status = b.finish(std::move(outputs));
    EXPECT_TRUE(status.ok()) << status.message();
    return status.ok() ? load() : nullptr;
  }

  Value* x = b.input("x", Type::tensor(DType::kFp32, {2}));
  Value* at = b.input("at", Type::tensor(DType::kInt32, {1}));
  Value* index = b.op("squeeze", {{"x", at}}, "index");
  Tensor pair = floats({2}, {3, 4});
};

TEST_F(Lists, ReadBackWhatIsWrittenAndZerosElsewhere) {
  Value* written =
      b.op("list_write", {{"ls", make_list(3, false)}, {"index", index}, {"value", x}});
  Value* first = b.op("list_read", {{"ls", written}, {"index", Literal::int32(0)}}, "first");
  Value* second = b.op("list_read", {{"ls", written}, {"index", Literal::int32(1)}}, "second");
  const auto loaded = finish({first, second});
  ASSERT_NE(loaded, nullptr);
  const Tensor one = ints({1}, {1});
  const Inputs inputs = {{"x", pair.view()}, {"at", one.view()}};
  EXPECT_EQ(run(*loaded, inputs, "first"), (Floats{0, 0})) << status.message();
  EXPECT_EQ(run(*loaded, inputs, "second"), (Floats{3, 4})) << status.message();
}

TEST_F(Lists, KeepTheirOldValueWhenANewOneIsWritten) {
  Value* list = make_list(1, false);
  Value* zero = b.constant(Literal::int32(0), "zero");
  Value* written = b.op("list_write", {{"ls", list}, {"index", zero}, {"value", x}});
  Value* before = b.op("list_read", {{"ls", list}, {"index", zero}}, "before");
  Value* after = b.op("list_read", {{"ls", written}, {"index", index}}, "after");
  const auto loaded = finish({before, after});
  ASSERT_NE(loaded, nullptr);
  const Tensor place = ints({1}, {0});
  const Inputs inputs = {{"x", pair.view()}, {"at", place.view()}};
  EXPECT_EQ(run(*loaded, inputs, "before"), (Floats{0, 0})) << status.message();
  EXPECT_EQ(run(*loaded, inputs, "after"), (Floats{3, 4})) << status.message();
}

TEST_F(Lists, GrowWhenTheyMay) {
  Value* written = b.op("list_write", {{"ls", make_list(1, true)}, {"index", index}, {"value", x}});
  Value* length = b.op("list_length", {{"ls", written}}, "length");
  const auto loaded = finish({length});
  ASSERT_NE(loaded, nullptr);
  for (const std::int32_t place : {0, 1, 6}) {
    const Tensor where = ints({1}, {place});
    EXPECT_EQ(run(*loaded, {{"x", pair.view()}, {"at", where.view()}}, "length"),
              (Floats{static_cast<float>(place + 1)}))
        << status.message();
  }
}

TEST_F(Lists, ScatterAndGatherSeveralItems) {
  Value* rows = b.op("stack", {{"values", std::vector<Value*>{x, x}}, {"axis", Literal::int32(0)}});
  Value* places = b.constant(Literal::int32s({2, 0}), "places");
  Value* list =
      b.op("list_scatter", {{"ls", make_list(3, false)}, {"indices", places}, {"value", rows}});
  Value* order = b.constant(Literal::int32s({0, 1, 2}), "order");
  Value* all = b.op("list_gather", {{"ls", list}, {"indices", order}}, "all");
  Value* one = b.op("list_gather", {{"ls", list}, {"indices", at}}, "one");
  const auto loaded = finish({all, one});
  ASSERT_NE(loaded, nullptr);
  const Tensor place = ints({1}, {2});
  const Inputs inputs = {{"x", pair.view()}, {"at", place.view()}};
  EXPECT_EQ(run(*loaded, inputs, "all"), (Floats{3, 4, 0, 0, 3, 4})) << status.message();
  EXPECT_EQ(run(*loaded, inputs, "one"), (Floats{3, 4})) << status.message();
}

TEST_F(Lists, GatherNothingAtNoPlace) {
  Value* places = b.input("places", Type::tensor(DType::kInt32, {kDynamic}));
  Value* y = b.op("list_gather", {{"ls", make_list(3, false)}, {"indices", places}}, "y");
  const auto loaded = finish({y});
  ASSERT_NE(loaded, nullptr);
  const Tensor none = ints({0}, {});
  const Tensor place = ints({1}, {0});
  Outputs outputs;
  const Inputs inputs = {{"x", pair.view()}, {"at", place.view()}, {"places", none.view()}};
  ASSERT_TRUE((status = loaded->run("", inputs, outputs, nullptr)).ok()) << status.message();
  EXPECT_EQ(find_output(outputs, "y")->view().shape, (Shape{0, 2}));
}

// No tensor has rows of two sizes; only the items of the places that are asked for count.
TEST_F(Lists, GatherItemsOfOneShapeAlone) {
  Value* one = b.input("one", Type::tensor(DType::kFp32, {kDynamic}));
  Value* places = b.input("places", Type::tensor(DType::kInt32, {kDynamic}));
  Value* width = b.constant(Literal::text("width"), "width");
  Value* list = b.op("make_list", {{"init_length", Literal::int32(3)},
                                   {"dynamic_length", Literal::boolean(false)},
                                   {"elem_shape", std::vector<Value*>{width}},
                                   {"dtype", Literal::text("fp32")}});
  list = b.op("list_write", {{"ls", list}, {"index", Literal::int32(0)}, {"value", x}});
  list = b.op("list_write", {{"ls", list}, {"index", Literal::int32(1)}, {"value", one}});
  const auto loaded = finish({b.op("list_gather", {{"ls", list}, {"indices", places}}, "y")});
  ASSERT_NE(loaded, nullptr);
  const Tensor place = ints({1}, {0});
  const auto gather = [&](const Tensor& item, const std::vector<std::int32_t>& at) {
    const Tensor wanted = ints({static_cast<std::int64_t>(at.size())}, at);
    return run(
        *loaded,
        {{"x", pair.view()}, {"at", place.view()}, {"one", item.view()}, {"places", wanted.view()}},
        "y");
  };
  const Tensor same = floats({2}, {7, 8});
  const Tensor longer = floats({3}, {7, 8, 9});
  EXPECT_EQ(gather(same, {1, 0}), (Floats{7, 8, 3, 4})) << status.message();
  EXPECT_EQ(gather(longer, {1, 1}), (Floats{7, 8, 9, 7, 8, 9})) << status.message();
  EXPECT_EQ(gather(longer, {0}), (Floats{3, 4})) << status.message();
  for (const auto& [item, at, part] :
       {std::tuple(&longer, std::vector<std::int32_t>{0, 1}, "of one shape, item 1 is not"),
        std::tuple(&same, std::vector<std::int32_t>{0, 2}, "written items"),
        std::tuple(&same, std::vector<std::int32_t>{}, "unknown sizes")}) {
    gather(*item, at);
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << part;
    EXPECT_NE(status.message().find(part), std::string::npos) << status.message();
  }
}

TEST_F(Lists, RefuseAPlaceThatTheyDoNotHave) {
  Value* list = make_list(3, false);
  Value* written = b.op("list_write", {{"ls", list}, {"index", index}, {"value", x}}, "written");
  Value* y = b.op("list_read", {{"ls", written}, {"index", Literal::int32(0)}}, "y");
  const auto loaded = finish({y});
  ASSERT_NE(loaded, nullptr);
  for (const std::int32_t place : {-1, 3, 2147483647}) {
    const Tensor where = ints({1}, {place});
    run(*loaded, {{"x", pair.view()}, {"at", where.view()}}, "y");
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << place;
    EXPECT_NE(status.message().find("list_write"), std::string::npos) << status.message();
  }
}

TEST_F(Lists, RefuseToReadAPlaceThatTheyDoNotHave) {
  Value* y = b.op("list_read", {{"ls", make_list(3, true)}, {"index", index}}, "y");
  const auto loaded = finish({y});
  ASSERT_NE(loaded, nullptr);
  for (const std::int32_t place : {-1, 3}) {
    const Tensor where = ints({1}, {place});
    run(*loaded, {{"x", pair.view()}, {"at", where.view()}}, "y");
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << place;
    EXPECT_NE(status.message().find("list_read"), std::string::npos) << status.message();
  }
}

TEST_F(Lists, DoNotGrowWithoutEnd) {
  Value* written = b.op("list_write", {{"ls", make_list(0, true)}, {"index", index}, {"value", x}});
  const auto loaded = finish({b.op("list_length", {{"ls", written}}, "length")});
  ASSERT_NE(loaded, nullptr);
  const Tensor where = ints({1}, {2147483647});
  run(*loaded, {{"x", pair.view()}, {"at", where.view()}}, "length");
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
}

TEST_F(Lists, OfANegativeLengthAreRefused) {
  Value* list = b.op("make_list",
                     {{"init_length", index},
                      {"dynamic_length", Literal::boolean(true)},
                      {"elem_shape", std::vector<Value*>{b.constant(Literal::int32(2), "width")}},
                      {"dtype", Literal::text("fp32")}});
  const auto loaded = finish({b.op("list_length", {{"ls", list}}, "length")});
  ASSERT_NE(loaded, nullptr);
  const Tensor wrong = ints({1}, {-1});
  run(*loaded, {{"x", pair.view()}, {"at", wrong.view()}}, "length");
  EXPECT_EQ(status.code(), Code::kCorrupt);
  EXPECT_NE(status.message().find("make_list"), std::string::npos) << status.message();
}

TEST_F(Lists, RefuseAnIndexOrLengthThatIsNoNumberAtRunTime) {
  Value* open = b.input("open", Type::tensor(DType::kInt32, {kDynamic}));
  Value* list = b.op("make_list",
                     {{"init_length", open},
                      {"dynamic_length", Literal::boolean(true)},
                      {"elem_shape", std::vector<Value*>{b.constant(Literal::int32(2), "width")}},
                      {"dtype", Literal::text("fp32")}});
  Value* length = b.op("list_length", {{"ls", list}}, "length");
  const auto feature = [](const char* name, DType dtype, Shape shape) {
    Feature out;
    out.name = name;
    out.dtype = dtype;
    out.shape = std::move(shape);
    return out;
  };
  Signature described;
  described.inputs = {feature("x", DType::kFp32, {2}), feature("at", DType::kInt32, {1}),
                      feature("open", DType::kInt32, {kDynamic})};
  described.outputs = {feature("length", DType::kInt32, {1})};
  interface.signatures.emplace("main", described);
  const auto loaded = finish({length});
  ASSERT_NE(loaded, nullptr);
  const Tensor zero = ints({1}, {0});
  for (const auto& [sizes, code] : {std::pair(std::vector<std::int32_t>{}, Code::kInvalidArgument),
                                    std::pair(std::vector<std::int32_t>{4}, Code::kOk)}) {
    const Tensor lengths = ints({static_cast<std::int64_t>(sizes.size())}, sizes);
    run(*loaded, {{"x", pair.view()}, {"at", zero.view()}, {"open", lengths.view()}}, "length");
    EXPECT_EQ(status.code(), code) << status.message();
  }
}

// A hostile place comes to read or to write, alone or among good ones.
TEST_F(Lists, RefuseHostilePlacesInEveryOperation) {
  Value* places = b.input("places", Type::tensor(DType::kInt32, {2}));
  Value* pairs = b.input("pairs", Type::tensor(DType::kFp32, {2, 2}));
  Value* list = make_list(3, false);
  Value* written = b.op("list_write", {{"ls", list}, {"index", index}, {"value", x}});
  Value* scattered =
      b.op("list_scatter", {{"ls", list}, {"indices", places}, {"value", pairs}}, "scattered");
  const std::vector<Value*> outputs = {
      b.op("list_read", {{"ls", list}, {"index", index}}, "read"),
      b.op("list_gather", {{"ls", list}, {"indices", places}}, "gathered"),
      b.op("list_length", {{"ls", written}}, "length_written"),
      b.op("list_length", {{"ls", scattered}}, "length_scattered")};
  ASSERT_TRUE(b.finish(outputs).ok()) << b.status().message();
  const Tensor values = floats({2, 2}, {1, 2, 3, 4});
  for (Value* output : outputs) {
    program->functions()[0]->block->outputs = {output};
    for (const bool is_reference : {true, false}) {
      options.is_reference = is_reference;
      const auto loaded = load();
      ASSERT_NE(loaded, nullptr);
      const bool is_single = output == outputs[0] || output == outputs[2];
      for (const std::int32_t place :
           {0, 2, 3, -1, -3, -4, std::numeric_limits<std::int32_t>::min(),
            std::numeric_limits<std::int32_t>::max()}) {
        const Tensor one = ints({1}, {is_single ? place : 0});
        const Tensor two = ints({2}, {0, is_single ? 1 : place});
        run(*loaded,
            {{"x", pair.view()},
             {"at", one.view()},
             {"places", two.view()},
             {"pairs", values.view()}},
            output->name);
        // The interpreter runs every operation, whatever the output: the good ones do not fail.
        EXPECT_EQ(status.ok(), place == 0 || place == 2) << output->name << " " << place;
        if (!status.ok()) {
          EXPECT_EQ(status.code(), Code::kInvalidArgument);
        }
      }
    }
  }
}

TEST_F(Lists, TakeOfTheMemoryLimitWhatTheirItemsTake) {
  options.memory_bytes = 1 << 20;
  Value* list = b.op("make_list",
                     {{"init_length", index},
                      {"dynamic_length", Literal::boolean(true)},
                      {"elem_shape", std::vector<Value*>{b.constant(Literal::int32(2), "width")}},
                      {"dtype", Literal::text("fp32")}});
  const auto loaded = finish({b.op("list_length", {{"ls", list}}, "length")});
  ASSERT_NE(loaded, nullptr);
  const Tensor many = ints({1}, {1 << 20}), few = ints({1}, {100});
  for (int i = 0; i < 2; ++i) {
    run(*loaded, {{"x", pair.view()}, {"at", many.view()}}, "length");
    EXPECT_EQ(status.code(), Code::kOutOfMemory) << status.message();
    EXPECT_EQ(run(*loaded, {{"x", pair.view()}, {"at", few.view()}}, "length"), (Floats{100}))
        << status.message();
  }
}

TEST_F(Lists, AreNoOutputOfAFunction) {
  Value* list = make_list(1, true);
  ASSERT_TRUE(b.finish({list, x}).ok()) << b.status().message();
  // Left out where nobody describes them, as what no caller can take.
  const auto bare = load();
  ASSERT_NE(bare, nullptr);
  EXPECT_EQ(bare->signature("")->output(list->name), nullptr);
  Signature described = *bare->signature("");
  described.outputs.resize(1);
  described.outputs[0].name = list->name;
  interface.signatures.emplace("main", described);
  const auto loaded = load_program(program, interface);
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.status().code(), Code::kUnsupported);
  EXPECT_NE(loaded.status().message().find(list->name), std::string::npos)
      << loaded.status().message();
}

struct Classify : ProgramFixture {
  // Outputs "label" and "chances" of an input "p".
  void build(std::vector<Literal> classes, DType label) {
    Builder b = function();
    Value* p = b.input("p", Type::tensor(DType::kFp32, {3}));
    const auto count = static_cast<std::int64_t>(classes.size());
    const Type type = Type::list(Type::scalar(label), count);
    Value* names = b.constant(Literal(type, std::move(classes)), "names");
    ir::Op* op = program->add_op();
    op->type = "classify";
    op->name = "classify";
    op->inputs.emplace("probabilities", ir::Arguments{p});
    op->inputs.emplace("classes", ir::Arguments{names});
    op->outputs = {
        program->add_value("label", Type::scalar(label), op),
        program->add_value("chances",
                           Type::dictionary(Type::scalar(label), Type::scalar(DType::kFp32)), op)};
    b.function().block->ops.push_back(op);
    ASSERT_TRUE(b.finish(op->outputs).ok()) << b.status().message();
  }

  static Literal number(std::int64_t value) {
    return Literal::of(Tensor::from<std::int64_t>({}, std::vector<std::int64_t>{value}));
  }

  Tensor p = floats({3}, {0.25f, 0.5f, 0.25f});
};

TEST_F(Classify, GivesTheClassOfTheLargestProbabilityAndAllProbabilities) {
  build({number(7), number(-2), number(9)}, DType::kInt64);
  const auto loaded = load();
  ASSERT_NE(loaded, nullptr);
  EXPECT_EQ(run(*loaded, {{"p", p.view()}}, "label"), Floats{-2}) << status.message();
  EXPECT_EQ(run(*loaded, {{"p", p.view()}}, "chances"), (Floats{0.25f, 0.5f, 0.25f}));
}

TEST_F(Classify, GivesTheProbabilitiesOfClassesWithNames) {
  build({Literal::text("cat"), Literal::text("dog"), Literal::text("owl")}, DType::kString);
  const auto loaded = load();
  ASSERT_NE(loaded, nullptr);
  EXPECT_EQ(run(*loaded, {{"p", p.view()}}, "chances"), (Floats{0.25f, 0.5f, 0.25f}))
      << status.message();
}

TEST_F(Classify, RefusesAClassThatIsNoNumber) {
  const Literal none = Literal::of(Tensor(DType::kInt64, {0}));
  build({none, none, none}, DType::kInt64);
  const auto loaded = load();
  ASSERT_NE(loaded, nullptr);
  run(*loaded, {{"p", p.view()}}, "label");
  EXPECT_EQ(status.code(), Code::kCorrupt);
  EXPECT_NE(status.message().find("classify"), std::string::npos) << status.message();
}

TEST_F(Classify, RefusesAProbabilityWithoutAClass) {
  build({number(7)}, DType::kInt64);
  const auto loaded = load();
  ASSERT_NE(loaded, nullptr);
  run(*loaded, {{"p", p.view()}}, "label");
  EXPECT_EQ(status.code(), Code::kCorrupt);
  EXPECT_NE(status.message().find("classify"), std::string::npos) << status.message();
}

}  // namespace
}  // namespace anemone::exec
