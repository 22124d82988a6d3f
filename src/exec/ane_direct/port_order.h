// SPDX-License-Identifier: Apache-2.0
// The self-test of the order in which surfaces belong to inputs and outputs (law port-order). A
// small program of two inputs and two outputs, whose alphabetical order is not that of the program,
// runs on markers: numbers that differ in every element. What comes out tells the order, and
// whether rows lie where they should.
#pragma once

#include <anemone/status.h>

#include "exec/ane_direct/binding_plan.h"
#include "exec/ane_direct/device.h"

namespace anemone::exec::ane_direct {

// Takes one compilation. kDevice where the outputs fit no order.
Result<BindingOptions> measure_port_order(std::shared_ptr<const Device> device);

}  // namespace anemone::exec::ane_direct
