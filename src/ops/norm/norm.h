// SPDX-License-Identifier: Apache-2.0
// Schemas of the category norm.
#pragma once

#include "ir/op_schema.h"

namespace anemone::ops {

ir::OpSchema batch_norm_schema();
ir::OpSchema instance_norm_schema();
ir::OpSchema l2_norm_schema();
ir::OpSchema layer_norm_schema();
ir::OpSchema local_response_norm_schema();
ir::OpSchema scaled_dot_product_attention_schema();
ir::OpSchema softmax_schema();

// The small number under the root; its default has the dtype of the other constants or of x. It may
// have another: coremltools writes its own default as fp32 beside fp16 constants.
ir::Parameter epsilon_parameter(double value);

// batch_norm and instance_norm: x is [batch, channels, spatial...], the named parameters are
// vectors of the channels. Errors carry `<op>_c1` (rank), `<op>_c2` (vectors), `<op>_c3` (dtypes
// before iOS17) and
// `<op>_c4` (epsilon).
Status infer_channel_norm(const ir::InferContext& context, std::string_view op,
                          std::initializer_list<std::string_view> vectors,
                          std::vector<ir::Type>& outputs);

}  // namespace anemone::ops
