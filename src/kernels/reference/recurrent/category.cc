// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/categories.h"
#include "kernels/reference/recurrent/recurrent.h"

namespace anemone::kernels::reference {

void add_recurrent(std::vector<KernelEntry>& kernels) {
  kernels.push_back({"gru", gru_kernel});
  kernels.push_back({"lstm", lstm_kernel});
  kernels.push_back({"rnn", rnn_kernel});
}

}  // namespace anemone::kernels::reference
