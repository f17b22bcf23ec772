// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hal/device/options.h"

#include <algorithm>
#include <iterator>

#include "base/format.h"
#include "base/number.h"

namespace halyard::inline v0::hal {
namespace {

// "a, b and c"
std::string list_of(std::span<const std::string_view> words, std::string_view last_joined_by) {
  std::string list;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i != 0) list += i + 1 == words.size() ? last_joined_by : std::string_view(", ");
    list += words[i];
  }
  return list;
}

Status unknown(std::string_view driver, std::string_view name, std::span<const Option> table) {
  std::vector<std::string_view> names(std::begin(kCommonOptions), std::end(kCommonOptions));
  for (const Option& option : table) names.push_back(option.name);
  std::ranges::sort(names);
  return error(StatusCode::kInvalidArgument, "{}: unknown option '{}'; there are {}", driver, name,
               list_of(names, " and "));
}

// The number, or the index of the choice.
std::optional<unsigned> parse_value(const Option& option, std::string_view text) {
  if (option.is_text) return 0u;
  if (option.choices.empty()) return base::parse_number(text, option.least, option.most);
  const auto choice = std::ranges::find(option.choices, text);
  if (choice == option.choices.end()) return std::nullopt;
  return static_cast<unsigned>(choice - option.choices.begin());
}

std::string values_of(const Option& option) {
  if (!option.choices.empty()) return list_of(option.choices, " or ");
  return base::format("{} {} {}{}", option.least, option.most - option.least == 1 ? "or" : "to",
                      option.most, option.unit);
}

}  // namespace

Result<OptionValues> OptionValues::parse(const Uri& uri, std::span<const Option> table) {
  OptionValues values;
  for (const auto& [name, text] : uri.options) {
    const auto option = std::ranges::find(table, name, &Option::name);
    if (option == table.end()) return unknown(uri.driver, name, table);
    const std::optional<unsigned> number = parse_value(*option, text);
    if (!number) {
      return error(StatusCode::kInvalidArgument, "{}: option {} is '{}', not {}", uri.driver, name,
                   text, values_of(*option));
    }
    values.values_.push_back({name, text, *number});
  }
  return values;
}

const OptionValues::Value* OptionValues::value(std::string_view name) const noexcept {
  const auto found = std::ranges::find(values_, name, &Value::name);
  return found != values_.end() ? &*found : nullptr;
}

std::optional<unsigned> OptionValues::find(std::string_view name) const noexcept {
  const Value* const given = value(name);
  return given != nullptr ? std::optional(given->number) : std::nullopt;
}

std::string_view OptionValues::text(std::string_view name) const noexcept {
  const Value* const given = value(name);
  return given != nullptr ? std::string_view(given->text) : std::string_view();
}

std::string OptionValues::query() const {
  std::string query;
  for (const Value& value : values_) {
    base::append(query, "{}{}={}", query.empty() ? "?" : "&", value.name, value.text);
  }
  return query;
}

}  // namespace halyard::inline v0::hal
