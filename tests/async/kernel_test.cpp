// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls of kernels: arguments, results, and errors of declarations that do not match the kernel.
// Calls that do not compile are in does_not_compile/.
#include <algorithm>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "halyard/async/kernel.h"

#include "async/async_test_util.h"

namespace halyard::async {
namespace {

using testing::AsyncTest;
using ::testing::Each;
using ::testing::ElementsAre;
using testing::refused_with;
using testing::saxpy;

using AsyncKernel = AsyncTest;

template <class Signature>
constexpr Kernel<Signature> of_tests(const char* name) {
  return {name, "async_kernels"};
}

constexpr auto copies =
    of_tests<void(const Tensor<float>&, Tensor<float>&, Tensor<float>&)>("two_copies");

TEST_F(AsyncKernel, ComputesOverThePartitionAndGivesItsArgumentsBack) {
  auto [a, x, y] = run(
      saxpy(2.0f, ones<float>({16, 16}) | share, full<float>({16, 16}, 3.0f) | partition(4, 4)));
  static_assert(std::is_same_v<decltype(a), float>);
  static_assert(std::is_same_v<decltype(x), Shared<Tensor<float>>>);
  static_assert(std::is_same_v<decltype(y), Partition<Tensor<float>>>);
  EXPECT_EQ(a, 2.0f);
  EXPECT_THAT(elements(std::move(x)), Each(1.0f));
  EXPECT_THAT(elements(std::move(y)), Each(5.0f));
}

TEST_F(AsyncKernel, AlsoReadsATensorAndGivesItBack) {
  auto x = run(ones<float>({4, 4}));
  auto [a, same, y] = run(saxpy(1.0f, std::move(x), zeros<float>({4, 4}) | partition(2, 2)));
  static_assert(std::is_same_v<decltype(same), Tensor<float>>);
  EXPECT_THAT(elements(std::move(same)), Each(1.0f));
}

TEST_F(AsyncKernel, TakesValuesAndOperationsAlike) {
  auto x = run(ones<float>({4, 4}) | share);
  auto y = run(ones<float>({4, 4}) | partition(4, 4));
  auto [a, x1, y1] = run(saxpy(value(3.0f), x, std::move(y)));
  EXPECT_THAT(elements(std::move(y1)), Each(4.0f));
}

TEST_F(AsyncKernel, AFileMayBeAPath) {
  static const std::string path =
      std::filesystem::canonical("/proc/self/exe").parent_path() / "kernels/saxpy_tile.hyx";
  const Kernel<void(float, const Tensor<float>&, Tensor<float>&)> kernel("saxpy_tile",
                                                                         path.c_str());
  EXPECT_THAT(
      elements(kernel(2.0f, ones<float>({4, 4}) | share, ones<float>({4, 4}) | partition(2, 2)) |
               last),
      Each(3.0f));
}

TEST_F(AsyncKernel, NumbersAndTensorsMayBeMixed) {
  constexpr auto kernel =
      of_tests<void(const Tensor<float>&, float, Tensor<float>&, std::uint32_t)>("axpb");
  auto y = run(kernel(from_host<float>({1, 2, 3, 4}, {2, 2}) | share, 10.0f,
                      zeros<float>({2, 2}) | partition(1, 2), std::uint16_t{5}) |
               map([](auto&& all) { return std::get<2>(std::move(all)); }));
  EXPECT_THAT(elements(std::move(y)), ElementsAre(15, 25, 35, 45));
}

TEST_F(AsyncKernel, AGroupWritesEachTileAndUnevenEdgesEndWithTheTensor) {
  constexpr auto kernel = of_tests<void(Tensor<std::uint32_t>&)>("group_of");
  EXPECT_THAT(elements(kernel(zeros<std::uint32_t>({3, 5}) | partition(2, 4)) | first),
              ElementsAre(1, 1, 1, 1, 2,  //
                          1, 1, 1, 1, 2,  //
                          3, 3, 3, 3, 4));
}

TEST_F(AsyncKernel, AKernelsOwnTileIsTheOnlyOne) {
  constexpr auto kernel = of_tests<void(const Tensor<float>&, Tensor<float>&)>("own_tile");
  const auto with = [&](auto adaptor) {
    return kernel(ones<float>(20) | share, zeros<float>(20) | adaptor) | last;
  };
  EXPECT_THAT(elements(with(partition(8))), Each(2.0f));
  EXPECT_THAT(elements(with(partition())), Each(2.0f));
  EXPECT_THAT(failure(with(partition(4))),
              refused_with(StatusCode::kInvalidArgument,
                           "kernel own_tile: y: a partition into 4; the kernel's tile is 8"));
}

TEST_F(AsyncKernel, ATileThatIsKnownToTheCompilerIsTheDeclarationsOrAny) {
  constexpr auto any = of_tests<void(Tensor<std::uint32_t>&)>("group_of");
  constexpr auto two_by_four = of_tests<void(Partition<Tensor<std::uint32_t>, 2, 4>&)>("group_of");
  const auto tiles = [] { return zeros<std::uint32_t>({3, 5}) | partition<2, 4>(); };
  const auto expected = ElementsAre(1, 1, 1, 1, 2, 1, 1, 1, 1, 2, 3, 3, 3, 3, 4);
  EXPECT_THAT(elements(any(tiles()) | first), expected);
  EXPECT_THAT(elements(two_by_four(tiles()) | first | unpartition), expected);
  EXPECT_THAT(elements(fill(tiles(), 7u) | share), Each(7u));
}

TEST_F(AsyncKernel, ATileThatIsDeclaredIsComparedWithTheKernels) {
  const auto x = run(ones<float>(20) | share);
  constexpr auto eight =
      of_tests<void(const Tensor<float>&, Partition<Tensor<float>, 8>&)>("own_tile");
  EXPECT_THAT(elements(eight(x, zeros<float>(20) | partition<8>()) | last), Each(2.0f));
  constexpr auto four =
      of_tests<void(const Tensor<float>&, Partition<Tensor<float>, 4>&)>("own_tile");
  EXPECT_THAT(failure(four(x, zeros<float>(20) | partition<4>())),
              refused_with(StatusCode::kInvalidArgument,
                           "declared with 'Partition<Tensor<float32>, 4>&' for its write tensor of "
                           "float32 'y', whose tile is 8"));
}

TEST_F(AsyncKernel, ATileThatTheTensorDoesNotHaveIsRefused) {
  const auto with = [&](auto adaptor) {
    return saxpy(1.0f, ones<float>({4, 4}) | share, ones<float>({4, 4}) | adaptor);
  };
  EXPECT_THAT(failure(with(partition(4))),
              refused_with(StatusCode::kInvalidArgument,
                           "saxpy_tile: y: a tile of 1 extent is given for rank 2"));
  EXPECT_THAT(failure(with(partition(4, 0))),
              refused_with(StatusCode::kInvalidArgument, "saxpy_tile: y: tile1 is 0"));
}

TEST_F(AsyncKernel, ATensorOfAnotherRankIsRefused) {
  EXPECT_THAT(failure(saxpy(1.0f, ones<float>(16) | share, ones<float>({4, 4}) | partition(4, 4))),
              refused_with(StatusCode::kInvalidArgument,
                           "saxpy_tile: x: a tensor of rank 1 is given; it has rank 2"));
}

TEST_F(AsyncKernel, SizesOtherThanTheKernelStatesAreRefusedAndWhatFollowsRuns) {
  EXPECT_THAT(failure(saxpy(2.0f, ones<float>({8, 8}), ones<float>({16, 16}) | partition(4, 4))),
              refused_with(StatusCode::kInvalidArgument,
                           "kernel saxpy_tile: size 0 of x is 8, size 0 of y is 16; the kernel "
                           "takes equal ones"));
  EXPECT_THAT(
      elements(saxpy(2.0f, ones<float>({16, 16}), ones<float>({16, 16}) | partition(4, 4)) | last),
      Each(3.0f));
}

// Tiles of 4 and of 5 both divide 8 x 8 into 2 x 2 tiles. The same holds for a repeated call and in
// a recording.
TEST_F(AsyncKernel, TwoOutputsOfEqualSizesArePartitionedAlike) {
  const auto x = run(ones<float>({8, 8}) | share);
  const auto tiles = [&](std::uint64_t extent) {
    return run(zeros<float>({8, 8}) | partition(extent, extent));
  };
  const auto refused = refused_with(
      StatusCode::kInvalidArgument,
      "kernel two_copies: tile0 of y is 4, tile0 of z is 5; the kernel takes equal sizes there");
  EXPECT_THAT(failure(copies(x, tiles(4), tiles(5))), refused);
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(elements(copies(x, tiles(4), tiles(4)) | last), Each(1.0f));
    EXPECT_THAT(failure(copies(x, tiles(4), tiles(5))), refused);
  }
  EXPECT_THAT(failure(record(copies(x, tiles(4), tiles(5)))), refused);
  auto recorded = run(record(copies(x, tiles(5), tiles(5))));
  run(recorded.replay());
  EXPECT_THAT(run(recorded.to_host<2>()), Each(1.0f));
}

TEST_F(AsyncKernel, AFlatArrayIsWrittenOnlyUnchecked) {
  constexpr Kernel<void(float, std::uint32_t, const Tensor<float>&, Tensor<float>&)> flat{"saxpy"};
  EXPECT_THAT(
      failure(flat(2.0f, 16u, ones<float>(16) | share, ones<float>(16) | partition(16))),
      refused_with(StatusCode::kInvalidArgument,
                   "kernel saxpy of saxpy: its read-write flat array of float32 'y' is no tensor"));
  auto y = unchecked(flat, {.items = 16})(2.0f, 16u, ones<float>(16) | share, ones<float>(16));
  EXPECT_THAT(elements(std::move(y) | last), Each(3.0f));
}

// Each declaration differs from saxpy_tile(a: float, x: float read, y: float read-write).
TEST_F(AsyncKernel, ADeclarationThatIsNotTheKernelsIsRefusedInWords) {
  constexpr auto kInvalid = StatusCode::kInvalidArgument;

  constexpr Kernel<void(double, const Tensor<float>&, Tensor<float>&)> scalar{"saxpy_tile"};
  EXPECT_THAT(
      failure(scalar(1.0, ones<float>({4, 4}) | share, ones<float>({4, 4}) | partition(4, 4))),
      refused_with(kInvalid,
                   "kernel saxpy_tile of saxpy_tile: declared with 'float64' for "
                   "its float32 'a'"));

  constexpr Kernel<void(float, const Tensor<int>&, Tensor<float>&)> element{"saxpy_tile"};
  EXPECT_THAT(
      failure(element(1.0f, ones<int>({4, 4}) | share, ones<float>({4, 4}) | partition(4, 4))),
      refused_with(kInvalid,
                   "declared with 'const Tensor<int32>&' for its read tensor of "
                   "float32 'x'"));

  constexpr Kernel<void(float, const Tensor<float>&, const Tensor<float>&)> read{"saxpy_tile"};
  EXPECT_THAT(failure(read(1.0f, ones<float>({4, 4}), ones<float>({4, 4}))),
              refused_with(kInvalid,
                           "declared with 'const Tensor<float32>&' for its read-write "
                           "tensor of float32 'y'"));

  constexpr Kernel<void(float, Tensor<float>&, Tensor<float>&)> written{"saxpy_tile"};
  EXPECT_THAT(failure(written(1.0f, ones<float>({4, 4}) | partition(4, 4),
                              ones<float>({4, 4}) | partition(4, 4))),
              refused_with(kInvalid,
                           "declared with 'Tensor<float32>&' for its read tensor of "
                           "float32 'x'"));

  constexpr Kernel<void(const Tensor<float>&, Tensor<float>&)> fewer{"saxpy_tile"};
  EXPECT_THAT(failure(fewer(ones<float>({4, 4}), ones<float>({4, 4}) | partition(4, 4))),
              refused_with(kInvalid,
                           "kernel saxpy_tile of saxpy_tile: it has 3 parameters (2 tensors, "
                           "1 scalar); its declaration has 2 parameters (2 tensors, 0 scalars)"));
}

// Even if the types after the missing parameter differ from the types at the same positions.
TEST_F(AsyncKernel, ADeclarationWithoutOneParameter_FailsWithBothCounts) {
  constexpr Kernel<void(float, Tensor<float>&)> saxpy_without_x{"saxpy_tile"};
  EXPECT_THAT(failure(saxpy_without_x(1.0f, ones<float>({4, 4}) | partition(4, 4))),
              refused_with(StatusCode::kInvalidArgument,
                           "it has 3 parameters (2 tensors, 1 scalar); its declaration has 2 "
                           "parameters (1 tensor, 1 scalar)"));
  constexpr Kernel<void(double, float, const Tensor<float>&, Tensor<float>&)> more{"saxpy_tile"};
  EXPECT_THAT(failure(more(1.0, 1.0f, ones<float>({4, 4}), ones<float>({4, 4}) | partition(4, 4))),
              refused_with(StatusCode::kInvalidArgument,
                           "it has 3 parameters (2 tensors, 1 scalar); its declaration has 4 "
                           "parameters (2 tensors, 2 scalars)"));
}

TEST_F(AsyncKernel, AKernelOrFileThatIsNotThereIsNotFound) {
  constexpr Kernel<void(Tensor<float>&)> no_file{"nowhere"}, no_kernel{"nothing", "saxpy_tile.hyx"};
  EXPECT_THAT(failure(no_file(ones<float>(4) | partition(4))),
              refused_with(StatusCode::kNotFound, "kernel nowhere of nowhere: no such file in /"));
  EXPECT_THAT(failure(no_kernel(ones<float>(4) | partition(4))),
              refused_with(StatusCode::kNotFound, "nothing"));
}

// A tree's timeline caches launches; arrays of equal size in bytes share a cache entry.
class AsyncKernelAgain : public AsyncTest {
 protected:
  template <class Op>
  auto in_one_tree(Op&& operation) {
    return std::move(operation).execute(tree);
  }
  auto x(const Shape& shape) { return ones<float>(shape) | share; }

