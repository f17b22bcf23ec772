// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Small types that several HAL objects share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <type_traits>
#include <utility>

#include "halyard/base/export.h"

namespace halyard::inline v0::hal {

enum class QueueKind : std::uint8_t {
  kCompute,  // every operation
  kCopy,     // fill, update, copy, read, write, barrier, host_call
};

// The memory that a buffer occupies. A type promises the host's view; the device can use each type.
enum class MemoryType : std::uint8_t {
  kDeviceLocal,  // fastest for the device; mapped only where the device's memory is host-visible
  kHostVisible,  // in the device's memory, mapped and coherent
  kHostLocal,    // in the host's memory, mapped and coherent: staging, read back
};

// The order in which a device serves its queues where several have ready work: see
// Device::create_queue.
enum class QueuePriority : std::uint8_t { kLow, kNormal, kHigh };

HALYARD_EXPORT std::string_view to_string(QueueKind kind) noexcept;
HALYARD_EXPORT std::string_view to_string(MemoryType type) noexcept;

inline constexpr std::uint64_t kWholeSize = ~std::uint64_t{0};

// The constructed object refers to the argument. Clang warns (-Wdangling) if that is a temporary
// which the object outlives.
#if defined(__clang__)
#define HALYARD_LIFETIMEBOUND [[clang::lifetimebound]]
#else
#define HALYARD_LIFETIMEBOUND
#endif

// A read-only view of elements that live for the duration of a call: of a braced list, an array
// or anything with data() and size(). A view of a braced list or of another temporary dangles after
// the full expression, and so does whatever stores it (SubmitInfo). Clang warns of most such uses.
template <class T>
class View {
 public:
  constexpr View() noexcept = default;
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winit-list-lifetime"
#endif
  constexpr View(std::initializer_list<T> list HALYARD_LIFETIMEBOUND) noexcept
      : data_(list.begin()), size_(list.size()) {}
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
  constexpr View(const T* data, std::size_t size) noexcept : data_(data), size_(size) {}
  template <std::size_t kSize>
  constexpr View(const T (&array)[kSize]) noexcept : data_(array), size_(kSize) {}
  template <class Range>
    requires(std::is_convertible_v<decltype(std::declval<const Range&>().data()), const T*> &&
             !std::is_same_v<Range, View> && !std::is_trivially_copyable_v<Range>)
  constexpr View(const Range& range HALYARD_LIFETIMEBOUND) noexcept
      : data_(range.data()), size_(range.size()) {}
  template <class Range>  // std::span and other views, which may end before their elements
    requires(std::is_convertible_v<decltype(std::declval<const Range&>().data()), const T*> &&
             !std::is_same_v<Range, View> && std::is_trivially_copyable_v<Range>)
  constexpr View(const Range& range) noexcept : data_(range.data()), size_(range.size()) {}

  constexpr const T* data() const noexcept { return data_; }
  constexpr std::size_t size() const noexcept { return size_; }
  constexpr bool empty() const noexcept { return size_ == 0; }
  constexpr const T* begin() const noexcept { return data_; }
  constexpr const T* end() const noexcept { return data_ + size_; }
  constexpr const T& operator[](std::size_t index) const noexcept { return data_[index]; }

 private:
  const T* data_ = nullptr;
  std::size_t size_ = 0;
};

using Bytes = View<std::byte>;

// The extent of a dispatch, given in one of two ways:
//   items   at least so many items in each dimension. The group count is items / workgroup size,
//           rounded up; the kernel guards the tail.
//   groups  exactly so many workgroups in each dimension.
// Zero in any dimension runs nothing; the submission still waits and signals.
struct Grid {
  struct Extent {
    std::uint64_t x = 1, y = 1, z = 1;
    constexpr Extent() noexcept = default;
    constexpr Extent(std::uint64_t x_, std::uint64_t y_ = 1, std::uint64_t z_ = 1) noexcept
        : x(x_), y(y_), z(z_), given(true) {}
    bool given = false;
  };
  Extent items{};
  Extent groups{};
};

}  // namespace halyard::inline v0::hal
