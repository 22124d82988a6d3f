# SPDX-License-Identifier: Apache-2.0
list(APPEND op_sources control/classify.cc control/cond.cc control/control.cc
     control/list_gather.cc control/list_length.cc control/list_read.cc control/list_scatter.cc
     control/list_write.cc control/make_list.cc control/while_loop.cc)
