// SPDX-License-Identifier: Apache-2.0
// Makes the double the private classes of a whole program: tests run what serves over it. A process
// in which a rule was broken ends with a line on stderr and SIGABRT.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "tests/exec/ane_direct/checked_ane.h"

namespace anemone::exec::ane_direct {
namespace {

class StrictAne : public testing::CheckedAne {
 public:
  ~StrictAne() override {
    for (const std::string& each : violations())
      std::fprintf(stderr, "a rule of the private classes was broken: %s\n", each.c_str());
    if (!violations().empty()) std::abort();
  }
};

}  // namespace

std::shared_ptr<AneRuntime> make_ane_runtime() {
  return std::make_shared<StrictAne>();
}

}  // namespace anemone::exec::ane_direct
