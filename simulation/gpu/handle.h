// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Handles that a program holds. A handle is the address of a Shell, which is never returned to the
// operating system, so that use after destruction is detected instead of undefined.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "base/atomic.h"
#include "simulation/gpu/process.h"
#include "simulation/gpu/report.h"
#include "simulation/gpu/types.h"

namespace halyard::inline v0::sim::gpu {

enum class Kind : std::uint32_t {
  kDestroyed = 0xdead0000,
  kContext = 0xc0da0001,
  kStream,
  kEvent,
  kModule,
  kFunction,
  kLibrary,
  kKernel,
  kLink,
  kGraph,
  kNode,
  kExec,
  kPool,
  kArray,
  kUserObject,
};

template <class T>
struct Shell {
  base::Atomic<std::uint32_t> kind{0};
  // Equal to `object`, for calls that do not lock the State. Only for objects that are never freed.
  base::Atomic<T*> permanent{nullptr};
  std::shared_ptr<T> object;
  Shell* next_free = nullptr;
  Shell* next_made = nullptr;
};

// Shells of destroyed objects wait for this many others to be destroyed before they are used again.
inline constexpr std::size_t kQuarantine = 4096;

template <class T>
struct ShellList {
  Shell<T>* first = nullptr;
  Shell<T>* last = nullptr;
  std::size_t count = 0;
  Shell<T>* made = nullptr;  // all shells ever created, so that leak checkers can reach them
};

template <class T>
inline ShellList<T> destroyed_shells;  // guarded by the lock of the State

// Frees all handles of one kind.
template <class T>
void free_shells() {
  ShellList<T>& list = destroyed_shells<T>;
  for (Shell<T>* shell = list.made; shell != nullptr; shell = shell->next_made) {
    const std::shared_ptr<T> last = std::move(shell->object);
  }
  while (Shell<T>* const shell = list.made) {
    list.made = shell->next_made;
    delete shell;
  }
  list = {};
}

// Makes a handle for `object`. The State is locked.
template <class T>
Shell<T>* make_handle(std::shared_ptr<T> object) {
  ShellList<T>& list = destroyed_shells<T>;
  Shell<T>* shell = nullptr;
  if (list.count > kQuarantine) {
    shell = list.first;
    list.first = shell->next_free;
    --list.count;
  } else {
    shell = new Shell<T>;
    if (list.made == nullptr) at_end_of_process(&free_shells<T>);
    shell->next_made = list.made;
    list.made = shell;
  }
  shell->permanent.store(object.get(), std::memory_order_relaxed);
  shell->object = std::move(object);
  shell->kind.store(static_cast<std::uint32_t>(T::kKind), std::memory_order_release);
  return shell;
}

// Ends a handle and returns the object that it named. The State is locked.
template <class T>
std::shared_ptr<T> end_handle(Shell<T>* shell) {
  ShellList<T>& list = destroyed_shells<T>;
  shell->kind.store(static_cast<std::uint32_t>(Kind::kDestroyed));
  shell->next_free = nullptr;
  (list.count == 0 ? list.first : list.last->next_free) = shell;
  list.last = shell;
  ++list.count;
  return std::move(shell->object);
}

template <class T>
bool is_handle(const Shell<T>* shell) {
  return shell != nullptr && reinterpret_cast<std::uintptr_t>(shell) % alignof(Shell<T>) == 0 &&
         shell->kind.load(std::memory_order_acquire) == static_cast<std::uint32_t>(T::kKind);
}

template <class T>
void report_dead_handle(const Shell<T>* shell) {
  if (shell != nullptr && reinterpret_cast<std::uintptr_t>(shell) % alignof(Shell<T>) == 0 &&
      shell->kind.load() == static_cast<std::uint32_t>(Kind::kDestroyed)) {
    report_misuse("use-after-destroy", std::string("a destroyed ") + T::kName + " was used");
  }
}

// Returns the object that a handle names, or null, with a report, if the handle does not name an
// object of this kind. The State is locked.
template <class T>
T* resolve(Shell<T>* shell) {
  if (is_handle(shell)) [[likely]]
    return shell->object.get();
  report_dead_handle(shell);
  return nullptr;
}
// The same for objects that are never freed. The State need not be locked.
template <class T>
T* resolve_permanent(Shell<T>* shell) {
  if (is_handle(shell)) [[likely]]
    return shell->permanent.load(std::memory_order_relaxed);
  report_dead_handle(shell);
  return nullptr;
}

}  // namespace halyard::inline v0::sim::gpu
