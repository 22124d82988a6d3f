// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/categories.h"
#include "kernels/reference/recurrent/recurrent.h"

namespace anemone::kernels::reference {

void add_recurrent(std::vector<KernelEntry>& kernels) {
  kernels.insert(kernels.end(), {{"gru", gru_kernel}, {"lstm", lstm_kernel}, {"rnn", rnn_kernel}});
}

}  // namespace anemone::kernels::reference
