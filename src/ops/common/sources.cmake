# SPDX-License-Identifier: Apache-2.0
list(APPEND op_sources common/infer.cc common/spatial.cc)
