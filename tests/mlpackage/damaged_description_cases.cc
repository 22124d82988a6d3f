// SPDX-License-Identifier: Apache-2.0
// The description against the program, damaged one thing at a time.
#include <gtest/gtest.h>

#include "mlpackage/proto/mil.pb.h"
#include "mlpackage/proto/model.pb.h"
#include "tests/mlpackage/damaged_package.h"
#include "tests/mlpackage/sample_model.h"

namespace anemone::mlpackage::testing {
namespace {

using Edit = std::function<void(wire::ModelDescription&)>;

std::function<void(DamagedPackage&)> describe(Edit edit) {
  return [=](DamagedPackage& package) {
    package.edit_model([=](wire::Model& model) { edit(*model.mutable_description()); });
  };
}

wire::ArrayType& input_array(wire::ModelDescription& description) {
  return *description.mutable_input(0)->mutable_type()->mutable_multi_array_type();
}
wire::ArrayType& state_array(wire::ModelDescription& description) {
  return *description.mutable_state(0)->mutable_type()->mutable_state_type()->mutable_array_type();
}

constexpr int kFloat32 = 65568;

}  // namespace

const std::vector<Damage>& description_damages() {
  static const std::vector<Damage> table = {
      {"input_name", Code::kCorrupt, "got \"z\"",
       describe([](auto& d) { d.mutable_input(0)->set_name("z"); })},
      {"input_without_name", Code::kCorrupt, "got \"\"",
       describe([](auto& d) { d.mutable_input(0)->clear_name(); })},
      {"input_missing", Code::kCorrupt, "input \"x\"", describe([](auto& d) { d.clear_input(); })},
      {"input_twice", Code::kCorrupt, "once in the program",
       describe([](auto& d) { *d.add_input() = wire::FeatureDescription(d.input(0)); })},
      {"input_shape", Code::kCorrupt,
       "size 4 alone in dimension 1 of the description, as in the program, got 5",
       describe([](auto& d) { input_array(d).set_shape(1, 5); })},
      {"input_rank", Code::kCorrupt, "rank 2",
       describe([](auto& d) { input_array(d).add_shape(1); })},
      {"input_without_shape", Code::kCorrupt, "rank 2",
       describe([](auto& d) { input_array(d).clear_shape(); })},
      {"input_negative_shape", Code::kCorrupt, "negative",
       describe([](auto& d) { input_array(d).set_shape(0, -1); })},
      {"input_dtype", Code::kCorrupt, "fp16 as in the program, got fp32",
       describe([](auto& d) { input_array(d).set_data_type(kFloat32); })},
      {"input_unknown_dtype", Code::kCorrupt, "code 7",
       describe([](auto& d) { input_array(d).set_data_type(7); })},
      {"input_without_type", Code::kCorrupt, "feature type",
       describe([](auto& d) { d.mutable_input(0)->clear_type(); })},
      {"input_of_another_kind", Code::kCorrupt, "got one of kind string",
       describe([](auto& d) { d.mutable_input(0)->mutable_type()->mutable_string_type(); })},
      {"input_as_image", Code::kCorrupt, "rank 4", describe([](auto& d) {
         auto* image = d.mutable_input(0)->mutable_type()->mutable_image_type();
         image->set_color_space(20);
       })},
      {"input_as_image_of_unknown_colour", Code::kCorrupt, "colour space",
       describe([](auto& d) { d.mutable_input(0)->mutable_type()->mutable_image_type(); })},
      {"input_as_sequence", Code::kUnsupported, "sequence",
       describe([](auto& d) { d.mutable_input(0)->mutable_type()->mutable_sequence_type(); })},
      {"input_as_state", Code::kCorrupt, "got one of kind state", describe([](auto& d) {
         *d.mutable_input(0)->mutable_type() = wire::FeatureType(d.state(0).type());
       })},
      {"input_range_of_a_fixed_dimension", Code::kCorrupt, "got the range from 4 to 8",
       describe([](auto& d) {
         for (const int upper : {1, 8}) {
           auto* range = input_array(d).mutable_shape_range()->add_size_ranges();
           range->set_lower_bound(upper == 1 ? 1 : 4);
           range->set_upper_bound(upper);
         }
       })},
      {"input_open_range_of_a_fixed_dimension", Code::kCorrupt, "got the range of 4 or more",
       describe([](auto& d) {
         for (const int upper : {1, -1}) {
           auto* range = input_array(d).mutable_shape_range()->add_size_ranges();
           range->set_lower_bound(upper == 1 ? 1 : 4);
           range->set_upper_bound(upper);
         }
       })},
      {"input_ranges_of_another_rank", Code::kCorrupt, "range for each", describe([](auto& d) {
         input_array(d).mutable_shape_range()->add_size_ranges()->set_upper_bound(-1);
       })},
      {"input_default_out_of_range", Code::kCorrupt,
       "a default size in the range of 5 or more, got 4 (dimension 1)", describe([](auto& d) {
         for (const int lower : {1, 5}) {
           auto* range = input_array(d).mutable_shape_range()->add_size_ranges();
           range->set_lower_bound(static_cast<unsigned>(lower));
           range->set_upper_bound(-1);
         }
       })},
      {"input_range_upside_down", Code::kCorrupt, "from low to high", describe([](auto& d) {
         for (int i = 0; i < 2; ++i) {
           auto* range = input_array(d).mutable_shape_range()->add_size_ranges();
           range->set_lower_bound(9);
           range->set_upper_bound(3);
         }
       })},
      {"input_enumerated_without_default", Code::kCorrupt, "among the enumerated",
       describe([](auto& d) {
         auto* shape = input_array(d).mutable_enumerated_shapes()->add_shapes();
         shape->add_shape(1);
         shape->add_shape(8);
       })},
      {"input_enumerated_of_another_rank", Code::kCorrupt, "enumerated shapes of rank 2",
       describe([](auto& d) { input_array(d).mutable_enumerated_shapes()->add_shapes(); })},

      {"output_name", Code::kCorrupt, "got \"z\"",
       describe([](auto& d) { d.mutable_output(0)->set_name("z"); })},
      {"output_missing", Code::kCorrupt, "output \"y\"",
       describe([](auto& d) { d.clear_output(); })},
      {"output_extra", Code::kCorrupt, "got \"z\"", describe([](auto& d) {
         wire::FeatureDescription extra = d.output(0);
         extra.set_name("z");
         *d.add_output() = extra;
       })},
      {"output_shape", Code::kCorrupt, "got 5", describe([](auto& d) {
         d.mutable_output(0)->mutable_type()->mutable_multi_array_type()->set_shape(1, 5);
       })},
      {"output_dtype", Code::kCorrupt, "fp16 as in the program, got fp32", describe([](auto& d) {
         d.mutable_output(0)->mutable_type()->mutable_multi_array_type()->set_data_type(kFloat32);
       })},
      {"output_as_dictionary", Code::kCorrupt, "got one of kind dictionary",
       describe([](auto& d) { d.mutable_output(0)->mutable_type()->mutable_dictionary_type(); })},
      {"predicted_feature_unknown", Code::kCorrupt, "predicted feature \"label\"",
       describe([](auto& d) { d.set_predicted_feature_name("label"); })},

      {"state_missing", Code::kCorrupt, "input \"cache\"",
       describe([](auto& d) { d.clear_state(); })},
      {"state_name", Code::kCorrupt, "got \"other\"",
       describe([](auto& d) { d.mutable_state(0)->set_name("other"); })},
      {"state_shape", Code::kCorrupt, "got 8",
       describe([](auto& d) { state_array(d).set_shape(1, 8); })},
      {"state_without_shape", Code::kCorrupt, "rank 2",
       describe([](auto& d) { state_array(d).clear_shape(); })},
      {"state_dtype", Code::kCorrupt, "state of fp16 or int8",
       describe([](auto& d) { state_array(d).set_data_type(kFloat32); })},
      {"state_optional", Code::kCorrupt, "got an optional one",
       describe([](auto& d) { d.mutable_state(0)->mutable_type()->set_is_optional(true); })},
      {"state_with_default", Code::kCorrupt, "default value",
       describe([](auto& d) { state_array(d).set_int_default_value(1); })},
      {"state_as_array", Code::kCorrupt, "got one of kind multi-array", describe([](auto& d) {
         *d.mutable_state(0)->mutable_type() = wire::FeatureType(d.input(0).type());
       })},

      {"name_not_utf8", Code::kCorrupt, "UTF-8",
       describe([](auto& d) { d.mutable_input(0)->set_name("\xff"); })},
      {"metadata_not_utf8", Code::kCorrupt, "UTF-8",
       describe([](auto& d) { d.mutable_metadata()->set_author("\xc0\xaf"); })},
      {"default_function_without_functions", Code::kCorrupt, "\"decode\"",
       describe([](auto& d) { d.set_default_function_name("decode"); })},
      {"features_beside_functions", Code::kCorrupt, "got both",
       describe([](auto& d) { d.add_functions()->set_name("main"); })},
      {"trainable", Code::kUnsupported, "trained",
       describe([](auto& d) { d.add_training_input(); })},
  };
  return table;
}

const std::vector<Damage>& function_damages() {
  static const std::vector<Damage> table = [] {
    std::vector<Damage> out = {
        {"default_function_unknown", Code::kCorrupt, "\"verify\"",
         describe([](auto& d) { d.set_default_function_name("verify"); })},
        {"default_function_missing", Code::kCorrupt, "default function",
         describe([](auto& d) { d.clear_default_function_name(); })},
        {"function_not_in_the_program", Code::kCorrupt, "\"verify\"", describe([](auto& d) {
           const auto prefill = d.functions(1);
           *d.add_functions() = prefill;
           d.mutable_functions(2)->set_name("verify");
         })},
        {"function_not_described", Code::kCorrupt, "\"prefill\"",
         describe([](auto& d) { d.mutable_functions()->RemoveLast(); })},
        {"function_twice", Code::kCorrupt, "\"prefill\"",
         describe([](auto& d) { d.mutable_functions(1)->set_name("decode"); })},
        {"second_function_differs", Code::kCorrupt, "(function prefill)",
         describe([](auto& d) { d.mutable_functions(1)->mutable_output(0)->set_name("z"); })},
        {"version_without_functions", Code::kCorrupt, "version 9",
         [](DamagedPackage& package) {
           package.edit_model([](wire::Model& model) { model.set_specification_version(8); });
         }},
    };
    for (Damage& damage : out) damage.has_two_functions = true;
    return out;
  }();
  return table;
}

}  // namespace anemone::mlpackage::testing
