// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors to and from DLPack: waits, ownership and refusals.
#include "halyard/async/dlpack.h"

#include <array>
#include <optional>
#include <utility>

#include "async/stepped_world.h"

namespace halyard::async {
namespace {

namespace dlpack = hal::dlpack;
using testing::AsyncTest;
using testing::await_into;
using ::testing::Each;
using ::testing::ElementsAre;
using testing::Handmade;
using testing::refused_with;

template <class Managed>
float* data(const Dlpack<Managed>& exported) {
  return static_cast<float*>(exported->tensor.data);
}

// An array of another library, which counts the calls of its deleter.
struct Theirs {
  alignas(hal::Device::kImportAlignment) std::array<float, 6> values{0, 1, 2, 3, 4, 5};
  std::array<std::int64_t, 4> shape{2, 3, 1, 1};
  std::array<std::int64_t, 2> strides{3, 1};
  int deleted = 0;
  dlpack::ManagedTensorVersioned managed{.version = {1, 0},
                                         .context = this,
                                         .deleter =
                                             [](dlpack::ManagedTensorVersioned* self) {
                                               ++static_cast<Theirs*>(self->context)->deleted;
                                             },
                                         .flags = 0,
                                         .tensor = {.data = values.data(),
                                                    .device = {dlpack::DeviceType::kCpu, 0},
                                                    .rank = 2,
                                                    .type = {dlpack::TypeCode::kFloat, 32, 1},
                                                    .shape = shape.data(),
                                                    .strides = strides.data(),
                                                    .byte_offset = 0}};

