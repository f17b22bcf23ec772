// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The public API of timeline::Semaphore, which is the object of the handle itself.
#include "halyard/hal/semaphore.h"

#include <span>

#include "hal/object.h"
#include "timeline/registration.h"
#include "timeline/semaphore.h"

namespace halyard::inline v0::hal {

void Registration::reset() noexcept {
  if (timeline::Registration* node = std::exchange(node_, nullptr); node != nullptr) node->drop();
}

Result<std::uint64_t> Semaphore::query() const {
  HALYARD_RETURN_IF_ERROR(check_handle(*this, "query"));
  return object()->query();
}

Status Semaphore::signal(std::uint64_t value) const {
  HALYARD_RETURN_IF_ERROR(check_handle(*this, "signal"));
  return object()->signal(value);
}

Status Semaphore::post(std::uint64_t value) const {
  HALYARD_RETURN_IF_ERROR(check_handle(*this, "post"));
  return object()->post(value);
}

void Semaphore::fail(const Status& status) const {
  if (object()) object()->fail(status);
}

void Semaphore::give_up(std::uint64_t value) const {
  if (object()) object()->give_up(value);
}

Status Semaphore::wait(std::uint64_t value, Deadline deadline) const {
  HALYARD_RETURN_IF_ERROR(check_handle(*this, "wait"));
  return object()->wait(value, deadline);
}

Result<Registration> Semaphore::on_reach_erased(std::uint64_t value, void* state,
                                                void (*call)(void*, const Status&),
                                                void (*destroy)(void*),
                                                CallbackThread thread) const {
  if (Status status = check_handle(*this, "on_reach"); !status.ok()) {
    destroy(state);
    return status;
  }
  HALYARD_ASSIGN_OR_RETURN(timeline::Registration* const node,
                           timeline::Registration::create(*object(), value, {state, call, destroy},
                                                          thread == CallbackThread::kRuntime));
  return Registration(node);
}

namespace {

using WaitMany = Status (*)(timeline::Engine&, std::span<const Point>, Deadline);

Status wait_many(Points points, Deadline deadline, const char* name, WaitMany wait) {
  if (points.empty()) return {};
  for (std::size_t i = 0; i < points.size(); ++i) {
    const timeline::Semaphore* const semaphore = points[i].semaphore();
    if (semaphore == nullptr) {
      return error(StatusCode::kInvalidArgument, "{}: point {} has an empty semaphore", name, i);
    }
    if (!semaphore->is_live()) {
      return error(StatusCode::kInvalidArgument,
                   "{}: point {} is no semaphore: is the list no longer there? A View only refers "
                   "to it",
                   name, i);
    }
    if (&semaphore->engine() != &points[0].semaphore()->engine()) {
      return error(StatusCode::kPermissionDenied, "{}: point {}: {} is of another runtime than {}",
                   name, i, semaphore->describe(), points[0].semaphore()->describe());
    }
  }
  return wait(points[0].semaphore()->engine(), points, deadline);
}

}  // namespace

Status wait_all(Points points, Deadline deadline) {
  return wait_many(points, deadline, "wait_all", timeline::wait_all);
}

Status wait_any(Points points, Deadline deadline) {
  return wait_many(points, deadline, "wait_any", timeline::wait_any);
}

}  // namespace halyard::inline v0::hal
