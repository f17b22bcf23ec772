// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Executes passes: copies, fills, and dispatches, which the msl library runs.
#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "simulation/metal/framework/command.h"
#include "simulation/metal/framework/report.h"
#include "simulation/metal/msl/launch.h"

namespace halyard::inline v0::sim::metal {
namespace {

Error freed(const Resource& resource) {
  report("used-after-free", resource.text() +
                                " is used by a command that runs after the program "
                                "deallocated it");
  return make_error(ErrorCode::kInvalidResource, resource.text());
}

// Finds the resources that a kernel may access through pointers, and reports wrong accesses.
class Observer final : public msl::Observer {
 public:
  Observer(const Pass& pass, std::size_t command, const Dispatch& dispatch,
           const std::vector<ResourcePointer>& resident)
      : pass_(pass), command_(command), dispatch_(dispatch), resident_(resident) {}

  msl::MemoryRange memory_at(std::uint64_t address) noexcept override {
    msl::MemoryRange best;
    const auto consider = [&](const Resource* resource, bool is_writable) {
      if (resource == nullptr || address - resource->address() >= resource->length()) return;
      const auto residency = is_writable ? msl::Residency::kReadWrite : msl::Residency::kRead;
      if (residency <= best.residency) return;
      best = {resource->address(), resource->address() + resource->length(), residency};
    };
    for (const Use& use : pass_.uses) {
      if (use.from <= command_) consider(use.resource.get(), (use.access & kWriteAccess) != 0);
    }
    for (const ResourcePointer& resource : resident_) consider(resource.get(), true);
    for (const msl::Argument& argument : dispatch_.pipeline->function->info().arguments) {
      if (argument.kind != msl::ArgumentKind::kBuffer) continue;
      if (argument.index >= dispatch_.bindings.size()) continue;
      consider(dispatch_.bindings[argument.index].resource.get(),
               argument.access != msl::Access::kReadOnly);
    }
    if (best.residency != msl::Residency::kUnknown) return best;
    const Place place = place_of(address);
    if (place.text.empty()) return best;
    // Only 16 bytes, the widest access, and not the whole heap, because other buffers of it may be
    // declared.
    if (place.is_heap) return {address, address + 16, msl::Residency::kNotDeclared};
    return {place.begin, place.end, msl::Residency::kNotDeclared};
  }

  bool report(const msl::Report& what) noexcept override {
    const std::string where = what.address == 0 ? "" : place_of(what.address).text;
    const std::string text = where.empty() ? what.text : what.text + " (" + where + ")";
    switch (what.fault) {
      case msl::Fault::kNotDeclared:
        metal::report(
            "missing-use-resource",
            text + ": no useResource:, useHeap: or residency set of this encoder names it");
        return !options().strict;
      case msl::Fault::kReadOnly:
        metal::report("write-through-read-usage", text);
        return true;
      case msl::Fault::kRace:
        metal::report("race", text);
        return true;
      case msl::Fault::kInactiveLane:
        metal::report("inactive-lane", text);
        return true;
      default:
        metal::report("divergence", text);
        return false;
    }
  }

 private:
  const Pass& pass_;
  const std::size_t command_;
  const Dispatch& dispatch_;
  const std::vector<ResourcePointer>& resident_;
};

Error error_of(const msl::Outcome& outcome) {
  switch (outcome.fault) {
    case msl::Fault::kNone:
      return {};
    case msl::Fault::kBudget:
    case msl::Fault::kDivergence:
      return make_error(ErrorCode::kTimeout, outcome.report.text);
    case msl::Fault::kUnsupported:
      report("dispatch-arguments", outcome.report.text);
      return make_error(ErrorCode::kInternal, outcome.report.text);
    case msl::Fault::kOutOfBounds:
      report("out-of-bounds", outcome.report.text);
      return make_error(ErrorCode::kPageFault, outcome.report.text);
    default:
      return make_error(ErrorCode::kPageFault, outcome.report.text);
  }
}

std::uint32_t narrow(std::uint64_t size) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(size, ~std::uint32_t{0}));
}

struct Executor {
  const Pass& pass;
  std::size_t number;
  const std::vector<ResourcePointer>& resident;