  auto import() { return from_dlpack<float>(Dlpack<>(&managed)); }
};

class AsyncDlpack : public AsyncTest {
 protected:
  std::uint64_t used_bytes() const {
    const hal::Device device = runtime.device().hal();
    check(device.queue().wait_idle());
    return device.default_pool(hal::MemoryType::kDeviceLocal).statistics().used_bytes;
  }
};

TEST_F(AsyncDlpack, ATensorGoesOutWithItsFinishedContents) {
  const Dlpack<> out = run(to_dlpack(add(arange<float>(6), ones<float>(6))));
  const dlpack::Tensor& tensor = out->tensor;
  EXPECT_EQ(tensor.rank, 1);
  EXPECT_EQ(tensor.shape[0], 6);
  ASSERT_NE(tensor.strides, nullptr);
  EXPECT_EQ(tensor.strides[0], 1);
  EXPECT_EQ(tensor.type.code, dlpack::TypeCode::kFloat);
  EXPECT_EQ(tensor.type.bits, 32);
  EXPECT_EQ(tensor.device.type, dlpack::DeviceType::kCpu);
  EXPECT_EQ(out->flags, 0u);
  EXPECT_THAT(std::vector<float>(data(out), data(out) + 6), ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST_F(AsyncDlpack, ATensorOfADeviceWithoutAddressesGoesOut) {
  runtime = Runtime::open("serial://").value();
  const Dlpack<> out = run(to_dlpack(arange<float>(6)));
  EXPECT_EQ(out->tensor.device.type, dlpack::DeviceType::kCpu);
  EXPECT_THAT(std::vector<float>(data(out), data(out) + 6), ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST_F(AsyncDlpack, APartOfAShareGoesOutToBeReadOnly) {
  const auto x = run(arange<float>(6) | share).reshape({3, 2});
  const Dlpack<> out = run(to_dlpack(x.rows(1, 2)));
  EXPECT_EQ(out->flags, dlpack::kReadOnly);
  EXPECT_EQ(out->tensor.rank, 2);
  EXPECT_EQ(data(out)[0], 2.0f);
  EXPECT_FALSE(auto(x).try_unwrap().has_value());
  EXPECT_THAT(elements(x), ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST_F(AsyncDlpack, TheMemoryGoesBackWithTheLastOwnerInEitherOrder) {
  const std::uint64_t before = used_bytes();
  for (const bool share_first : {true, false}) {
    auto x = std::optional(run(arange<float>(1000) | share));
    auto out = std::optional(run(to_dlpack<dlpack::ManagedTensor>(*x)));
    if (share_first) x.reset();
    EXPECT_EQ(data(*out)[999], 999.0f);
    if (!share_first) out.reset();
    EXPECT_GT(used_bytes(), before);
    x.reset();
    out.reset();
    EXPECT_EQ(used_bytes(), before);
  }
}

TEST_F(AsyncDlpack, WhatIsExportedOutlivesTheRuntime) {
  const Dlpack<> out = run(to_dlpack(arange<float>(10)));
  runtime = {};
  EXPECT_EQ(data(out)[9], 9.0f);
}

TEST_F(AsyncDlpack, ATensorGoesOutAndInAgainWithoutACopy) {
  Dlpack<> out = run(to_dlpack(arange<float>(6)));
  float* const place = data(out);
  place[5] = 7;
  Dlpack<> again = run(to_dlpack(from_dlpack<float>(std::move(out))));
  EXPECT_EQ(data(again), place);
  EXPECT_THAT(elements(relu(from_dlpack<float>(std::move(again)))), ElementsAre(0, 1, 2, 3, 4, 7));
}

TEST_F(AsyncDlpack, TheirsIsATensorUntilItsLastUse) {
  Theirs theirs;
  {
    Tensor<float> x = run(theirs.import());
    EXPECT_EQ(x.shape().rank(), 2u);
    EXPECT_EQ(x.shape()[1], 3u);
    const auto y = run(fill(std::move(x), 2.0f) | share);
    EXPECT_EQ(theirs.deleted, 0);
    EXPECT_THAT(elements(add(y, y)), Each(4.0f));
  }
  (void)used_bytes();  // waits until all has run
  EXPECT_EQ(theirs.deleted, 1);
  EXPECT_THAT(theirs.values, Each(2.0f));
}

// NumPy 2.4 exports an empty tensor with these strides.
TEST_F(AsyncDlpack, EmptyTensor_WithAnyStrides_GoesInAndOut) {
  Theirs theirs;
  theirs.shape = {0, 4, 1, 1};
  theirs.strides = {0, 0};
  Tensor<float> x = run(theirs.import());
  EXPECT_EQ(theirs.deleted, 1);
  EXPECT_EQ(x.size(), 0u);
  EXPECT_EQ(x.shape()[1], 4u);
  const Dlpack<> out = run(to_dlpack(std::move(x)));
  EXPECT_EQ(out->tensor.data, nullptr);
  ASSERT_NE(out->tensor.strides, nullptr);
  EXPECT_EQ(out->tensor.strides[1], 1);
}

TEST_F(AsyncDlpack, WhatIsNeverAwaitedIsGivenBack) {
  Theirs theirs;
  {
    auto operation = theirs.import();
  }
  EXPECT_EQ(theirs.deleted, 1);
}

TEST_F(AsyncDlpack, ARefusedTensorIsGivenBackWithAnError) {
  constexpr auto kInvalid = StatusCode::kInvalidArgument, kNot = StatusCode::kUnimplemented;
  const auto refused = [&](auto&& spoil, StatusCode code, const char* text) {
    Theirs theirs;
    spoil(theirs);
    EXPECT_THAT(failure(theirs.import()), refused_with(code, text));
    EXPECT_EQ(theirs.deleted, 1);
  };
  refused([](Theirs& x) { x.managed.tensor.device.type = dlpack::DeviceType::kCuda; }, kNot,
          "from_dlpack: memory of device type 2");
  refused([](Theirs& x) { x.managed.tensor.type.code = dlpack::TypeCode::kInt; }, kInvalid,
          "from_dlpack: elements of int32 for a tensor of float32");
  refused([](Theirs& x) { x.strides = {1, 2}; }, kNot, "stride 2 of dimension 1");
  refused([](Theirs& x) { x.strides = {4, 1}; }, kNot, "stride 4 of dimension 0, dense would be 3");
  refused([](Theirs& x) { x.managed.tensor.byte_offset = 4; }, kInvalid, "");
  refused(
      [](Theirs& x) {
        x.managed.tensor.rank = 4;
        x.managed.tensor.strides = nullptr;
      },
      kInvalid, "from_dlpack: a tensor of 4 dimensions; the most is 3");
  refused([](Theirs& x) { x.managed.flags = dlpack::kReadOnly; }, StatusCode::kPermissionDenied,
          "read-only");
  EXPECT_THAT(failure(from_dlpack<float>(Dlpack<>())),
              refused_with(kInvalid, "from_dlpack: no tensor"));
}

TEST_F(AsyncDlpack, AScalarOfNoDimensionIsATensorOfRankZero) {
  Theirs theirs;
  theirs.values[0] = 3;
  theirs.managed.tensor.rank = 0;
  theirs.managed.tensor.shape = theirs.managed.tensor.strides = nullptr;
  const Tensor<float> x = run(theirs.import());
  EXPECT_EQ(x.shape().rank(), 0u);
  EXPECT_EQ(x.size(), 1u);
}

TEST_F(AsyncDlpack, ATensorThatWasMovedFromIsRefused) {
  Tensor<float> x = run(ones<float>(4));
  const auto taken = std::move(x);
  EXPECT_THAT(
      failure(to_dlpack(std::move(x))),
      refused_with(StatusCode::kInvalidArgument, "to_dlpack: a tensor that was moved from"));
}

class AsyncDlpackOrder : public testing::SteppedTest {
 protected:
  QueueRef queue(std::size_t index) const { return runtime.device().queue(index); }
};

TEST_F(AsyncDlpackOrder, AnExportWaitsForTheReadsOfWhatMayBeWritten) {
  Theirs theirs;  // in host memory
  std::optional<Result<Shared<Tensor<float>>>> imported;
  const Handmade importer = await_into(imported, theirs.import() | share | on(queue(0)));
  Shared<Tensor<float>> x = std::exchange(imported, std::nullopt)->value();
  std::optional<Result<std::vector<float>>> read;
  std::optional<Result<Dlpack<>>> shared, owned;
  const Handmade reader = await_into(read, to_host(x) | on(queue(1)));
  const Handmade share_out = await_into(shared, to_dlpack(x) | on(queue(0)));
  EXPECT_TRUE(share_out.done()) << "an export of a Shared only reads";
  shared.reset();
  const Handmade tensor_out =
      await_into(owned, to_dlpack(*std::move(x).try_unwrap()) | on(queue(0)));
  run_queue(0);
  EXPECT_FALSE(tensor_out.done()) << "a read is in flight";
  run_all();
  ASSERT_TRUE(tensor_out.done());
  EXPECT_EQ(data(owned->value()), theirs.values.data());
  owned.reset();
  EXPECT_EQ(theirs.deleted, 1);
}

TEST_F(AsyncDlpackOrder, MemoryThatTheHostDoesNotSeeIsRefused) {
  std::optional<Result<Dlpack<>>> out;
  const Handmade exporter = await_into(out, to_dlpack(tensor(1.0f)) | on(queue(0)));
  run_all();
  EXPECT_THAT(out->status(),
              refused_with(StatusCode::kPermissionDenied, "is not visible to the host"));
}

TEST_F(AsyncDlpackOrder, AnExportFailsWithTheWrite) {
  control->fail_allocate = Status(StatusCode::kResourceExhausted, "on purpose");
  std::optional<Shared<Tensor<float>>> x;
  std::optional<Result<int>> made;
  std::optional<Result<Dlpack<>>> out;
  const Handmade writer =
      await_into(made, ones<float>({1'000'000}) | share | map([&](auto&& shared) {
                         x = shared;
                         return 0;
                       }) | on(queue(1)));
  const Handmade exporter = await_into(out, to_dlpack(*x) | on(queue(0)));
  run_all();
  ASSERT_TRUE(exporter.done());
  EXPECT_THAT(out->status(), refused_with(StatusCode::kResourceExhausted, "on purpose"));
  control->fail_allocate = {};
}

TEST_F(AsyncDlpackOrder, TheirsIsGivenBackBehindItsLastUse) {
  Theirs theirs;
  std::optional<Result<Tensor<float>>> imported;
  std::optional<Result<std::vector<float>>> read;
  const Handmade importer = await_into(imported, theirs.import() | on(queue(0)));
  ASSERT_TRUE(importer.done()) << "there is nothing to wait for";
  const Handmade reader = await_into(read, to_host(std::move(*imported).value()) | on(queue(1)));
  imported.reset();
  EXPECT_EQ(theirs.deleted, 0) << "a read is in flight";
  run_all();
  EXPECT_THAT(read->value(), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_EQ(theirs.deleted, 1);
}

}  // namespace
}  // namespace halyard::async
