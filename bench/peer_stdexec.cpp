// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <stdexec/execution.hpp>

#include "peers.h"
#include "steps.h"

namespace halyard::bench {
namespace {

struct Receiver {
  using receiver_concept = stdexec::receiver_t;
  void set_value(std::uint32_t value) && noexcept { *x = value; }
  template <class E>
  void set_error(E&&) && noexcept {}
  void set_stopped() && noexcept {}
  std::uint32_t* x;
};

// Builds, connects and starts each tree on this thread.
template <class Tree>
std::uint32_t run(std::uint64_t trees, std::uint32_t x, Tree tree) {
  for (std::uint64_t i = 0; i < trees; ++i) {
    auto operation = stdexec::connect(tree(opaque(x)), Receiver{&x});
    stdexec::start(operation);
  }
  return x;
}

std::uint32_t then(std::uint64_t trees, std::uint32_t from) {
  return run(trees, from, [](std::uint32_t x) {
    return stdexec::just(x) | stdexec::then(Step()) | stdexec::then(Step()) |
           stdexec::then(Step()) | stdexec::then(Step()) | stdexec::then(Step()) |
           stdexec::then(Step()) | stdexec::then(Step()) | stdexec::then(Step());
  });
}

std::uint32_t let_value(std::uint64_t trees, std::uint32_t from) {
  constexpr auto kNext = [](std::uint32_t x) { return stdexec::just(Step()(x)); };
  return run(trees, from, [&](std::uint32_t x) {
    return stdexec::just(x) | stdexec::let_value(kNext) | stdexec::let_value(kNext) |
           stdexec::let_value(kNext) | stdexec::let_value(kNext) | stdexec::let_value(kNext) |
           stdexec::let_value(kNext) | stdexec::let_value(kNext) | stdexec::let_value(kNext);
  });
}

std::uint32_t when_all(std::uint64_t trees, std::uint32_t from) {
  return run(trees, from, [](std::uint32_t x) {
    const auto leaf = [x](std::uint32_t i) { return stdexec::just(x + i) | stdexec::then(Step()); };
    return stdexec::when_all(leaf(0), leaf(1), leaf(2), leaf(3), leaf(4), leaf(5), leaf(6),
                             leaf(7)) |
           stdexec::then([](auto... part) { return (part + ...); });
  });
}

}  // namespace

ComposePeers stdexec_peers() { return {"stdexec", then, let_value, when_all}; }

}  // namespace halyard::bench