  detail::Submitter tree{runtime.device()};
};

TEST_F(AsyncKernelAgain, ACallOnOtherArraysOfTheSameShapesComputesWithThose) {
  for (int i = 0; i < 20; ++i) {
    const auto number = static_cast<float>(i);
    auto y = in_one_tree(saxpy(number, full<float>({16, 16}, number) | share,
                               ones<float>({16, 16}) | partition(4, 4)) |
                         last);
    EXPECT_THAT(elements(*std::move(y)), Each(number * number + 1));
  }
}

TEST_F(AsyncKernelAgain, ACallOnAPartComputesWithThatPart) {
  const auto all = run(arange<float>(32) | share).reshape({8, 4});
  for (std::uint64_t row = 0; row < 8; ++row) {
    auto y =
        in_one_tree(saxpy(1.0f, all.rows(row, 1), zeros<float>({1, 4}) | partition(1, 4)) | last);
    const float at = 4.0f * static_cast<float>(row);
    EXPECT_THAT(elements(*std::move(y)), ElementsAre(at, at + 1, at + 2, at + 3));
  }
}

TEST_F(AsyncKernelAgain, ACallOnArraysOfOtherShapesIsCheckedAnew) {
  const auto y = [] { return ones<float>({16, 16}) | partition(4, 4); };
  const auto refused = [&](auto&& operation, const char* text) {
    EXPECT_THAT(in_one_tree(std::move(operation)).status(),
                refused_with(StatusCode::kInvalidArgument, text));
    EXPECT_THAT(elements(*in_one_tree(saxpy(2.0f, x({16, 16}), y()) | last)), Each(3.0f));
  };
  refused(saxpy(2.0f, x(256), y()), "saxpy_tile: x: a tensor of rank 1 is given; it has rank 2");
  refused(saxpy(2.0f, x({16, 16}), ones<float>({16, 16}) | partition(4)),
          "saxpy_tile: y: a tile of 1 extent is given for rank 2");
  refused(saxpy(2.0f, x({16, 16}), ones<float>({16, 16}) | partition(4, 0)),
          "saxpy_tile: y: tile1 is 0");
  refused(saxpy(2.0f, x({8, 32}), y()), "saxpy_tile: size 0 of x is 8, size 0 of y is 16");
  EXPECT_THAT(elements(*in_one_tree(
                  saxpy(2.0f, x({32, 8}), ones<float>({32, 8}) | partition(4, 4)) | last)),
              Each(3.0f));
}

TEST_F(AsyncKernelAgain, ACallWithAnotherTileHasOtherWorkgroups) {
  constexpr auto kernel = of_tests<void(Tensor<std::uint32_t>&)>("group_of");
  const auto with = [&](auto tile, const Shape& shape) {
    return elements(*in_one_tree(kernel(zeros<std::uint32_t>(shape) | tile) | first));
  };
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(with(partition(1, 2), {2, 2}), ElementsAre(1, 1, 2, 2));
    EXPECT_THAT(with(partition(2, 1), {2, 2}), ElementsAre(1, 2, 1, 2));
    EXPECT_THAT(with(partition(1, 2), {1, 4}), ElementsAre(1, 1, 2, 2));
    EXPECT_THAT(with(partition(1, 2), {4, 1}), ElementsAre(1, 2, 3, 4));
  }
}

