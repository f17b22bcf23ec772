// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// HostEvent: lets Tasks wait until a thread of the host sets it.
//
//   HostEvent arrived = HostEvent::create(runtime).value();
//   std::thread reader([arrived] { read_message(); arrived.set(); });
//   co_await with_deadline(arrived, 5s);
#pragma once

#include <utility>

#include "halyard/async/context.h"
#include "halyard/async/runtime.h"
#include "halyard/base/export.h"
#include "halyard/base/ref.h"
#include "halyard/base/result.h"

namespace halyard::inline v0::async {

// A handle; safe from any thread. It is also an operation, which any number of awaits and trees may
// use; its await completes when the event is set, and fails when fail() is called or the last
// handle is dropped before (kCancelled). An await keeps no handle. In a tree, the tree's await
// waits for it too; the tree's work on the device does not.
class HALYARD_EXPORT HostEvent {
 public:
  // The result of an await.
  struct Output {};

  // Errors: kInvalidArgument for an empty runtime, kResourceExhausted.
  static Result<HostEvent> create(const Runtime& runtime);

  // Sets the event; it cannot be reset. Runs callbacks of awaits as hal::Semaphore::signal() does.
  // Does nothing after the first set() or fail().
  void set() const noexcept;
  // Fails the awaits with `status`, which is not ok.
  void fail(const Status& status) const noexcept;
  bool is_set() const noexcept;

  Result<Output> execute(Context& context) &&;

 private:
  explicit HostEvent(Ref<RefCounted> object) noexcept : object_(std::move(object)) {}
  Ref<RefCounted> object_;
};

}  // namespace halyard::inline v0::async
