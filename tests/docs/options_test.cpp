// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The pages of the drivers list the options that the drivers take, and no others.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <string_view>

#include "hal/device/driver.h"
#include "hal/device/registry.h"

namespace halyard::hal {
namespace {

// The page in docs of a driver.
std::string page_of(std::string_view driver) {
  if (driver == "serial") return "drivers/cpu.md";
  if (driver == "stream") return "add-a-driver.md";
  return "drivers/" + std::string(driver) + ".md";
}

std::map<std::string, std::set<std::string>> options_by_page() {
  DriverRegistry registry;
  EXPECT_TRUE(register_all_drivers(registry).ok());
  std::map<std::string, std::set<std::string>> pages;
  for (const Driver* driver : registry.drivers()) {
    std::set<std::string>& options = pages[page_of(driver->name())];
    for (const Option& option : driver->options()) options.emplace(option.name);
  }
  return pages;
}

std::string text_of(const std::string& page) {
  std::ifstream file(HALYARD_SOURCE_DIR "/docs/" + page);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(DriverPages, Options_AreThoseOfTheDriver) {
  const std::regex row(R"(\| `(?:[a-z]+://\?)?([a-z_]+)=)");
  const auto pages = options_by_page();
  ASSERT_TRUE(pages.contains("drivers/cpu.md"));
  for (const auto& [page, options] : pages) {
    const std::string text = text_of(page);
    for (const std::string& option : options) {
      const bool listed = std::regex_search(text, std::regex("[`?]" + option + "[`=]"));
      EXPECT_TRUE(listed) << page << " does not list " << option;
    }
    for (std::sregex_iterator at(text.begin(), text.end(), row), end; at != end; ++at) {
      const std::string name = (*at)[1];
      const bool known = options.contains(name) ||
                         std::ranges::find(kCommonOptions, name) != std::end(kCommonOptions);
      EXPECT_TRUE(known) << page << " lists " << name << ", which the driver does not take";
    }
  }
}

}  // namespace
}  // namespace halyard::hal
