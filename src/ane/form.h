// SPDX-License-Identifier: Apache-2.0
// The forms to choose from, and why a choice is made: the one place that decides between what
// sources say of the chip. docs/guide/compile.md says how they are chosen.
#pragma once

#include <anemone/status.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "artifact/form.h"

namespace anemone::ane {

struct NamedForm {
  std::string_view name;
  std::string_view what;  // for people, in one line
  artifact::Form form;
};
// The default is the first.
std::span<const NamedForm> named_forms();
std::vector<std::string_view> form_names();
// The form of that name, or, for "FILE.json", what the file says: an object of fields and their
// values, where "form" names the form that has the others (default: the first). kInvalidArgument
// for a name, a field or a value that there is not; the errors of read_json_file().
Result<artifact::Form> read_form(const std::string& name_or_file);
// The name of an equal form; empty when there is none.
std::string_view name_of(const artifact::Form& form);

// Why one would give a field of artifact::form_fields() this value, with the source.
std::string_view reason(std::string_view field, std::string_view value);

}  // namespace anemone::ane
