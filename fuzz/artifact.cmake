# SPDX-License-Identifier: Apache-2.0
anemone_fuzzer(manifest_json DEPS artifact)
