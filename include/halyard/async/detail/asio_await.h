// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// AsioAwait: the await of a future by a completion handler.
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

#include "halyard/async/detail/await.h"
#include "halyard/async/detail/frame_pool.h"
#include "halyard/base/result.h"

namespace halyard::inline v0::async::detail {

#if defined(HALYARD_BOOST_ASIO)
namespace asio_api = boost::asio;
#else
namespace asio_api = ::asio;
#endif

// Allocates awaits from the frame pool.
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

// Memory for an object that Asio posts.
struct PostBuffer {
  static constexpr std::size_t kSize = 128;  // Asio's object with a Call in it has 64 bytes
  alignas(std::max_align_t) std::byte bytes[kSize];
};
// Allocates the first object that fits there, others on the heap.
template <class T>
struct PostAllocator {
  using value_type = T;
  explicit PostAllocator(PostBuffer& in) noexcept : buffer(&in) {}
  template <class U>
  PostAllocator(const PostAllocator<U>& other) noexcept : buffer(other.buffer) {}
  T* allocate(std::size_t count) {
    if constexpr (sizeof(T) <= PostBuffer::kSize && alignof(T) <= alignof(std::max_align_t)) {
      if (count == 1) return reinterpret_cast<T*>(buffer->bytes);
    }
    return std::allocator<T>().allocate(count);
  }
  void deallocate(T* memory, std::size_t count) const noexcept {
    if (static_cast<void*>(memory) == buffer->bytes) return;
    std::allocator<T>().deallocate(memory, count);
  }
  template <class U>
  bool operator==(const PostAllocator<U>& other) const noexcept {
    return buffer == other.buffer;
  }
  PostBuffer* buffer;
};

// An await and its handler, in memory from the handler's allocator.
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

  // Runs at the end of the await, on any thread. The posted object lies in posted_ or, if it is too
  // large, on the heap. Nothing could catch here, so without memory the program terminates.
  struct Done {
    void operator()(Result<Value>&& result) const noexcept {
      Owner owner(self);
      owner->result_.emplace(std::move(result));
      const Executor executor = owner->work_.get_executor();
      asio_api::post(executor, Call{std::move(owner)});
    }
    AsioAwait* self;
  };
  // Runs on the executor. Before the call of the handler it frees the await, as Asio requires; the
  // posted object lies in the await.
  struct Call {
    using allocator_type = PostAllocator<void>;
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
  static void start(PlacedOperation<Op>&& what, Handler&& handler) {
    Allocator allocator(asio_api::get_associated_allocator(handler));
    AsioAwait* const self = Traits::allocate(allocator, 1);
    Owner owner(::new (static_cast<void*>(self)) AsioAwait(std::move(what), std::move(handler)));
    self->await_->start();  // unless it throws, it owns itself from here on
    (void)owner.release();
  }

 private:
  AsioAwait(PlacedOperation<Op>&& what, Handler&& handler)
      : handler_(std::move(handler)),
        allocator_(asio_api::get_associated_allocator(handler_)),
        work_(asio_api::get_associated_executor(handler_)) {
    connect_slot(what);
    await_.emplace(std::move(what), Done{this});
  }

  void connect_slot(PlacedOperation<Op>& what) {
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
  PostBuffer posted_;
};

}  // namespace halyard::inline v0::async::detail
