// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "halyard/hcq/program.h"

#include <cstring>
#include <utility>

#include "base/format.h"
#include "hcq/command_list.h"

namespace halyard::inline v0::hcq {
namespace {

const char* name_of(Value::Type type) noexcept {
  constexpr const char* kNames[] = {"int32", "uint32", "int64", "uint64", "float32", "float64"};
  return kNames[static_cast<int>(type)];
}

}  // namespace

Program::Program(Ref<ProgramObject> object) noexcept : object_(std::move(object)) {}

ProgramObject* Program::object() const noexcept {
  return static_cast<ProgramObject*>(object_.get());
}

std::string_view Program::name() const noexcept {
  return object_ ? std::string_view(object()->info().name) : std::string_view();
}

Size3 Program::local_size() const noexcept {
  return object_ ? object()->info().local_size : Size3();
}

ArgsState Program::fill_kernargs(std::initializer_list<Buffer> buffers,
                                 std::initializer_list<Value> values) const {
  ArgsState args;
  const auto fail = [&](Status status) {
    args.status_ = std::move(status);
    return args;
  };
  if (!object_) return fail(error(StatusCode::kInvalidArgument, "program: an empty handle"));
  const ProgramInfo& info = object()->info();
  if (buffers.size() != info.buffer_count || values.size() != info.constants.size()) {
    return fail(error(StatusCode::kInvalidArgument,
                      "program '{}': {} buffers and {} values given, it takes {} and {}", info.name,
                      buffers.size(), values.size(), info.buffer_count, info.constants.size()));
  }
  args.program_ = object_;
  args.words_.resize(info.buffer_count + (info.constants_size + 7) / 8);
  std::uint64_t* word = args.words_.data();
  for (const Buffer& buffer : buffers) *word++ = buffer.va_addr;
  auto* block = reinterpret_cast<std::byte*>(word);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Value& value = values.begin()[i];
    const ProgramInfo::Constant& constant = info.constants[i];
    if (value.type() != constant.type) {
      return fail(error(StatusCode::kInvalidArgument, "program '{}': '{}' is {}, {} was given",
                        info.name, constant.name, name_of(constant.type), name_of(value.type())));
    }
    std::memcpy(block + constant.offset, value.data(), Value::size_of(value.type()));
  }
  return args;
}

}  // namespace halyard::inline v0::hcq