  Error operator()(const Dispatch& dispatch) const {
    if (dispatch.pipeline->is_freed.load()) {
      report("used-after-free", "the pipeline of \"" + dispatch.pipeline->name() +
                                    "\" was deallocated before its dispatch ran");
      return make_error(ErrorCode::kInvalidResource);
    }
    if (dispatch.lacks_pipeline) {
      const std::string text = "an indirect command runs \"" + dispatch.pipeline->name() +
                               "\", with which its encoder has dispatched nothing";
      report("indirect-pipeline-unused", text);
      return make_error(ErrorCode::kPageFault, text);
    }
    Size3 grid = dispatch.grid;
    if (dispatch.indirect != nullptr) {
      std::uint32_t groups[3];
      std::memcpy(groups, dispatch.indirect->gpu() + dispatch.indirect_offset, sizeof(groups));
      grid = {groups[0], groups[1], groups[2]};
    }
    if (grid.product() == 0) return {};
    if (dispatch.is_in_groups) {
      grid.width *= dispatch.group.width;
      grid.height *= dispatch.group.height;
      grid.depth *= dispatch.group.depth;
    }
    std::vector<msl::BufferBinding> buffers;
    std::vector<msl::ThreadgroupBinding> threadgroups;
    for (const msl::Argument& argument : dispatch.pipeline->function->info().arguments) {
      if (!argument.active) continue;
      if (argument.kind == msl::ArgumentKind::kThreadgroup) {
        if (argument.index >= dispatch.threadgroup_lengths.size()) continue;
        threadgroups.push_back({argument.index, dispatch.threadgroup_lengths[argument.index]});
      }
      if (argument.kind != msl::ArgumentKind::kBuffer) continue;
      if (argument.index >= dispatch.bindings.size()) continue;
      const Binding& binding = dispatch.bindings[argument.index];
      const bool is_writable = argument.access != msl::Access::kReadOnly;
      if (binding.resource != nullptr) {
        if (binding.resource->is_freed.load()) return freed(*binding.resource);
        buffers.push_back({argument.index, binding.resource->address() + binding.offset,
                           binding.resource->length() - binding.offset, is_writable});
      } else if (binding.bytes != nullptr) {
        buffers.push_back({argument.index, reinterpret_cast<std::uint64_t>(binding.bytes->data()),
                           binding.bytes->size(), false});
      }
    }
    msl::Launch launch;
    launch.grid = {narrow(grid.width), narrow(grid.height), narrow(grid.depth)};
    launch.group = {narrow(dispatch.group.width), narrow(dispatch.group.height),
                    narrow(dispatch.group.depth)};
    launch.buffers = buffers;
    launch.threadgroups = threadgroups;
    launch.simd_width = dispatch.pipeline->execution_width;
    launch.seed = options().strict ? options().seed : 0;
    launch.budget = options().kernel_budget;
    launch.check_bounds = options().strict;
    launch.check_races = options().checks_races;
    launch.fail_weak_exchange = options().strict;
    launch.has_64_bit_atomics = dispatch.pipeline->has_64_bit_atomics;
    Observer observer(pass, number, dispatch, resident);
    return error_of(msl::run(*dispatch.pipeline->function, launch, &observer));
  }

  Error operator()(const Copy& copy) const {
    for (const ResourcePointer* const one : {&copy.source, &copy.target}) {
      if ((*one)->is_freed.load()) return freed(**one);
    }
    std::memmove(copy.target->gpu() + copy.target_offset, copy.source->gpu() + copy.source_offset,
                 copy.length);
    return {};
  }

  Error operator()(const Fill& fill) const {
    if (fill.target->is_freed.load()) return freed(*fill.target);
    std::memset(fill.target->gpu() + fill.offset, fill.value, fill.length);
    return {};
  }

  Error operator()(const Synchronize& what) const {
    if (what.resource->is_freed.load()) return freed(*what.resource);
    what.resource->synchronize({0, what.resource->length()});
    return {};
  }

  Error operator()(const Barrier&) const { return {}; }
};

bool uses_one_of(const Command& command, const std::vector<ResourcePointer>& resources) {
  const auto* const dispatch = std::get_if<Dispatch>(&command);
  if (dispatch == nullptr) return false;
  std::vector<Pass::Touch> touched;
  touch(*dispatch, touched);
  return std::ranges::any_of(touched, [&](const Pass::Touch& one) {
    return std::ranges::find(resources, one.resource) != resources.end();
  });
}

// An order of a concurrent pass, by the seed: a dispatch may overtake an earlier dispatch unless a
// barrier between them orders both.
std::vector<std::size_t> permitted_order(const Pass& pass) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < pass.commands.size(); ++i) {
    if (std::holds_alternative<Barrier>(pass.commands[i])) continue;
    // The command may be placed anywhere after the last command that must precede it.
    std::size_t first = 0;
    for (std::size_t place = order.size(); place > 0; --place) {
      const std::size_t earlier = order[place - 1];
      bool is_ordered = false;
      for (std::size_t between = earlier + 1; between < i && !is_ordered; ++between) {
        const auto* const barrier = std::get_if<Barrier>(&pass.commands[between]);
        if (barrier == nullptr) continue;
        is_ordered = barrier->resources.empty() ||
                     (uses_one_of(pass.commands[earlier], barrier->resources) &&
                      uses_one_of(pass.commands[i], barrier->resources));
      }
      if (is_ordered) {
        first = place;
        break;
      }
    }
    const std::size_t places = order.size() - first + 1;
    const std::size_t place =
        first + static_cast<std::size_t>(choose(i + 1, order.size() + 77, places));
    order.insert(order.begin() + static_cast<std::ptrdiff_t>(place), i);
  }
  return order;
}

}  // namespace

