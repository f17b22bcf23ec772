// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asio: awaits by completion tokens (Asio 1.19 or later; with HALYARD_BOOST_ASIO defined,
// Boost.Asio 1.74 or later). Not part of halyard/async.h. The program links with Asio.
//
//   Result<std::vector<float>> y =
//       co_await async_wait(to_host(add(x, x)) | on(runtime), asio::use_awaitable);
//
// The completion signature is void(Result<T>), the type of as_result(). The handler runs on its
// executor, never within async_wait(); until then the executor has work. The handler's cancellation
// slot, in versions of Asio that have one, stops the await with kCancelled. If a function of the
// operation throws, the initiation throws the same.
//
// The executor's context outlives the await. To shut down, stop the awaits and let the context run
// until it has no work, as run() does; io_context::stop() by itself leaves them pending.
//
// The await's memory comes from the handler's allocator, or from a cache of the thread if that is
// the standard allocator. Asio's own post to a polymorphic executor, as for use_awaitable, may
// allocate.
#pragma once

#include <type_traits>
#include <utility>

#include "halyard/async/detail/asio_await.h"
#include "halyard/async/detail/await.h"
#include "halyard/async/future.h"
#include "halyard/base/result.h"

namespace halyard::inline v0::async {

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
