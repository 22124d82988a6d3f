// SPDX-License-Identifier: Apache-2.0
// Makes the double the Core ML of a whole program: tests run the executable `anemone` over it. What
// it does differently is in the environment:
//   ANEMONE_DOUBLE_DEVICES      "softmax=cpu,y=gpu": CheckedOptions::devices
//   ANEMONE_DOUBLE_MISCOMPILED  "name=type,...": CheckedOptions::miscompiled
// A process in which a rule was broken ends with a line on stderr and SIGABRT.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <string_view>

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

class StrictRuntime : public testing::CheckedRuntime {
 public:
  StrictRuntime() : CheckedRuntime(options_of_environment()) {}
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
