// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Executables: the reflection of a .hyx file's kernels, and damaged files.
#include <algorithm>
#include <array>

#include "conformance/context.h"
#include "conformance/suites.h"

namespace halyard::inline v0::conformance {
namespace executable {
namespace {

using hal::Executable;
using hal::Function;
using kernel::Access;
using kernel::ElementType;

bool damaged(const Result<Executable>& result) {
  return result.status().code() == StatusCode::kDataLoss;
}

void kernels_are_counted_and_named(Context& t) {
  const Executable& executable = t.executable();
  VERIFY_EQ(executable.function_count(), 20u);
  for (std::size_t i = 0; i < executable.function_count(); ++i) {
    const Function function = executable.function(i).value();
    VERIFY(!function.name().empty());
    VERIFY(executable.function(function.name()).value() == function);
  }
}

void kernel_is_found_by_name(Context& t) {
  const Function function = t.executable().function("sum_of_eight").value();
  VERIFY_EQ(function.name(), "sum_of_eight");
  VERIFY_EQ(function.binding_count(), 9u);
  VERIFY_EQ(function.constant_count(), 1u);
}

void unknown_kernel_is_not_found_and_what_there_is_is_named(Context& t) {
  const auto result = t.executable().function("no_such_kernel");
  VERIFY_CODE(result, StatusCode::kNotFound);
  VERIFY(result.status().message().find("no_such_kernel") != std::string_view::npos);
  VERIFY(result.status().message().find("scale_and_offset") != std::string_view::npos);
  VERIFY_CODE(t.executable().function(""), StatusCode::kNotFound);
}

void kernel_beyond_the_last_is_out_of_range(Context& t) {
  VERIFY_CODE(t.executable().function(t.executable().function_count()), StatusCode::kOutOfRange);
  VERIFY_CODE(t.executable().function(std::size_t{100}), StatusCode::kOutOfRange);
  VERIFY_CODE(t.executable().function(~std::size_t{0}), StatusCode::kOutOfRange);
}

void reflection_names_bindings_with_access_and_type(Context& t) {
  const Function absolute = t.kernel("absolute");
  VERIFY_EQ(absolute.binding_count(), 2u);
  VERIFY_EQ(absolute.binding(0).name, "x");
  VERIFY_EQ(absolute.binding(0).access, Access::kRead);
  VERIFY_EQ(absolute.binding(0).element, ElementType::kFloat32);
  VERIFY_EQ(absolute.binding(1).name, "y");
  VERIFY_EQ(absolute.binding(1).access, Access::kWrite);
  const Function negate = t.kernel("negate");
  VERIFY_EQ(negate.binding(0).access, Access::kReadWrite);
  VERIFY_EQ(negate.binding(0).element, ElementType::kInt32);
}

void reflection_names_constants_with_types(Context& t) {
  const Function function = t.kernel("constants");
  VERIFY_EQ(function.constant_count(), 3u);
  VERIFY_EQ(function.constant(0).name, "a");
  VERIFY_EQ(function.constant(0).type, ElementType::kFloat32);
  VERIFY_EQ(function.constant(1).type, ElementType::kInt32);
  VERIFY_EQ(function.constant(2).name, "c");
  VERIFY_EQ(function.constant(2).type, ElementType::kUint32);
}

void reflection_has_the_workgroup_size(Context& t) {
  const hal::Grid::Extent size = t.kernel("item_places").workgroup_size();
  VERIFY_EQ(size.x, 4u);
  VERIFY_EQ(size.y, 2u);
  VERIFY_EQ(size.z, 2u);
}

void shared_and_private_storage_are_no_arguments(Context& t) {
  VERIFY_EQ(t.kernel("private_values").binding_count(), 1u);
  VERIFY_EQ(t.kernel("private_values").constant_count(), 0u);
}

void file_is_loaded_many_times(Context& t) {
  const Executable first = t.device().load(built_in_kernels(), "one").value();
  const Executable second = t.device().load(built_in_kernels(), "two").value();
  VERIFY_EQ(first.function_count(), second.function_count());
  VERIFY(!(first == second));
  for (const Executable& each : {first, second}) {
    const hal::Buffer x = t.buffer(4);
    t.finish([&](const hal::SubmitInfo& info) {
      return t.compute().dispatch(each.function("increment").value(), {.items = {1}}, {x},
                                  {std::uint32_t{1}}, info);
    });
    VERIFY_EQ(x.map().value().as<std::uint32_t>()[0], 1u);
  }
}

void loaded_bytes_may_be_freed(Context& t) {
  Executable executable;
  {
    std::vector<std::byte> copy(built_in_kernels().begin(), built_in_kernels().end());
    executable = t.device().load(copy, "copy").value();
    std::ranges::fill(copy, std::byte{0});
  }
  const Function function = executable.function("increment").value();
  VERIFY_EQ(function.binding(0).name, "x");
  const hal::Buffer x = t.buffer(4);
  t.finish([&](const hal::SubmitInfo& info) {
    return t.compute().dispatch(function, {.items = {1}}, {x}, {std::uint32_t{1}}, info);
  });
  VERIFY_EQ(x.map().value().as<std::uint32_t>()[0], 1u);
}

void bytes_at_any_address_are_loaded(Context& t) {
  std::vector<std::byte> bytes(built_in_kernels().size() + 8);
  for (const std::size_t offset : {1u, 2u, 4u, 7u}) {
    const auto target = std::span(bytes).subspan(offset, built_in_kernels().size());
    std::ranges::copy(built_in_kernels(), target.begin());
    VERIFY_OK(t.device().load(target, "unaligned"));
  }
}

void function_keeps_its_executable(Context& t) {
  Function function;
  {
    const Executable executable = t.device().load(built_in_kernels(), "dropped").value();
    function = executable.function("increment").value();
  }
  VERIFY_EQ(function.name(), "increment");
  const hal::Buffer x = t.buffer(4);
  const hal::Semaphore done = t.semaphore();
  VERIFY_OK(t.compute().dispatch(function, {.items = {1}}, {x}, {std::uint32_t{1}},
                                 {.signal = {{done, 1}}}));
  function = {};  // from here on only the submission keeps the executable
  VERIFY_OK(done.wait(1, kWatchdog));
  VERIFY_EQ(x.map().value().as<std::uint32_t>()[0], 1u);
}

void missing_file_is_not_found_and_named(Context& t) {
  const auto result = t.device().load(std::string("no/such/file.hyx"));
  VERIFY_CODE(result, StatusCode::kNotFound);
  VERIFY(result.status().message().find("no/such/file.hyx") != std::string_view::npos);
}

void empty_file_is_damaged(Context& t) { VERIFY(damaged(t.device().load(hal::Bytes(), "empty"))); }

void other_content_is_damaged_and_its_name_is_in_the_message(Context& t) {
  std::string text = "This is a text and no kernel file, whatever its name says. ";
  for (int i = 0; i < 6; ++i) text += text;
  const auto result = t.device().load(std::as_bytes(std::span(text)), "letter.hyx");
  VERIFY(damaged(result));
  VERIFY(result.status().message().find("letter.hyx") != std::string_view::npos);
  VERIFY(damaged(t.device().load(std::vector<std::byte>(4096), "zeros")));
  VERIFY(damaged(t.device().load(std::vector<std::byte>(4096, std::byte{0xff}), "ones")));
}

void truncated_file_is_damaged(Context& t) {
  const auto image = built_in_kernels();
  const std::size_t step = std::max<std::size_t>(1, image.size() / 300);
  for (std::size_t size = 0; size < image.size(); size += size < 256 ? 1 : step) {
    // A copy, so that a sanitizer detects a read beyond the end.
    const std::vector<std::byte> part(image.begin(), image.begin() + size);
    if (!damaged(t.device().load(part, "part"))) {
      t.fail(__FILE__, __LINE__, fmt::format("the first {} of {} bytes", size, image.size()));
    }
  }
}

// A changed byte gives a named error or a file that loads; the loaded file is not run.
void changed_bytes_are_an_error_or_loaded(Context& t) {
  const auto image = built_in_kernels();
  std::vector<std::byte> copy(image.begin(), image.end());
  const std::size_t step = std::max<std::size_t>(1, image.size() / 300);
  for (std::size_t i = 0; i < copy.size(); i += i < 256 ? 1 : step) {
    for (const std::byte value : {std::byte{0xff}, std::byte{0}, copy[i] ^ std::byte{1}}) {
      copy[i] = value;
      const StatusCode code = t.device().load(copy, "changed").status().code();
      const std::array kAllowed = {StatusCode::kOk, StatusCode::kDataLoss, StatusCode::kUnavailable,
                                   StatusCode::kUnimplemented};
      if (std::ranges::find(kAllowed, code) == kAllowed.end()) {
        t.fail(__FILE__, __LINE__, fmt::format("byte {}: {}", i, to_string(code)));
      }
      copy[i] = image[i];
    }
  }
}

#define CASE(name) {"executable", #name, name}
constexpr Case kCases[] = {
    CASE(kernels_are_counted_and_named),
    CASE(kernel_is_found_by_name),
    CASE(unknown_kernel_is_not_found_and_what_there_is_is_named),
    CASE(kernel_beyond_the_last_is_out_of_range),
    CASE(reflection_names_bindings_with_access_and_type),
    CASE(reflection_names_constants_with_types),
    CASE(reflection_has_the_workgroup_size),
    CASE(shared_and_private_storage_are_no_arguments),
    CASE(file_is_loaded_many_times),
    CASE(loaded_bytes_may_be_freed),
    CASE(bytes_at_any_address_are_loaded),
    CASE(function_keeps_its_executable),
    CASE(missing_file_is_not_found_and_named),
    CASE(empty_file_is_damaged),
    CASE(other_content_is_damaged_and_its_name_is_in_the_message),
    CASE(truncated_file_is_damaged),
    CASE(changed_bytes_are_an_error_or_loaded),
};
#undef CASE

}  // namespace
}  // namespace executable

std::span<const Case> executable_cases() noexcept { return executable::kCases; }

}  // namespace halyard::inline v0::conformance
