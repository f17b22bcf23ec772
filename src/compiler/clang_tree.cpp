// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/clang_tree.h"

namespace halyard::inline v0::compiler {
namespace {

// Adds the parts of locations that clang omitted, so that each location is complete.
class LocationFiller {
 public:
  void fill(Json& node) {
    if (node.is_object() && node.contains("offset") && node.contains("col")) {
      if (node.contains("file")) file_ = node["file"];
      if (node.contains("line")) line_ = node["line"];
      node["file"] = file_;
      node["line"] = line_;
    }
    if (!node.is_structured()) return;
    for (Json& child : node) fill(child);
  }

 private:
  Json file_ = "";
  Json line_ = 0;
};

// The node's own location, otherwise the beginning of its range; null if it has neither.
const Json* place_of(const Json& node) {
  const auto loc = node.find("loc");
  if (loc != node.end() && !loc->empty()) return &*loc;
  const auto range = node.find("range");
  return range != node.end() ? &range->at("begin") : nullptr;
}

}  // namespace

std::string text_of(const Json& node, const char* key) {
  const auto found = node.find(key);
  return found != node.end() && found->is_string() ? found->get<std::string>() : std::string();
}

Location location_of(const Json& node) {
  const Json* place = place_of(node);
  if (place == nullptr) return {};
  if (place->contains("expansionLoc")) place = &place->at("expansionLoc");
  if (!place->contains("line")) return {};
  return {text_of(*place, "file"), place->at("line").get<std::uint32_t>(),
          place->at("col").get<std::uint32_t>()};
}

std::string spelling_file(const Json& node) {
  const Json* place = place_of(node);
  if (place == nullptr) return {};
  if (place->contains("spellingLoc")) place = &place->at("spellingLoc");
  return text_of(*place, "file");
}

Json parse_tree(std::string_view json) {
  Json unit = Json::parse(json);
  LocationFiller().fill(unit);
  return unit;
}

}  // namespace halyard::inline v0::compiler
