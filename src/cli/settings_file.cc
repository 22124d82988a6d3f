// SPDX-License-Identifier: Apache-2.0
#include "cli/settings_file.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <toml++/toml.h>
#include <utility>

#include "base/error.h"
#include "base/escape.h"

namespace anemone::cli {
namespace {

std::string flag_of(std::string_view key) {
  std::string flag(key);
  std::ranges::replace(flag, '_', '-');
  return flag;
}

class TableReader {
 public:
  explicit TableReader(std::string_view subject) : subject_(subject) {}

  Status read(const toml::table& table, const std::string& command) {
    for (const auto& [key, node] : table) {
      const std::string name = flag_of(key.str());
      if (const toml::table* inner = node.as_table()) {
        ANEMONE_RETURN_IF_ERROR(read(*inner, command.empty() ? name : command + "." + name));
        continue;
      }
      SettingValue value;
      ANEMONE_RETURN_IF_ERROR(read_value(node, name, value));
      if (!tables_[command].emplace(name, std::move(value)).second)
        return wrong(node, "[{}] expected the flag once, got it twice", shortened(name, 60));
    }
    return {};
  }

  SettingTables take() { return std::move(tables_); }

 private:
  template <typename... Args>
  Status wrong(const toml::node& node, fmt::format_string<Args...> format, Args&&... args) const {
    return invalid_argument("[{}] line {}: {}", subject_, node.source().begin.line,
                            fmt::format(format, std::forward<Args>(args)...));
  }

  Status read_value(const toml::node& node, const std::string& name, SettingValue& out) const {
    if (const toml::array* list = node.as_array()) {
      for (const toml::node& item : *list) ANEMONE_RETURN_IF_ERROR(add_text(item, name, out));
      return out.is_boolean ? wrong(node, "[{}] expected texts or numbers in a list, got a boolean",
                                    shortened(name, 60))
                            : Status();
    }
    return add_text(node, name, out);
  }

  Status add_text(const toml::node& node, const std::string& name, SettingValue& out) const {
    if (const auto* text = node.as_string()) {
      if (text->get().find('\0') != std::string::npos)
        return wrong(node, "[{}] expected a text without a zero byte, got one",
                     shortened(name, 60));
      out.texts.push_back(text->get());
    } else if (const auto* whole = node.as_integer()) {
      out.texts.push_back(fmt::format("{}", whole->get()));
    } else if (const auto* number = node.as_floating_point()) {
      if (!std::isfinite(number->get()))
        return wrong(node, "[{}] expected a finite number, got {}", shortened(name, 60),
                     number->get());
      out.texts.push_back(fmt::format("{}", number->get()));
    } else if (const auto* boolean = node.as_boolean()) {
      out.texts.emplace_back(boolean->get() ? "true" : "false");
      out.is_boolean = true;
    } else {
      return wrong(node, "[{}] expected a text, a number, a boolean or a list of them, got another",
                   shortened(name, 60));
    }
    return {};
  }

  const std::string_view subject_;
  SettingTables tables_;
};

}  // namespace

Result<SettingTables> parse_settings(std::string_view text, std::string_view subject) {
  try {
    const toml::table table = toml::parse(text);
    TableReader reader(subject);
    ANEMONE_RETURN_IF_ERROR(reader.read(table, ""));
    return reader.take();
  } catch (const toml::parse_error& error) {
    return invalid_argument("[{}] line {}: expected TOML: {}", subject, error.source().begin.line,
                            shortened(error.description(), 200));
  }
}

}  // namespace anemone::cli
