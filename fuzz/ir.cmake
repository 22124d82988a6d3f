# SPDX-License-Identifier: Apache-2.0
anemone_fuzzer(mil_text DEPS ir)
