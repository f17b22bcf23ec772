// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The resources that passes use, and the hazards that Metal tracks between them.
#include <algorithm>

#include "simulation/metal/framework/command.h"

namespace halyard::inline v0::sim::metal {
namespace {

void add(std::vector<Pass::Touch>& all, const ResourcePointer& resource, Access access) {
  if (resource == nullptr) return;
  all.push_back({resource, access});
}

struct Toucher {
  std::vector<Pass::Touch>& all;

  void operator()(const Dispatch& dispatch) const { touch(dispatch, all); }
  void operator()(const Copy& copy) const {
    add(all, copy.source, kReadAccess);
    add(all, copy.target, kWriteAccess);
  }
  void operator()(const Fill& fill) const { add(all, fill.target, kWriteAccess); }
  void operator()(const Synchronize& what) const { add(all, what.resource, kReadAccess); }
  void operator()(const Barrier&) const {}
};

}  // namespace

void touch(const Dispatch& dispatch, std::vector<Pass::Touch>& touched) {
  add(touched, dispatch.indirect, kReadAccess);
  for (const msl::Argument& argument : dispatch.pipeline->function->info().arguments) {
    if (argument.kind != msl::ArgumentKind::kBuffer || !argument.active) continue;
    if (argument.index >= dispatch.bindings.size()) continue;
    add(touched, dispatch.bindings[argument.index].resource,
        argument.access == msl::Access::kReadOnly ? kReadAccess : kReadWrite);
  }
}

void Pass::end() {
  for (const Command& command : commands) std::visit(Toucher{touched}, command);
  for (const Use& use : uses) add(touched, use.resource, use.access);
  std::ranges::sort(touched, {}, [](const Touch& one) { return one.resource->number(); });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < touched.size(); ++i) {
    if (kept != 0 && touched[kept - 1].resource == touched[i].resource) {
      touched[kept - 1].access = static_cast<Access>(touched[kept - 1].access | touched[i].access);
    } else if (kept != i) {
      touched[kept++] = std::move(touched[i]);
    } else {
      ++kept;
    }
  }
  touched.resize(kept);
}

bool have_hazard(const Pass& a, const Pass& b) {
  for (const Pass::Touch& one : a.touched) {
    const Resource* const root = one.resource->tracked_root();
    if (root == nullptr) continue;
    for (const Pass::Touch& other : b.touched) {
      if (((one.access | other.access) & kWriteAccess) == 0) continue;
      if (other.resource->tracked_root() == root) return true;
    }
  }
  return false;
}

}  // namespace halyard::inline v0::sim::metal