TEST_F(AsyncKernelAgain, AnUncheckedCallRunsOverItsOwnGrid) {
  constexpr Kernel<void(float, std::uint32_t, const Tensor<float>&, Tensor<float>&)> flat{"saxpy"};
  for (const std::uint32_t items : {256u, 512u, 0u}) {
    auto y =
        in_one_tree(unchecked(flat, {.items = items})(2.0f, 512u, x(512), ones<float>(512)) | last);
    const std::vector<float> all = elements(*std::move(y));
    EXPECT_EQ(static_cast<std::size_t>(std::count(all.begin(), all.end(), 3.0f)), items);
  }
}

TEST_F(AsyncKernelAgain, EachDeviceRunsItsOwnKernel) {
  const auto on_device = [&](std::size_t device) {
    detail::Submitter context(runtime.device(device));
    return saxpy(2.0f, x({16, 16}), ones<float>({16, 16}) | partition(4, 4)).execute(context);
  };
  for (std::size_t i = 0; i < 4; ++i) {
    auto of_other = std::get<2>(*on_device(i % 2));
    EXPECT_THAT(elements(std::move(of_other)), Each(3.0f));
  }
  auto there = std::get<2>(*on_device(1));
  EXPECT_TRUE(in_one_tree(saxpy(2.0f, x({16, 16}), ones<float>({16, 16}) | partition(4, 4))).ok());
  EXPECT_THAT(in_one_tree(saxpy(2.0f, x({16, 16}), std::move(there))).status(),
              refused_with(StatusCode::kInvalidArgument, "a tensor of another device"));
}

