// SPDX-License-Identifier: Apache-2.0
// Kernels of the category recurrent. Gates are canonical dot products in fp32, and so are the
// states between the steps whatever the dtype of x.
#pragma once

#include "kernels/kernel.h"

namespace anemone::kernels::reference {

Status gru_kernel(const KernelCall& call);
Status lstm_kernel(const KernelCall& call);
Status rnn_kernel(const KernelCall& call);

}  // namespace anemone::kernels::reference
