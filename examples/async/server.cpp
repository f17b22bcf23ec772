// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A TCP server on the loopback address with one thread for all connections. While a device computes
// for one client, the thread serves the other clients. A request is a line with a number n. The
// reply is the sum of the elements of A * A, where A is the n x n matrix of ones: n * n * n. The
// clients are part of this program. With HALYARD_BOOST_ASIO it uses Boost.Asio.
#include <halyard/async.h>
#include <halyard/async/asio.h>

#include <cstdio>
#include <exception>
#include <numeric>
#include <string>

#if defined(HALYARD_BOOST_ASIO)
namespace asio = boost::asio;
#endif
using namespace halyard::async;
using asio::awaitable;
using asio::use_awaitable;
using asio::ip::tcp;

awaitable<void> serve(tcp::socket socket, Runtime runtime) {
  std::string input;
  try {
    for (;;) {
      std::size_t length =
          co_await asio::async_read_until(socket, asio::dynamic_buffer(input), '\n', use_awaitable);
      std::uint64_t n = std::stoul(input.substr(0, length));
      input.erase(0, length);
      auto product = to_host(matmul(ones<float>({n, n}), ones<float>({n, n})));
      auto result = co_await async_wait(std::move(product) | on(runtime), use_awaitable);
      std::string answer =
          result.ok()
              ? std::to_string(std::accumulate(result->begin(), result->end(), std::uint64_t{0}))
              : result.status().to_string();
      co_await asio::async_write(socket, asio::buffer(answer + "\n"), use_awaitable);
    }
  } catch (const std::exception&) {  // the client has disconnected, or has sent something else
  }
}

awaitable<void> accept(tcp::acceptor& acceptor, Runtime runtime, int clients) {
  for (int i = 0; i < clients; ++i) {
    tcp::socket socket = co_await acceptor.async_accept(use_awaitable);
    co_spawn(acceptor.get_executor(), serve(std::move(socket), runtime), asio::detached);
  }
}

awaitable<void> ask(tcp::endpoint server, std::uint64_t n, std::uint64_t& total) {
  tcp::socket socket(co_await asio::this_coro::executor);
  co_await socket.async_connect(server, use_awaitable);
  for (int i = 0; i < 3; ++i) {
    co_await asio::async_write(socket, asio::buffer(std::to_string(n) + "\n"), use_awaitable);
    std::string answer;
    co_await asio::async_read_until(socket, asio::dynamic_buffer(answer), '\n', use_awaitable);
    total += std::stoull(answer);
  }
}

int main() {
  const Runtime runtime = Runtime::open("cpu://?devices=2", {.policy = RoundRobin()}).value();
  asio::io_context context;
  tcp::acceptor acceptor(context, {asio::ip::address_v4::loopback(), 0});
  constexpr int kClients = 8;
  co_spawn(context, accept(acceptor, runtime, kClients), asio::detached);
  std::uint64_t total = 0;
  for (int i = 1; i <= kClients; ++i) {
    co_spawn(context, ask(acceptor.local_endpoint(), static_cast<std::uint64_t>(10 * i), total),
             asio::detached);
  }
  context.run();
  std::printf("%llu\n", static_cast<unsigned long long>(total));  // 3 (10^3 + 20^3 + ... + 80^3)
}
