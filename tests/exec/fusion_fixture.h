// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <random>

#include "exec/profile.h"
#include "tests/exec/program_fixture.h"

namespace anemone::exec {

// A program that runs by the fast path on every instruction set and by the reference, on the same
// inputs and states.
struct FusionFixture : ProgramFixture {
  struct Given {
    Given(std::string name_of_input, Tensor value)
        : name(std::move(name_of_input)), tensor(std::move(value)) {}
    Given(const Given& other) : name(other.name), tensor(other.tensor.clone()) {}
    Given(Given&&) = default;
    std::string name;
    Tensor tensor;
  };

  Tensor random(Shape shape, float range = 1) {
    std::vector<float> values(static_cast<std::size_t>(element_count(shape)));
    for (float& value : values) value = range * (static_cast<float>(engine() >> 8) * 0x1p-23f - 1);
    Tensor out(DType::kFp16, std::move(shape));
    store_floats(values, out.mutable_view());
    return out;
  }
  Literal random_literal(Shape shape, float range = 1) {
    return Literal::of(random(std::move(shape), range));
  }
  static Type half(Shape shape) { return Type::tensor(DType::kFp16, std::move(shape)); }

  std::shared_ptr<const LoadedProgram> load_as(kernels::simd::Isa isa, bool is_reference) {
    options.isa = isa;
    options.is_reference = is_reference;
    return load();
  }

  // What load_as() takes: the reference interpreter, then the fast path on each instruction set.
  static std::vector<std::pair<kernels::simd::Isa, bool>> engines() {
    std::vector<std::pair<kernels::simd::Isa, bool>> all = {{kernels::simd::Isa::kPlain, true}};
    for (const auto isa : kernels::simd::supported_isas()) all.emplace_back(isa, false);
    return all;
  }

  // Names of the fused steps.
  std::vector<std::string> fused(const LoadedProgram& loaded) {
    std::vector<std::string> names;
    const auto steps = explain(loaded);
    EXPECT_TRUE(steps.ok());
    for (const PlanStep& step : *steps)
      if (step.is_fused) names.push_back(step.name);
    return names;
  }

  // Runs all steps of inputs one after the other over one set of states, and compares output "y"
  // and the states with the reference after each. `tolerance` is relative to the largest output.
  void expect_like_reference(const std::vector<std::string>& expected_fusions,
                             const std::vector<std::vector<Given>>& steps, double tolerance) {
    const auto reference = load_as(kernels::simd::Isa::kPlain, true);
    ASSERT_NE(reference, nullptr);
    EXPECT_TRUE(fused(*reference).empty());
    for (const kernels::simd::Isa isa : kernels::simd::supported_isas()) {
      SCOPED_TRACE(std::string(kernels::simd::isa_name(isa)));
      const auto fast = load_as(isa, false);
      ASSERT_NE(fast, nullptr);
      EXPECT_EQ(fused(*fast), expected_fusions);
      auto reference_state = reference->make_state();
      auto fast_state = fast->make_state();
      ASSERT_TRUE(reference_state.ok() && fast_state.ok());
      for (const auto& step : steps) {
        Inputs inputs;
        for (const Given& given : step) inputs.push_back({given.name, given.tensor.view()});
        const auto expected = run(*reference, inputs, "y", reference_state->get());
        ASSERT_TRUE(status.ok()) << status.message();
        const auto got = run(*fast, inputs, "y", fast_state->get());
        ASSERT_TRUE(status.ok()) << status.message();
        expect_near(got, expected, tolerance);
        for (const Feature& state : (*reference_state)->states())
          expect_near(to_floats((*fast_state)->read(state.name)->view()),
                      to_floats((*reference_state)->read(state.name)->view()), tolerance);
      }
      expect_to_survive_hostile_values(*fast, steps.back(), fast_state->get());
    }
  }

  // Each input by itself, and all together, of numbers that no model gives: what comes out is open,
  // but no operation may take them for a place. The sanitizers watch.
  void expect_to_survive_hostile_values(const LoadedProgram& loaded, const std::vector<Given>& step,
                                        StateStore* states) {
    constexpr std::uint16_t kNumbers[] = {0x7e00, 0x7c00, 0xfc00, 0x7bff, 0xfbff,
                                          0x0001, 0x8000, 0x0000, 0x3c00, 0xbc00};
    std::mt19937 others{3};  // those that tests draw stay what they are
    for (std::size_t hostile = 0; hostile <= step.size(); ++hostile)
      for (std::size_t one = 0; one <= std::size(kNumbers); ++one) {
        if (hostile < step.size() && one > 1 && one < std::size(kNumbers)) continue;
        std::vector<Tensor> tensors;
        Inputs inputs;
        for (std::size_t i = 0; i < step.size(); ++i) {
          tensors.push_back(step[i].tensor.clone());
          if (tensors.back().dtype() == DType::kFp16 && (i == hostile || hostile == step.size()))
            for (Half& value : tensors.back().mutable_view().as<Half>())
              value = std::bit_cast<Half>(
                  kNumbers[one < std::size(kNumbers) ? one : others() % std::size(kNumbers)]);
          inputs.push_back({step[i].name, tensors.back().view()});
        }
        Outputs outputs;
        EXPECT_TRUE(loaded.run("", inputs, outputs, states).ok());
      }
  }

