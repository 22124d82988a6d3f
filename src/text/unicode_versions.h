// SPDX-License-Identifier: Apache-2.0
// Where the Unicode data of Hugging Face's tokenizers differ from those of utf8proc. Their normal
// forms are those of Unicode 9.0 (crate unicode-normalization-alignments 0.1.12), older than any
// utf8proc; their lower case and numbers are Rust's (17.0) and their \w that of regex-syntax
// (16.0), newer than some. tests/text/unicode_test.cc walks all code points.
#pragma once

namespace anemone::text {

// False for the code points that came after Unicode 9.0, whose normal forms leave them as they are:
// they have no decomposition, combine with nothing, and have combining class 0. True for all that
// change or compose in Unicode 9.0; what the others give does not matter to a normal form.
bool may_change_in_unicode_9(char32_t value);

// Whether is_numeric() and is_word_character() hold for a code point that an older utf8proc does
// not know.
bool is_newer_numeric(char32_t value);
bool is_newer_word_character(char32_t value);

// The lower case of an upper case letter that an older utf8proc does not know, or `value`.
char32_t newer_lower_case(char32_t value);

}  // namespace anemone::text
