// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "world.h"

#include <cstdio>
#include <cstdlib>

namespace halyard::fuzz {

void expect(const char* call, const Status& status, Codes codes) {
  if (codes.allow(status)) return;
  std::fprintf(stderr, "%s answers %s; allowed: %s\n", call, status.to_string().c_str(),
               codes.to_string().c_str());
  std::abort();
}

const std::vector<SetLayout>& set_layouts() {
  using enum kernel::Access;
  static const std::vector<SetLayout> layouts = {
      {{0, kReadWrite}}, {{0, kRead}, {3, kRead}}, {{5, kWrite}}, {}, {{0, kRead}, {3, kRead}}};
  return layouts;
}

const std::vector<LayoutInfo>& layout_infos() {
  static const std::vector<LayoutInfo> infos = {{{0}, 8},    {{1, 2}, 4}, {{1}, 4},
                                                {{4, 0}, 8}, {{4, 2}, 8}, {{3, 1, 2}, 4}};
  return infos;
}

World::World() {
  // Not strict, so that all memory is mapped and can be compared.
  devices = hal::open_all("cpu://?check=0&devices=2&workers=1&strict=0").value();
  check(hal::register_all_drivers(elsewhere));
  foreign = elsewhere.open("cpu://").value();
  foreign_buffer = foreign.allocate({.size = 64}).value();
  foreign_semaphore = foreign.create_semaphore().value();
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const hal::Executable kernels = devices[i].load(HALYARD_FUZZ_KERNELS "/commands.hyx").value();
    functions.push_back(kernels.function("add_each").value());
    functions.push_back(kernels.function("mix").value());
    for (const SetLayout& set : set_layouts()) {
      std::vector<hal::DescriptorBinding> bindings;
      for (const Binding& b : set) bindings.push_back({b.number, b.access});
      sets[i].push_back(devices[i].create_descriptor_set_layout(bindings).value());
    }
    for (const LayoutInfo& info : layout_infos()) {
      std::vector<hal::DescriptorSetLayout> of;
      for (const std::size_t set : info.sets) of.push_back(sets[i][set]);
      layouts[i].push_back(devices[i].create_pipeline_layout(of, info.push_size).value());
    }
  }
  functions.emplace_back();
}

Layout World::layout(std::size_t index) const {
  const LayoutInfo& info = layout_infos()[index];
  Layout layout{.sets = {}, .push_size = info.push_size};
  for (const std::size_t set : info.sets) layout.sets.push_back(set_layouts()[set]);
  return layout;
}

World& world() {
  static World* const the_world = new World;
  return *the_world;
}

}  // namespace halyard::fuzz