  // Output "y" of runs that go together and one after the other, to the bit; of stateless
  // functions.
  void expect_batches_like_single_runs(const std::vector<std::vector<Given>>& steps) {
    for (const kernels::simd::Isa isa : kernels::simd::supported_isas()) {
      SCOPED_TRACE(std::string(kernels::simd::isa_name(isa)));
      const auto loaded = load_as(isa, false);
      ASSERT_NE(loaded, nullptr);
      std::vector<Inputs> inputs(steps.size());
      std::vector<Outputs> outputs(steps.size());
      std::vector<BatchItem> items;
      std::vector<std::vector<float>> expected;
      for (std::size_t i = 0; i < steps.size(); ++i) {
        for (const Given& given : steps[i]) inputs[i].push_back({given.name, given.tensor.view()});
        expected.push_back(run(*loaded, inputs[i], "y"));
        ASSERT_TRUE(status.ok()) << status.message();
        items.push_back({&inputs[i], &outputs[i], nullptr});
      }
      const Status batch = loaded->run_batch("", items);
      ASSERT_TRUE(batch.ok()) << batch.message();
      for (std::size_t i = 0; i < steps.size(); ++i)
        EXPECT_EQ(to_floats(find_output(outputs[i], "y")->view()), expected[i]);
    }
  }

  // Output "y" and all states of runs that go together and one after the other, to the bit; each
  // over states of its own, or all over the same.
  void expect_states_like_single_runs(const std::vector<std::vector<Given>>& steps,
                                      bool share_states) {
    for (const kernels::simd::Isa isa : kernels::simd::supported_isas()) {
      SCOPED_TRACE(std::string(kernels::simd::isa_name(isa)));
      const auto loaded = load_as(isa, false);
      ASSERT_NE(loaded, nullptr);
      std::vector<Inputs> inputs(steps.size());
      std::vector<Outputs> outputs(steps.size());
      std::vector<std::unique_ptr<StateStore>> alone;
      std::vector<std::unique_ptr<StateStore>> together;
      std::vector<BatchItem> items;
      std::vector<std::vector<float>> expected;
      for (std::size_t i = 0; i < steps.size(); ++i) {
        for (const Given& given : steps[i]) inputs[i].push_back({given.name, given.tensor.view()});
        if (i == 0 || !share_states) {
          alone.push_back(std::move(*loaded->make_state()));
          together.push_back(std::move(*loaded->make_state()));
        }
        expected.push_back(run(*loaded, inputs[i], "y", alone.back().get()));
        ASSERT_TRUE(status.ok()) << status.message();
        items.push_back({&inputs[i], &outputs[i], together.back().get()});
      }
      const Status batch = loaded->run_batch("", items);
      ASSERT_TRUE(batch.ok()) << batch.message();
      for (std::size_t i = 0; i < steps.size(); ++i)
        EXPECT_EQ(to_floats(find_output(outputs[i], "y")->view()), expected[i]);
      for (std::size_t i = 0; i < alone.size(); ++i)
        for (const Feature& state : alone[i]->states())
          EXPECT_EQ(to_floats(together[i]->read(state.name)->view()),
                    to_floats(alone[i]->read(state.name)->view()));
    }
  }

  static void expect_near(const std::vector<float>& got, const std::vector<float>& expected,
                          double tolerance) {
    ASSERT_EQ(got.size(), expected.size());
    double largest = 0;
    for (const float value : expected)
      largest = std::max(largest, static_cast<double>(std::abs(value)));
    for (std::size_t i = 0; i < got.size(); ++i)
      ASSERT_NEAR(static_cast<double>(got[i]), static_cast<double>(expected[i]),
                  largest * tolerance)
          << "element " << i;
  }

  std::mt19937 engine{7};
};

// One rounding to fp16 of sums that differ in fp32.
inline constexpr double kOneRounding = 0x1.2p-11;
// What rounding after every operation adds up to in a pattern of a dozen of them.
inline constexpr double kManyRoundings = 0x1p-8;

}  // namespace anemone::exec
