// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asio: operations for completion tokens (asio 1.19 or later; Boost.Asio 1.74 or later where
// HALYARD_BOOST_ASIO is defined). Not part of halyard/async.h; the program links with Asio.
//
//   Result<std::vector<float>> y =
//       co_await async_wait(to_host(add(x, x)) | on(runtime), asio::use_awaitable);
//
// The completion signature is void(Result<T>), as as_result() gives. The handler runs on its
// executor, never within async_wait(), and the executor has work until then. A handler's
// cancellation slot, where Asio has them, stops the await: kCancelled. What a function of the
// operation throws is thrown by the initiation.
//
// The await lies in memory of the handler's allocator: where it has none but the standard one, in
// what the thread keeps for later awaits. Asio's own post to a polymorphic executor, as of
// use_awaitable, allocates what it allocates.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <stop_token>
#include <type_traits>
#include <utility>

#if defined(HALYARD_BOOST_ASIO)
#include <boost/asio.hpp>
#else
#include <asio.hpp>
#endif

#include "halyard/async/await.h"
#include "halyard/async/frame_pool.h"
#include "halyard/async/future.h"
#include "halyard/base/result.h"

namespace halyard::inline v0::async {

namespace detail {

#if defined(HALYARD_BOOST_ASIO)
namespace asio_api = boost::asio;
#else
namespace asio_api = ::asio;
#endif

// Of what lives as long as an await.
template <class T>
struct FrameAllocator {
  using value_type = T;
  FrameAllocator() = default;
  template <class U>
  FrameAllocator(const std::allocator<U>&) noexcept {}
  T* allocate(std::size_t count) {
    if constexpr (alignof(T) > alignof(std::max_align_t))
      return std::allocator<T>().allocate(count);
    return static_cast<T*>(new_frame(count * sizeof(T)));
  }
  void deallocate(T* memory, std::size_t count) const noexcept {
    if constexpr (alignof(T) > alignof(std::max_align_t)) {
      std::allocator<T>().deallocate(memory, count);
    } else {
      free_frame(memory, count * sizeof(T));
    }
  }
};
template <class T, class Given>
struct AwaitAllocator {
  using Type = typename std::allocator_traits<Given>::template rebind_alloc<T>;
};
template <class T, class U>
struct AwaitAllocator<T, std::allocator<U>> {
  using Type = FrameAllocator<T>;
};

// For one object at a time that is not too large, in `place`; others come from the heap.
struct Place {
  static constexpr std::size_t kSize = 128;  // what Asio posts, with a Call in it, is 64
  alignas(std::max_align_t) std::byte bytes[kSize];
};
template <class T>
struct PlaceAllocator {
  using value_type = T;
  explicit PlaceAllocator(Place& in) noexcept : place(&in) {}
  template <class U>
  PlaceAllocator(const PlaceAllocator<U>& other) noexcept : place(other.place) {}
  T* allocate(std::size_t count) {
    if constexpr (sizeof(T) <= Place::kSize && alignof(T) <= alignof(std::max_align_t)) {
      if (count == 1) return reinterpret_cast<T*>(place->bytes);
    }
    return std::allocator<T>().allocate(count);
  }
  void deallocate(T* memory, std::size_t count) const noexcept {
    if (static_cast<void*>(memory) == place->bytes) return;
    std::allocator<T>().deallocate(memory, count);
  }
  template <class U>
  bool operator==(const PlaceAllocator<U>& other) const noexcept {
    return place == other.place;
  }
  Place* place;
};

// An await and its handler, in memory of the handler's allocator.
template <class Op, class Handler>
class AsioAwait {
  using Value = typename Await<Op>::Value;
  using Executor = asio_api::associated_executor_t<Handler>;
  using Given = asio_api::associated_allocator_t<Handler>;
  using Allocator = typename AwaitAllocator<AsioAwait, Given>::Type;
  using Traits = std::allocator_traits<Allocator>;

  struct Delete {
    void operator()(AsioAwait* self) const {
      Allocator allocator(self->allocator_);
      Traits::destroy(allocator, self);
      Traits::deallocate(allocator, self, 1);
    }
  };
  using Owner = std::unique_ptr<AsioAwait, Delete>;

  // At the end, on any thread, where nobody could catch: what is posted lies in posted_, or, where
  // that is too small for it, on the heap, and the program ends if there is no memory.
  struct Done {
    void operator()(Result<Value>&& result) const noexcept {
      Owner owner(self);
      owner->result_.emplace(std::move(result));
      const Executor executor = owner->work_.get_executor();
      asio_api::post(executor, Call{std::move(owner)});
    }
    AsioAwait* self;
  };
  // On the executor. The memory goes before the handler runs, as Asio has it; until then what Asio
  // posts lies in it.
  struct Call {
    using allocator_type = PlaceAllocator<void>;
    allocator_type get_allocator() const noexcept { return allocator_type(owner->posted_); }
    void operator()() {
      Handler handler = std::move(owner->handler_);
      Result<Value> result = *std::move(owner->result_);
      const auto work = std::move(owner->work_);
      owner.reset();
      std::move(handler)(std::move(result));
    }
    Owner owner;
  };

 public:
  static void start(Awaited<Op>&& what, Handler&& handler) {
    Allocator allocator(asio_api::get_associated_allocator(handler));
    AsioAwait* const self = Traits::allocate(allocator, 1);
    Owner owner(::new (static_cast<void*>(self)) AsioAwait(std::move(what), std::move(handler)));
    self->await_->start();  // throws, or it is its own from here on
    (void)owner.release();
  }

 private:
  AsioAwait(Awaited<Op>&& what, Handler&& handler)
      : handler_(std::move(handler)),
        allocator_(asio_api::get_associated_allocator(handler_)),
        work_(asio_api::get_associated_executor(handler_)) {
    connect_slot(what);
    await_.emplace(std::move(what), Done{this});
  }

  void connect_slot(Awaited<Op>& what) {
#if defined(ASIO_VERSION) && ASIO_VERSION >= 101900 || \
    defined(BOOST_ASIO_VERSION) && BOOST_ASIO_VERSION >= 101900
    auto slot = asio_api::get_associated_cancellation_slot(handler_);
    if (!slot.is_connected()) return;
    std::stop_source source;
    what.stop.outer = source.get_token();
    slot.assign([source](asio_api::cancellation_type) mutable { source.request_stop(); });
#else
    (void)what;
#endif
  }

  Handler handler_;
  const Allocator allocator_;
  asio_api::executor_work_guard<Executor> work_;
  std::optional<Result<Value>> result_;
  std::optional<AwaitThen<Op, Done>> await_;
  Place posted_;
};

}  // namespace detail

template <class Op, class CompletionToken>
auto async_wait(DeviceFuture<Op>&& future, CompletionToken&& token) {
  using Value = typename detail::Await<Op>::Value;
  return detail::asio_api::async_initiate<CompletionToken, void(Result<Value>)>(
      [](auto&& handler, DeviceFuture<Op>&& what) {
        using Handler = std::decay_t<decltype(handler)>;
        detail::AsioAwait<Op, Handler>::start(std::move(what).take(), std::move(handler));
      },
      token, std::move(future));
}

}  // namespace halyard::inline v0::async
