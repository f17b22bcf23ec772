// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A doubly linked list through hooks inside its elements: no allocation, O(1) removal from the
// middle. Not thread-safe.
#pragma once

#include <cassert>

namespace halyard::inline v0::base {

// A hook. A type derives from it once for each list it can be on; Tag distinguishes the hooks.
template <class Tag>
struct ListHook {
  ListHook* next = nullptr;
  ListHook* prev = nullptr;
  bool linked() const noexcept { return next != nullptr; }
};

template <class T, class Tag>
class IntrusiveList {
 public:
  using Hook = ListHook<Tag>;
  IntrusiveList() noexcept { head_.next = head_.prev = &head_; }
  IntrusiveList(const IntrusiveList&) = delete;
  IntrusiveList& operator=(const IntrusiveList&) = delete;

  bool empty() const noexcept { return head_.next == &head_; }
  void push_back(T& element) noexcept { insert_before(head_, element); }
  void push_front(T& element) noexcept { insert_before(*head_.next, element); }
  T& front() noexcept {
    assert(!empty());
    return *static_cast<T*>(head_.next);
  }
  T* pop_front() noexcept {
    if (empty()) return nullptr;
    T& element = front();
    erase(element);
    return &element;
  }
  static void erase(T& element) noexcept {
    Hook& hook = element;
    assert(hook.linked());
    hook.prev->next = hook.next;
    hook.next->prev = hook.prev;
    hook.next = hook.prev = nullptr;
  }
  // Calls fn(T&) for each element, in order. fn may erase the element it is given.
  template <class F>
  void for_each(F&& fn) {
    for (Hook* hook = head_.next; hook != &head_;) {
      Hook* next = hook->next;
      fn(*static_cast<T*>(hook));
      hook = next;
    }
  }

 private:
  void insert_before(Hook& position, T& element) noexcept {
    Hook& hook = element;
    assert(!hook.linked());
    hook.prev = position.prev;
    hook.next = &position;
    position.prev->next = &hook;
    position.prev = &hook;
  }

  Hook head_;
};

}  // namespace halyard::inline v0::base
