// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Uri: names the devices to open.
//
//     cpu://1?devices=4&workers=2
//     driver  path  options
//
//   driver   [a-z][a-z0-9_-]*
//   path     [A-Za-z0-9._:/-]*, may be empty
//   options  key=value, joined by '&'; key [a-z][a-z0-9_]*, at most once; value as path, not empty
//
// The driver interprets path and options. Percent-encoding is not supported.
//
// Several URIs are separated by commas, without spaces: "cpu://,serial://?devices=2". A comma is in
// no part of a URI, so it always separates.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "halyard/base/result.h"

namespace halyard::inline v0::hal {

struct Uri {
  std::string driver;
  std::string path;
  std::map<std::string, std::string, std::less<>> options;
};

inline constexpr std::size_t kMaxUriLength = 1024;

// Splits a list into at least one URI, unchecked; a URI may be empty.
std::vector<std::string_view> split_uris(std::string_view text);

// Pure. Returns kInvalidArgument with the URI, the position and the reason if the syntax is wrong.
Result<Uri> parse_uri(std::string_view text);

}  // namespace halyard::inline v0::hal
