// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/gpu/user_object.h"

#include <algorithm>
#include <climits>
#include <utility>

#include "simulation/gpu/graph.h"

namespace halyard::inline v0::sim::gpu {
namespace {

constexpr unsigned kNoDestructorSync = 1, kMove = 1;  // the only flags

bool is_count(unsigned count) { return count != 0 && count <= INT_MAX; }

// A call of a destructor on a thread of its own.
struct Ending {
  base::Thread thread;
  HostFunction destroy = nullptr;
  void* data = nullptr;
};

void run_ending(void* argument) {
  auto* const ending = static_cast<Ending*>(argument);
  ThreadState& thread = this_thread();
  const bool was_in_host_function = std::exchange(thread.is_in_host_function, true);
  ending->destroy(ending->data);
  thread.is_in_host_function = was_in_host_function;
}

}  // namespace

Result release_user_object(UserObject handle, unsigned count) {
  UserObjectState* const object = resolve(handle);
  HALYARD_GPU_REQUIRE(object != nullptr && is_count(count) && count <= object->references,
                      kInvalidValue);
  object->references -= count;
  if (object->references == 0) end_handle(handle);  // graphs may still refer to it
  return kSuccess;
}

// cuda.h, cuUserObjectCreate: destructors "cannot make CUDA API calls and should avoid blocking
// behavior, as they are executed by a shared internal thread". So the library holds no lock during
// the call.
UserObjectState::~UserObjectState() {
  auto* const ending = new Ending{{}, destroy, data};
  const auto body = [](void* argument) {
    run_ending(argument);
    delete static_cast<Ending*>(argument);
  };
  if (ending->thread.start("user object", body, ending) != 0) {
    body(ending);
  } else {
    ending->thread.detach();
  }
}

Result create_user_object(UserObject* object, void* data, HostFunction destroy, unsigned references,
                          unsigned flags) {
  HALYARD_GPU_REQUIRE(
      object != nullptr && destroy != nullptr && is_count(references) && flags == kNoDestructorSync,
      kInvalidValue);
  auto made = std::make_shared<UserObjectState>();
  made->destroy = destroy;
  made->data = data;
  made->references = references;
  UserObjectState& of = *made;
  *object = of.handle = make_handle(std::move(made));
  return kSuccess;
}

Result retain_user_object(UserObject handle, unsigned count) {
  UserObjectState* const object = resolve(handle);
  HALYARD_GPU_REQUIRE(object != nullptr && is_count(count), kInvalidValue);
  object->references += count;
  return kSuccess;
}

Result retain_in_graph(Graph graph_handle, UserObject handle, unsigned count, unsigned flags) {
  GraphState* const graph = resolve(graph_handle);
  HALYARD_GPU_REQUIRE(
      graph != nullptr && resolve(handle) != nullptr && is_count(count) && flags <= kMove,
      kInvalidValue);
  const std::shared_ptr<UserObjectState> object = handle->object;
  if (flags == kMove) {
    if (const Result result = release_user_object(handle, count); result != kSuccess) return result;
  }
  graph->users[object] += count;
  return kSuccess;
}

Result release_in_graph(Graph graph_handle, UserObject handle, unsigned count) {
  GraphState* const graph = resolve(graph_handle);
  // The program may have released the handle.
  HALYARD_GPU_REQUIRE(graph != nullptr && handle != nullptr && is_count(count), kInvalidValue);
  const auto at = std::ranges::find_if(
      graph->users, [&](const auto& each) { return each.first->handle == handle; });
  HALYARD_GPU_REQUIRE(at != graph->users.end() && count <= at->second, kInvalidValue);
  at->second -= count;
  if (at->second == 0) graph->users.erase(at);
  return kSuccess;
}

}  // namespace halyard::inline v0::sim::gpu
