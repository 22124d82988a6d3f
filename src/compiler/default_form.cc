// SPDX-License-Identifier: Apache-2.0
#include "compiler/default_form.h"

#include "ane/form.h"

namespace anemone::compiler {

artifact::Form default_form(Processor processor) {
  artifact::Form form = ane::named_forms().front().form;
  if (processor == Processor::kCpu) form.notch = artifact::NotchForm::kIgnored;
  return form;
}

}  // namespace anemone::compiler
