// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The shipped matrix product compared with OpenBLAS, on one core and on all. Reported only: the
// kernel is portable source whose every operation is rounded; OpenBLAS is assembly with fused
// operations.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "machine.h"
#include "world.h"
#if defined(HALYARD_BENCH_OPENBLAS)
#include <cblas.h>
#endif

namespace halyard::bench {
namespace {

constexpr std::uint32_t kSize = 960;  // square; 15 groups of 64 a side
constexpr std::size_t kElements = std::size_t{kSize} * kSize;
constexpr int kPasses = 3;

struct Product {
  explicit Product(hal::Device on) : device(std::move(on)) {
    std::mt19937 random(1);
    for (Words* matrix : {&a, &b}) {
      for (std::size_t i = 0; i < kElements; ++i) {
        floats(*matrix)[i] = static_cast<float>(static_cast<std::int32_t>(random())) * 0x1p-31f;
      }
    }
    for (std::size_t i = 0; i < kSize; ++i) {
      for (std::size_t k = 0; k < kSize; ++k) {
        const double factor = double{floats(a)[i * kSize + k]};
        for (std::size_t j = 0; j < kSize; ++j) {
          const double product = factor * double{floats(b)[k * kSize + j]};
          wanted[i * kSize + j] += product;
          magnitude[i * kSize + j] += std::fabs(product);
        }
      }
    }
  }
  static float* floats(Words& words) { return reinterpret_cast<float*>(&words[0]); }

  template <class Multiply>
  Sample measure(Multiply&& multiply) {
    Sample sample;
    std::memset(&c[0], 0xff, kElements * sizeof(float));
    for (int i = 0; i < kPasses; ++i) sample.times.push_back(time_each(1, multiply));
    sample.metrics["GFLOP/s"] = 2.0 * kSize * kSize * kSize / median(sample.times);
    bool right = true;
    for (std::size_t i = 0; i < kElements; ++i) {
      const double error = std::fabs(double{floats(c)[i]} - wanted[i]);
      right &= error <= (kSize + 1) * 0x1p-24 * magnitude[i];  // false for a NaN
    }
    verify(right, "matrix product");
    return sample;
  }
  void dispatch() {
    check(queue.dispatch(function, {.groups = {kSize / 64, kSize / 64}},
                         {a.buffer(), b.buffer(), c.buffer()}, {kSize, kSize, kSize},
                         {.signal = {{done, ++value}}}));
    check(done.wait(value));
  }

  hal::Device device;
  hal::Queue queue = device.queue();
  hal::Function function = World::load(device, "matmul").function("matmul").value();
  hal::Semaphore done = device.create_semaphore().value();
  std::uint64_t value = 0;
  Words a{device, kElements}, b{device, kElements}, c{device, kElements};
  std::vector<double> wanted = std::vector<double>(kElements);
  std::vector<double> magnitude = std::vector<double>(kElements);
};

// `core`: the core of all threads, or -1.
Arms product_row(int core) {
  const auto state =
      std::make_shared<Product>(core < 0 ? World::open_all_cores() : World::open_device(core));
  const auto pinned = [core](auto&& run) {
    if (core < 0) return run();
    const Pin pin(core);
    return run();
  };
  Arms arms{{"halyard: dispatch",
             [=] { return pinned([&] { return state->measure([&] { state->dispatch(); }); }); }},
            std::nullopt,
            {}};
#if defined(HALYARD_BENCH_OPENBLAS)
  arms.peers.push_back({"OpenBLAS", [=] {
                          openblas_set_num_threads(core < 0 ? openblas_get_num_procs() : 1);
                          return pinned([&] {
                            return state->measure([&] {
                              cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, kSize, kSize,
                                          kSize, 1, Product::floats(state->a), kSize,
                                          Product::floats(state->b), kSize, 0,
                                          Product::floats(state->c), kSize);
                            });
                          });
                        }});
#endif
  return arms;
}

}  // namespace

std::vector<Row> matmul_rows() {
  return {
      {"matmul.one_core",
       "product of two 960 x 960 matrices of float; pinned to one core",
       {},
       [](World&) { return product_row(cores(1).front()); }},
      {"matmul.all_cores", "the same on all cores", {}, [](World&) { return product_row(-1); }},
  };
}

}  // namespace halyard::bench
