// SPDX-License-Identifier: Apache-2.0
// Makes the double the Core ML of a whole program: tests run the executable `anemone` over it. What
// it does differently is in the environment:
//   ANEMONE_DOUBLE_DEVICES      "softmax=cpu,y=gpu": CheckedOptions::devices
//   ANEMONE_DOUBLE_MISCOMPILED  "name=type,...": CheckedOptions::miscompiled
//   ANEMONE_DOUBLE_FAULT        "load=decode,plan=,compile=1": calls that fail, of that function or
//                               that often; all but compile for the Neural Engine alone
// A process in which a rule was broken ends with a line on stderr and SIGABRT.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "exec/coreml/plan_file.h"
#include "tests/exec/coreml/checked_runtime.h"

namespace anemone::exec::coreml {
namespace {

std::map<std::string, std::string> pairs_of(const char* variable) {
  std::map<std::string, std::string> out;
  const char* value = std::getenv(variable);
  std::string_view left = value == nullptr ? "" : value;
  while (!left.empty()) {
    const std::string_view pair = left.substr(0, left.find(','));
    left.remove_prefix(std::min(left.size(), pair.size() + 1));
    const std::size_t equals = pair.find('=');
    if (equals != std::string_view::npos)
      out.emplace(pair.substr(0, equals), pair.substr(equals + 1));
  }
  return out;
}

testing::CheckedOptions options_of_environment() {
  testing::CheckedOptions out;
  for (const auto& [key, name] : pairs_of("ANEMONE_DOUBLE_DEVICES"))
    for (const Device device :
         {Device::kNeuralEngine, Device::kGpu, Device::kCpu, Device::kUnknown})
      if (name == device_name(device)) out.devices[key] = device;
  out.miscompiled = pairs_of("ANEMONE_DOUBLE_MISCOMPILED");
  return out;
}

std::vector<testing::Fault> faults_of_environment() {
  using testing::Fault;
  const std::map<std::string, Fault::Call> calls = {{"compile", Fault::Call::kCompile},
                                                    {"load", Fault::Call::kLoad},
                                                    {"plan", Fault::Call::kPlan}};
  std::vector<Fault> out;
  for (const auto& [key, value] : pairs_of("ANEMONE_DOUBLE_FAULT")) {
    const auto call = calls.find(key);
    if (call == calls.end()) continue;
    Fault& fault = out.emplace_back();
    fault.call = call->second;
    fault.error = runtime_error("com.apple.CoreML", 0, "Error code: -14 of the compiler");
    const bool is_count =
        !value.empty() && value.find_first_not_of("0123456789") == std::string::npos;
    fault.times = is_count ? std::stoi(value) : -1;
    if (!is_count) fault.function = value;
    if (fault.call != Fault::Call::kCompile) fault.units = {ComputeUnits::kCpuAndNeuralEngine};
  }
  return out;
}

class StrictRuntime : public testing::CheckedRuntime {
 public:
  StrictRuntime() : CheckedRuntime(options_of_environment()) {
    for (testing::Fault& fault : faults_of_environment()) inject(std::move(fault));
  }
  ~StrictRuntime() override {
    for (const std::string& each : violations())
      std::fprintf(stderr, "a rule of Core ML was broken: %s\n", each.c_str());
    if (!violations().empty()) std::abort();
  }
};

}  // namespace

std::shared_ptr<CoreMlRuntime> make_coreml_runtime(std::int64_t /*row_bytes*/) {
  return std::make_shared<StrictRuntime>();
}

}  // namespace anemone::exec::coreml