Error execute(Pass& pass, const std::vector<ResourcePointer>& resident) {
  const auto time = [] { return static_cast<std::uint64_t>(gpu::now()); };
  for (const auto& sample : pass.begin_samples) sample(time());
  for (const Pass::Touch& touched : pass.touched) {
    if (touched.resource->is_freed.load()) return freed(*touched.resource);
  }
  Error error;
  const bool is_permuted = pass.is_concurrent && options().adversities.interleave_dispatches;
  if (is_permuted) {
    for (const std::size_t i : permitted_order(pass)) {
      error = std::visit(Executor{pass, i, resident}, pass.commands[i]);
      if (error.code != ErrorCode::kNone) return error;
    }
  } else {
    for (std::size_t i = 0; i < pass.commands.size(); ++i) {
      error = std::visit(Executor{pass, i, resident}, pass.commands[i]);
      if (error.code != ErrorCode::kNone) return error;
    }
  }
  for (const auto& sample : pass.end_samples) sample(time());
  return error;
}

bool check(const Dispatch& dispatch, const Device& device) {
  const Pipeline& pipeline = *dispatch.pipeline;
  const std::string kernel = "dispatch of \"" + pipeline.name() + "\"";
  bool can_run = true;
  for (const msl::Argument& argument : pipeline.function->info().arguments) {
    if (!argument.active) continue;
    const std::string slot =
        kernel + ": argument \"" + argument.name + "\" at index " + std::to_string(argument.index);
    if (argument.kind == msl::ArgumentKind::kThreadgroup) {
      if (argument.index < dispatch.threadgroup_lengths.size() &&
          dispatch.threadgroup_lengths[argument.index] != 0) {
        continue;
      }
      report("unset-argument", slot + " has no threadgroup memory");
      can_run = false;
      continue;
    }
    if (argument.kind != msl::ArgumentKind::kBuffer) continue;
    if (argument.index >= dispatch.bindings.size() || !dispatch.bindings[argument.index].is_set()) {
      report("unset-argument", slot + " has neither a buffer nor bytes");
      can_run = false;
      continue;
    }
    const Binding& binding = dispatch.bindings[argument.index];
    if (binding.resource == nullptr) continue;
    // Apple, "Metal Feature Set Tables": minimum constant buffer offset alignment, 4 bytes on Apple
    // families and 256 on Mac2; offsets in `device` are aligned to the type.
    std::uint64_t alignment = std::max<std::uint64_t>(argument.alignment, 1);
    if (argument.constant_space) {
      alignment = device.is_unified() ? 4 : 256;
    }
    if (binding.offset % alignment != 0) {
      report("offset-alignment", slot + ": offset " + std::to_string(binding.offset) +
                                     " is not a multiple of " + std::to_string(alignment));
    }
  }
  const std::uint64_t threads = dispatch.group.product();
  if (threads == 0 || threads > pipeline.max_threads) {
    report("threads-per-threadgroup",
           kernel + ": a threadgroup of " + std::to_string(threads) +
               " threads is outside of 1 to maxTotalThreadsPerThreadgroup = " +
               std::to_string(pipeline.max_threads));
    can_run = false;
  }
  std::uint64_t memory = pipeline.static_threadgroup_bytes;
  for (const std::uint32_t length : dispatch.threadgroup_lengths) memory += length;
  if (memory > 32768) {
    report("threadgroup-memory", kernel + ": " + std::to_string(memory) +
                                     " bytes of threadgroup memory are more than 32768");
    can_run = false;
  }
  if (dispatch.is_in_groups) return can_run;
  const Size3& group = dispatch.group;
  const Size3& grid = dispatch.grid;
  const bool is_uniform = group.product() != 0 && grid.width % group.width == 0 &&
                          grid.height % group.height == 0 && grid.depth % group.depth == 0;
  // Apple, "Metal Feature Set Tables": nonuniform threadgroup size from Apple4 and Mac2.
  if (!is_uniform && !device.supports_family(1004) && !device.supports_family(2002)) {
    report("nonuniform-threadgroups", kernel + ": this family has only uniform threadgroups");
    can_run = false;
  }
  return can_run;
}

}  // namespace halyard::inline v0::sim::metal
