// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Option: an option in the URIs of a driver. Each driver has one table of them, by which its URIs
// are read. The driver's page in docs/drivers says what each option means.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hal/device/uri.h"
#include "halyard/base/result.h"

namespace halyard::inline v0::hal {

struct Option {
  std::string_view name;
  unsigned least = 0, most = 0;                    // of a number
  std::string_view unit = {};                      // of the number, in messages: " MiB"
  std::span<const std::string_view> choices = {};  // or the value is one of these
  bool is_text = false;                            // or any text
};

// Options of all drivers, which the HAL takes out of a URI.
inline constexpr std::string_view kCommonOptions[] = {"check", "hang_timeout"};

// The options that a URI gives.
class OptionValues {
 public:
  // Returns kInvalidArgument, naming the driver and the option, for an option or a value that is
  // not in the table.
  static Result<OptionValues> parse(const Uri& uri, std::span<const Option> table);

  // A number, or the index of a choice. Nothing if it is not given.
  std::optional<unsigned> find(std::string_view name) const noexcept;
  unsigned get(std::string_view name, unsigned by_default) const noexcept {
    return find(name).value_or(by_default);
  }
  std::string_view text(std::string_view name) const noexcept;  // empty if it is not given
  // For the URI of a device: "?devices=2&workers=4", empty if there are none.
  std::string query() const;

 private:
  struct Value {
    std::string name, text;
    unsigned number;
  };
  const Value* value(std::string_view name) const noexcept;

  std::vector<Value> values_;
};

}  // namespace halyard::inline v0::hal
