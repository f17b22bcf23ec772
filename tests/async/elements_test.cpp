// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors of Half and of integers of 8 and 16 bits: to and from the host, kernels and DLPack.
#include <array>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "async/async_test_util.h"
#include "halyard/async/dlpack.h"

namespace halyard::async {
namespace {

namespace dlpack = hal::dlpack;
using testing::AsyncTest;
using ::testing::Each;
using ::testing::ElementsAre;
using testing::refused_with;

template <class From, class To>
using Convert = Kernel<void(const Tensor<From>&, Tensor<To>&)>;

constexpr Convert<std::int8_t, Half> half_of_int8{"half_of_int8", "elements"};
constexpr Convert<std::uint8_t, Half> half_of_uint8{"half_of_uint8", "elements"};
constexpr Convert<std::int16_t, Half> half_of_int16{"half_of_int16", "elements"};
constexpr Convert<std::uint16_t, Half> half_of_uint16{"half_of_uint16", "elements"};
constexpr Convert<std::uint16_t, std::int16_t> int16_of_uint16{"int16_of_uint16", "elements"};
constexpr Convert<std::int8_t, std::uint8_t> uint8_of_int8{"uint8_of_int8", "elements"};
constexpr Convert<Half, float> float_of_half{"float_of_half", "elements"};
constexpr Convert<float, Half> half_of_float{"half_of_float", "elements"};
// float_of_half, declared with another element type.
constexpr Convert<std::uint16_t, float> float_of_bits{"float_of_half", "elements"};

static_assert(Element<Half> && kElementType<Half> == kernel::ElementType::kFloat16);

class AsyncElements : public AsyncTest {
 protected:
  template <class From, class To>
  std::vector<To> converted(const Convert<From, To>& convert, const std::vector<From>& values) {
    const Shape shape{values.size()};
    return elements(convert(from_host(values) | share, empty<To>(shape) | partition(7)) | last);
  }
  // Every value of a type.
  template <class T>
  static std::vector<T> all() {
    std::vector<T> values;
    for (int i = std::numeric_limits<T>::min(); i <= std::numeric_limits<T>::max(); ++i) {
      values.push_back(static_cast<T>(i));
    }
    return values;
  }
  template <class T>
  void expect_half_of(const Convert<T, Half>& convert) {
    const std::vector<T> values = all<T>();
    const std::vector<Half> halves = converted(convert, values);
    ASSERT_EQ(halves.size(), values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      ASSERT_EQ(halves[i].bits(), Half(static_cast<float>(values[i])).bits()) << values[i];
    }
  }
};

TEST_F(AsyncElements, OfIntegersConvertToHalf) {
  expect_half_of(half_of_int8);
  expect_half_of(half_of_uint8);
  expect_half_of(half_of_int16);
  expect_half_of(half_of_uint16);
}

TEST_F(AsyncElements, OfIntegersWrapAround) {
  const std::vector<std::uint16_t> words = all<std::uint16_t>();
  EXPECT_EQ(converted(int16_of_uint16, words),
            std::vector<std::int16_t>(words.begin(), words.end()));
  const std::vector<std::int8_t> bytes = all<std::int8_t>();
  EXPECT_EQ(converted(uint8_of_int8, bytes), std::vector<std::uint8_t>(bytes.begin(), bytes.end()));
}

TEST_F(AsyncElements, OfHalfConvertToFloatAndBack) {
  std::vector<Half> halves;
  for (std::uint32_t bits = 0; bits < 0x7c01; ++bits) {
    halves.push_back(Half::from_bits(static_cast<std::uint16_t>(bits)));
  }
  const std::vector<float> floats = converted(float_of_half, halves);
  EXPECT_EQ(floats, std::vector<float>(halves.begin(), halves.end()));
  const std::vector<Half> again = converted(half_of_float, floats);
  for (std::size_t i = 0; i < again.size(); ++i) ASSERT_EQ(again[i].bits(), halves[i].bits());
  EXPECT_THAT(converted(half_of_float, {0.1f, 70000.0f, -1e-8f}),
              ElementsAre(Half(0.1f), std::numeric_limits<float>::infinity(), 0.0f));
}

TEST_F(AsyncElements, OfAnotherTypeThanTheKernelsAreRefused) {
  EXPECT_THAT(
      failure(float_of_bits(zeros<std::uint16_t>(8) | share, zeros<float>(8) | partition(8))),
      refused_with(StatusCode::kInvalidArgument, "float16"));
}

// Its first element is at an odd byte.
TEST_F(AsyncElements, OfAPartOfATensorAreReadWhereTheyAre) {
  const auto bytes = run(from_host(all<std::int8_t>()) | share).rows(3, 100);
  auto halves =
      run(half_of_int8(bytes, empty<Half>(100) | partition(32)) | last | unpartition | share)
          .rows(5, 3);
  EXPECT_THAT(elements(halves), ElementsAre(-120.0f, -119.0f, -118.0f));
  EXPECT_THAT(elements(float_of_half(halves, empty<float>(3) | partition(2)) | last),
              ElementsAre(-120.0f, -119.0f, -118.0f));
}

TEST_F(AsyncElements, AreWrittenOverAndCopied) {
  Tensor<Half> x = run(fill(zeros<Half>({3, 3}), Half(0.25f)));
  EXPECT_THAT(elements(std::move(x) | share | rows(1, 2)), Each(0.25f));
  EXPECT_EQ(run(item(full<std::int8_t>(1, -5))), -5);
}

// An array of another library. It is released after its last use, on a thread of the runtime.
template <class T>
struct TheirArray {
  alignas(hal::Device::kImportAlignment) std::array<T, 4> values;
  std::int64_t shape = 4;
  dlpack::ManagedTensorVersioned managed{.version = {1, 0},
                                         .context = this,
                                         .deleter =
                                             [](dlpack::ManagedTensorVersioned* self) {
                                               delete static_cast<TheirArray*>(self->context);
                                             },
                                         .flags = 0,
                                         .tensor = {.data = values.data(),
                                                    .device = {dlpack::DeviceType::kCpu, 0},
                                                    .rank = 1,
                                                    .type = {},
                                                    .shape = &shape,
                                                    .strides = nullptr,
                                                    .byte_offset = 0}};
};

TEST_F(AsyncElements, AreExchangedByDlpack) {
  const auto exchange = [&]<class T>(dlpack::TypeCode code, std::array<T, 4> values) {
    constexpr std::uint8_t kBits = 8 * sizeof(T);
    auto& theirs = *new TheirArray<T>{.values = values};
    theirs.managed.tensor.type = {code, kBits, 1};
    const Dlpack<> out = run(to_dlpack(from_dlpack<T>(Dlpack<>(&theirs.managed))));
    EXPECT_EQ(out->tensor.data, theirs.values.data()) << "no copy";
    EXPECT_EQ(out->tensor.type.code, code);
    EXPECT_EQ(out->tensor.type.bits, kBits);
    EXPECT_EQ(out->tensor.type.lanes, 1);
    auto& again = *new TheirArray<T>{.values = values};
    again.managed.tensor.type = {code, kBits, 1};
    EXPECT_EQ(elements(from_dlpack<T>(Dlpack<>(&again.managed))),
              std::vector<T>(values.begin(), values.end()));
  };
  using enum dlpack::TypeCode;
  exchange(kInt, std::array<std::int8_t, 4>{-128, -1, 0, 127});
  exchange(kUint, std::array<std::uint8_t, 4>{0, 1, 128, 255});
  exchange(kInt, std::array<std::int16_t, 4>{-32768, -1, 0, 32767});
  exchange(kUint, std::array<std::uint16_t, 4>{0, 1, 32768, 65535});
  exchange(kFloat, std::array<Half, 4>{Half(0.1f), Half(-2.0f), Half{}, Half(65504.0f)});
}

}  // namespace
}  // namespace halyard::async