TEST_F(AsyncKernelAgain, KernelsGoWithTheirRuntime) {
  for (int i = 0; i < 3; ++i) {
    runtime = Runtime::open("cpu://?workers=1").value();
    for (int k = 0; k < 2; ++k) {
      EXPECT_THAT(elements(saxpy(2.0f, x({4, 4}), ones<float>({4, 4}) | partition(2, 2)) | last),
                  Each(3.0f));
    }
  }
}

TEST_F(AsyncKernelAgain, ThreadsCallOneKernelOnArraysOfTheirOwnShapes) {
  constexpr auto kernel = of_tests<void(Tensor<std::uint32_t>&)>("group_of");
  const auto call = [&](const Shape& shape, auto tile, std::uint32_t groups) {
    for (int i = 0; i < 200; ++i) {
      const std::vector<std::uint32_t> all =
          elements(kernel(zeros<std::uint32_t>(shape) | tile) | first);
      ASSERT_EQ(all.back(), groups);
    }
  };
  std::thread other([&] { call({8, 8}, partition(4, 4), 4); });
  call({4, 16}, partition(1, 2), 32);
  other.join();
}

TEST_F(AsyncKernel, APartitionIsGivenOnce) {
  const auto x = run(ones<float>({4, 4}) | share);
  auto y = run(zeros<float>({4, 4}) | partition(2, 2));
  EXPECT_THAT(
      failure(copies(x, std::move(y), std::move(y))),
      refused_with(StatusCode::kInvalidArgument, "two_copies: a tensor that was moved from"));
}

TEST_F(AsyncKernel, ATensorThatWasMovedFromIsRefused) {
  auto x = run(ones<float>({4, 4}));
  auto operation = saxpy(1.0f, std::move(x), ones<float>({4, 4}) | partition(4, 4));
  auto again = saxpy(1.0f, std::move(x), ones<float>({4, 4}) | partition(4, 4));
  EXPECT_THAT(failure(std::move(again)), refused_with(StatusCode::kInvalidArgument,
                                                      "saxpy_tile: a tensor that was moved from"));
  EXPECT_TRUE(failure(std::move(operation)).ok());
}

}  // namespace
}  // namespace halyard::async
