// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Buffer views, and their exchange by DLPack.
#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <memory>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "conformance/context.h"
#include "conformance/suites.h"
#include "halyard/hal/dlpack.h"

namespace halyard::inline v0::conformance {
namespace view {
namespace {

using hal::Buffer;
using hal::BufferView;
using hal::ElementType;
namespace dlpack = hal::dlpack;

BufferView floats(Context& t, hal::View<std::uint64_t> shape) {
  std::uint64_t count = 1;
  for (const std::uint64_t extent : shape) count *= extent;
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 0.0f);
  return BufferView::create(t.buffer_of<float>(values), ElementType::kFloat32, shape).value();
}

void view_knows_shape_element_and_size(Context& t) {
  const BufferView view =
      BufferView::create(t.buffer(1000), ElementType::kInt16, {3, 4, 5}, 10).value();
  VERIFY_EQ(view.rank(), 3u);
  VERIFY_EQ(view.shape()[2], 5u);
  VERIFY_EQ(view.element_count(), 60u);
  VERIFY_EQ(view.size(), 120u);
  VERIFY_EQ(view.offset(), 10u);
  VERIFY_EQ(view.element(), ElementType::kInt16);
}

void view_without_dimensions_is_one_element(Context& t) {
  const BufferView view = BufferView::create(t.buffer(8), ElementType::kFloat64, {}).value();
  VERIFY_EQ(view.element_count(), 1u);
  VERIFY_EQ(view.size(), 8u);
  VERIFY_EQ(BufferView().element_count(), 0u);
}

void view_with_a_dimension_of_zero_is_empty(Context& t) {
  const std::uint64_t huge = std::uint64_t{1} << 63;
  const BufferView view =
      BufferView::create(t.buffer(0), ElementType::kFloat32, {huge, huge, 0}).value();
  VERIFY_EQ(view.element_count(), 0u);
}

void view_beyond_its_buffer_is_out_of_range(Context& t) {
  const Buffer buffer = t.buffer(64);
  VERIFY_OK(BufferView::create(buffer, ElementType::kFloat32, {4, 4}));
  VERIFY_CODE(BufferView::create(buffer, ElementType::kFloat32, {4, 5}), StatusCode::kOutOfRange);
  VERIFY_CODE(BufferView::create(buffer, ElementType::kFloat32, {4, 4}, 4),
              StatusCode::kOutOfRange);
  const std::uint64_t huge = std::uint64_t{1} << 32;
  VERIFY_CODE(BufferView::create(buffer, ElementType::kFloat32, {huge, huge}),
              StatusCode::kOutOfRange);
}

void view_refuses_what_is_no_array(Context& t) {
  const Buffer buffer = t.buffer(64);
  VERIFY_CODE(BufferView::create(Buffer(), ElementType::kInt8, {1}), StatusCode::kInvalidArgument);
  VERIFY_CODE(BufferView::create(buffer, static_cast<ElementType>(77), {1}),
              StatusCode::kInvalidArgument);
  VERIFY_CODE(BufferView::create(buffer, ElementType::kFloat32, {1}, 2),
              StatusCode::kInvalidArgument);
  VERIFY_CODE(BufferView::create(buffer, ElementType::kInt8, {1, 1, 1, 1, 1, 1, 1, 1, 1}),
              StatusCode::kInvalidArgument);
}

void range_of_a_view_is_its_elements(Context& t) {
  const Buffer buffer = t.buffer(64);
  const BufferView view = BufferView::create(buffer, ElementType::kUint8, {2, 8}, 16).value();
  t.finish([&](const hal::SubmitInfo& i) { return t.queue().fill(view.range(), 0xff, 1, i); });
  const hal::Mapping mapping = buffer.map().value();
  for (std::size_t i = 0; i < 64; ++i) {
    VERIFY_EQ(mapping.bytes()[i], i >= 16 && i < 32 ? std::byte{0xff} : std::byte{0});
  }
}

void reshape_keeps_the_elements(Context& t) {
  const BufferView view = floats(t, {4, 6});
  const BufferView other = view.reshape({2, 3, 4}).value();
  VERIFY_EQ(other.rank(), 3u);
  VERIFY(other.buffer() == view.buffer());
  VERIFY_CODE(view.reshape({5, 5}), StatusCode::kOutOfRange);
  VERIFY_CODE(view.reshape({4, 5}), StatusCode::kInvalidArgument);
}

void rows_are_a_part_of_the_outermost_dimension(Context& t) {
  const BufferView view = floats(t, {4, 6});
  const BufferView rows = view.rows(1, 2).value();
  VERIFY_EQ(rows.element_count(), 12u);
  VERIFY_EQ(rows.offset(), 24u);
  VERIFY_EQ(rows.rows(1, 1)->offset(), 48u);
  VERIFY_EQ(view.rows(4, 0)->element_count(), 0u);
  VERIFY_CODE(view.rows(3, 2), StatusCode::kOutOfRange);
  VERIFY_CODE(view.rows(1, std::numeric_limits<std::uint64_t>::max()), StatusCode::kOutOfRange);
  VERIFY_CODE(floats(t, {}).rows(0, 1), StatusCode::kInvalidArgument);
}

// ---- DLPack

// A tensor of another library, with the number of calls of its deleter, which may run on another
// thread.
struct ForeignTensor {
  alignas(64) std::array<float, 24> values{};
  std::array<std::int64_t, 2> shape{4, 6};
  std::array<std::int64_t, 2> strides{6, 1};
  std::atomic<int> deleted{0};
  std::shared_ptr<ForeignTensor> lent;  // itself, if it must live until the deleter has run
  dlpack::ManagedTensor managed{.tensor = {.data = values.data(),
                                           .device = {dlpack::DeviceType::kCpu, 0},
                                           .rank = 2,
                                           .type = {dlpack::TypeCode::kFloat, 32, 1},
                                           .shape = shape.data(),
                                           .strides = nullptr,
                                           .byte_offset = 0},
                                .context = this,
                                .deleter = [](dlpack::ManagedTensor* self) {
                                  auto& its = *static_cast<ForeignTensor*>(self->context);
                                  const auto until_it_is_counted = std::move(its.lent);
                                  ++its.deleted;
                                }};
};

void exported_tensor_describes_the_view(Context& t) {
  const BufferView view = floats(t, {4, 6}).rows(1, 3).value();
  dlpack::ManagedTensor* const managed = to_dlpack(view).value();
  const dlpack::Tensor& tensor = managed->tensor;
  VERIFY_EQ(tensor.rank, 2);
  VERIFY_EQ(tensor.shape[0], 3);
  VERIFY_EQ(tensor.shape[1], 6);
  VERIFY_EQ(tensor.type.code, dlpack::TypeCode::kFloat);
  VERIFY_EQ(tensor.type.bits, 32);
  VERIFY_EQ(tensor.type.lanes, 1);
  VERIFY_EQ(tensor.device.type, dlpack::DeviceType::kCpu);
  VERIFY_EQ(static_cast<const float*>(tensor.data)[0], 6.0f);
  managed->deleter(managed);
}

// Since version 1.2 consumers may refuse a tensor without strides.
void exported_tensor_has_its_strides(Context& t) {
  const auto verify_strides = [&](const dlpack::Tensor& tensor, const std::vector<int>& expected) {
    VERIFY_EQ(static_cast<std::size_t>(tensor.rank), expected.size());
    VERIFY(tensor.strides != nullptr);
    if (tensor.strides == nullptr) return;
    VERIFY(std::ranges::equal(expected, std::span(tensor.strides, expected.size())));
  };
  const auto verify = [&](const BufferView& view, const std::vector<int>& expected) {
    dlpack::ManagedTensor* const plain = to_dlpack(view).value();
    verify_strides(plain->tensor, expected);
    plain->deleter(plain);
    dlpack::ManagedTensorVersioned* const versioned = to_dlpack_versioned(view).value();
    verify_strides(versioned->tensor, expected);
    versioned->deleter(versioned);
  };
  verify(floats(t, {4}), {1});
  verify(floats(t, {4, 6}).rows(1, 3).value(), {6, 1});
  verify(floats(t, {2, 3, 4}), {12, 4, 1});
  verify(floats(t, {}), {});
}

void tensor_without_elements_goes_out_and_in_again(Context& t) {
  for (const std::vector<std::uint64_t>& shape :
       {std::vector<std::uint64_t>{0}, {0, 4}, {4, 0}, {4, 0, 3}}) {
    dlpack::ManagedTensor* const managed = to_dlpack(floats(t, shape)).value();
    VERIFY(managed->tensor.data == nullptr);
    VERIFY(managed->tensor.strides != nullptr);
    const BufferView again = from_dlpack(t.device(1), managed).value();
    VERIFY(std::ranges::equal(again.shape(), shape));
  }
}

void exported_tensor_keeps_the_memory(Context& t) {
  const std::uint64_t before = t.device().memory_statistics().bytes;
  dlpack::ManagedTensorVersioned* const managed = to_dlpack_versioned(floats(t, {4})).value();
  VERIFY_EQ(managed->version.major, 1u);
  VERIFY_EQ(managed->flags, 0u);
  VERIFY_EQ(static_cast<const float*>(managed->tensor.data)[3], 3.0f);
  VERIFY(t.device().memory_statistics().bytes > before);
  managed->deleter(managed);
  VERIFY_EQ(t.device().memory_statistics().bytes, before);
}

void imported_tensor_is_a_view_of_their_bytes(Context& t) {
  const auto foreign = std::make_shared<ForeignTensor>();
  foreign->managed.tensor.strides = foreign->strides.data();
  {
    const BufferView view = from_dlpack(t.device(), &foreign->managed).value();
    foreign->lent = foreign;
    VERIFY_EQ(view.rank(), 2u);
    VERIFY_EQ(view.shape()[1], 6u);
    VERIFY_EQ(view.element(), ElementType::kFloat32);
    t.finish(
        [&](const hal::SubmitInfo& i) { return t.queue().fill(view.range(), 0x3f800000, 4, i); });
    VERIFY_EQ(foreign->values[23], 1.0f);
    VERIFY_EQ(foreign->deleted.load(), 0);
  }
  VERIFY_UNTIL(foreign->deleted == 1);
}

void tensor_goes_out_and_in_again(Context& t) {
  const BufferView view = floats(t, {2, 3, 4});
  dlpack::ManagedTensor* const managed = to_dlpack(view).value();
  const Result<BufferView> again = from_dlpack(t.device(1), managed);
  if (!again.ok()) managed->deleter(managed);
  if (again.status().code() == StatusCode::kUnimplemented) {
    throw Skip{std::string(again.status().message())};
  }
  VERIFY_EQ(again.value().rank(), 3u);
  VERIFY_EQ(again->buffer().map()->as<float>()[23], 23.0f);
}

void tensor_that_comes_back_is_its_buffer_again(Context& t) {
  const BufferView view = floats(t, {2, 3, 4});
  dlpack::ManagedTensor* const managed = to_dlpack(view).value();
  managed->tensor.shape[0] = 1;  // its second half
  managed->tensor.byte_offset = 48;
  const BufferView half = from_dlpack(t.device(), managed).value();
  VERIFY(half.buffer() == view.buffer());
  VERIFY_EQ(half.offset(), 48u);
  VERIFY_EQ(half.element_count(), 12u);
}

void every_element_type_is_exchanged(Context& t) {
  for (int type = 0; type <= static_cast<int>(ElementType::kUint8); ++type) {
    const auto element = static_cast<ElementType>(type);
    const BufferView view = BufferView::create(t.buffer(64), element, {4}).value();
    const BufferView again = from_dlpack(t.device(), to_dlpack(view).value()).value();
    VERIFY_EQ(again.element(), element);
  }
}

void tensor_without_elements_is_taken(Context& t) {
  ForeignTensor foreign;
  foreign.shape[0] = 0;
  foreign.managed.tensor.data = nullptr;
  const BufferView view = from_dlpack(t.device(), &foreign.managed).value();
  VERIFY_EQ(view.element_count(), 0u);
  VERIFY_EQ(view.shape()[1], 6u);
  VERIFY_EQ(foreign.deleted.load(), 1);
}

// NumPy 2.4 exports empty arrays with strides of 0.
void strides_of_a_tensor_without_elements_do_not_matter(Context& t) {
  for (const auto& [shape, strides] :
       {std::pair<std::array<std::int64_t, 2>, std::array<std::int64_t, 2>>{{0, 4}, {0, 0}},
        {{4, 0}, {0, 0}},
        {{0, 4}, {-7, 9}},
        {{0, std::int64_t{1} << 62}, {0, 0}}}) {
    ForeignTensor foreign;
    foreign.shape = shape;
    foreign.strides = strides;
    foreign.managed.tensor.strides = foreign.strides.data();
    const Result<BufferView> view = from_dlpack(t.device(), &foreign.managed);
    VERIFY_OK(view);
    VERIFY_EQ(foreign.deleted.load(), 1);
    if (view.ok()) VERIFY_EQ(view->shape()[1], static_cast<std::uint64_t>(shape[1]));
  }
}

void tensor_that_is_refused_stays_its_owners(Context& t) {
  const auto refused = [&](auto&& spoil, StatusCode code) {
    ForeignTensor foreign;
    spoil(foreign.managed.tensor);
    VERIFY_CODE(from_dlpack(t.device(), &foreign.managed), code);
    VERIFY_EQ(foreign.deleted.load(), 0);
  };
  using Tensor = dlpack::Tensor;
  refused([](Tensor& x) { x.type.lanes = 4; }, StatusCode::kUnimplemented);
  refused([](Tensor& x) { x.type.bits = 24; }, StatusCode::kUnimplemented);
  constexpr auto kOpenCl = static_cast<dlpack::DeviceType>(4);
  refused([](Tensor& x) { x.device.type = kOpenCl; }, StatusCode::kUnimplemented);
  refused([](Tensor& x) { x.byte_offset = 4; }, StatusCode::kInvalidArgument);
  refused([](Tensor& x) { x.data = nullptr; }, StatusCode::kInvalidArgument);
  refused([](Tensor& x) { x.shape[1] = -1; }, StatusCode::kInvalidArgument);
  refused([](Tensor& x) { x.shape[0] = 0, x.shape[1] = -1; }, StatusCode::kInvalidArgument);
  refused([](Tensor& x) { x.shape[1] = std::int64_t{1} << 61; }, StatusCode::kInvalidArgument);
  refused([](Tensor& x) { x.rank = 9; }, StatusCode::kInvalidArgument);
  refused([](Tensor& x) { x.rank = -1; }, StatusCode::kInvalidArgument);
  std::int64_t transposed[] = {1, 4};
  refused([&](Tensor& x) { x.strides = transposed; }, StatusCode::kUnimplemented);
  VERIFY_CODE(from_dlpack(t.device(), static_cast<dlpack::ManagedTensor*>(nullptr)),
              StatusCode::kInvalidArgument);
}

void read_only_and_future_tensors_are_refused(Context& t) {
  dlpack::ManagedTensorVersioned* const managed = to_dlpack_versioned(floats(t, {4})).value();
  managed->flags = dlpack::kReadOnly;
  VERIFY_CODE(from_dlpack(t.device(), managed), StatusCode::kPermissionDenied);
  managed->flags = 0;
  managed->version.major = 2;
  VERIFY_CODE(from_dlpack(t.device(), managed), StatusCode::kUnimplemented);
  managed->version.major = 1;
  managed->version.minor = 3;
  VERIFY_OK(from_dlpack(t.device(), managed));  // takes it over
}

#define CASE(name) {"view", #name, name}
#define CASE_ON_EVERY_QUEUE(name) {"view", #name, name, Vary::kQueueKinds}
constexpr Case kCases[] = {
    CASE(view_knows_shape_element_and_size),
    CASE(view_without_dimensions_is_one_element),
    CASE(view_with_a_dimension_of_zero_is_empty),
    CASE(view_beyond_its_buffer_is_out_of_range),
    CASE(view_refuses_what_is_no_array),
    CASE_ON_EVERY_QUEUE(range_of_a_view_is_its_elements),
    CASE(reshape_keeps_the_elements),
    CASE(rows_are_a_part_of_the_outermost_dimension),
    CASE(exported_tensor_describes_the_view),
    CASE(exported_tensor_has_its_strides),
    CASE(exported_tensor_keeps_the_memory),
    CASE_ON_EVERY_QUEUE(imported_tensor_is_a_view_of_their_bytes),
    CASE(tensor_goes_out_and_in_again),
    CASE(tensor_that_comes_back_is_its_buffer_again),
    CASE(every_element_type_is_exchanged),
    CASE(tensor_without_elements_is_taken),
    CASE(strides_of_a_tensor_without_elements_do_not_matter),
    CASE(tensor_without_elements_goes_out_and_in_again),
    CASE(tensor_that_is_refused_stays_its_owners),
    CASE(read_only_and_future_tensors_are_refused),
};
#undef CASE
#undef CASE_ON_EVERY_QUEUE

}  // namespace
}  // namespace view

std::span<const Case> view_cases() noexcept { return view::kCases; }

}  // namespace halyard::inline v0::conformance
