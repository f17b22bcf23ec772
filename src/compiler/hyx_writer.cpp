// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/hyx_writer.h"

#include <span>

#include "hyx_generated.h"
#include "kernel/hyx.h"

namespace halyard::inline v0::compiler {
namespace {

template <class T, class Items, class Write>
auto write_vector(flatbuffers::FlatBufferBuilder& builder, const Items& items, Write write) {
  std::vector<flatbuffers::Offset<T>> offsets;
  for (const auto& item : items) offsets.push_back(write(item));
  return builder.CreateVector(offsets);
}

schema::ElementType schema_type(kernel::ElementType type) {
  return static_cast<schema::ElementType>(type);
}

flatbuffers::Offset<schema::Kernel> write_kernel(flatbuffers::FlatBufferBuilder& builder,
                                                 const Kernel& kernel, bool has_source) {
  const auto name = builder.CreateString(kernel.name);
  const auto bindings =
      write_vector<schema::Binding>(builder, kernel.bindings, [&](const Binding& binding) {
        const auto tile = binding.tile.empty() ? 0 : builder.CreateVector(binding.tile);
        return schema::CreateBinding(builder, builder.CreateString(binding.name),
                                     static_cast<schema::Access>(binding.access),
                                     schema_type(binding.type), binding.rank, tile);
      });
  const auto constants =
      write_vector<schema::Constant>(builder, kernel.constants, [&](const Constant& constant) {
        return schema::CreateConstant(builder, builder.CreateString(constant.name),
                                      schema_type(constant.type), constant.offset);
      });
  const schema::WorkgroupSize size(kernel.workgroup_size[0], kernel.workgroup_size[1],
                                   kernel.workgroup_size[2]);
  const schema::Location location(0, kernel.line);
  std::vector<schema::EqualSizes> equal_sizes;
  for (const kernel::EqualSizes& each : kernel.equal_sizes) {
    equal_sizes.emplace_back(each.binding, each.dimension, each.other_binding,
                             each.other_dimension);
  }
  return schema::CreateKernel(builder, name, &size, bindings, constants, kernel.constants_bytes,
                              kernel.static_shared_bytes, kernel.dynamic_shared_bytes,
                              has_source ? &location : nullptr,
                              equal_sizes.empty() ? 0 : builder.CreateVectorOfStructs(equal_sizes),
                              kernel.may_overlap);
}

flatbuffers::Offset<schema::Image> write_image(flatbuffers::FlatBufferBuilder& builder,
                                               const Image& image) {
  const auto* data = reinterpret_cast<const std::uint8_t*>(image.bytes.data());
  builder.ForceVectorAlignment(image.bytes.size(), sizeof(std::uint8_t), 16);
  const auto bytes = builder.CreateVector(data, image.bytes.size());
  const auto target = builder.CreateString(image.target);
  const auto convention = builder.CreateString(image.convention);
  return schema::CreateImage(builder, target, convention, bytes);
}

}  // namespace

std::vector<std::byte> write_hyx(const Contents& contents) {
  flatbuffers::FlatBufferBuilder builder;
  const auto kernels =
      write_vector<schema::Kernel>(builder, contents.kernels, [&](const Kernel& kernel) {
        return write_kernel(builder, kernel, !contents.sources.empty());
      });
  const auto images = write_vector<schema::Image>(
      builder, contents.images, [&](const Image& image) { return write_image(builder, image); });
  const auto sources =
      write_vector<schema::Source>(builder, contents.sources, [&](const Source& source) {
        const auto name = builder.CreateString(source.name);
        const auto text = builder.CreateString(source.text);
        return schema::CreateSource(builder, name, text);
      });
  schema::FinishFileBuffer(builder, schema::CreateFile(builder, kernels, images, sources));
  const auto bytes = std::as_bytes(std::span(builder.GetBufferPointer(), builder.GetSize()));
  std::vector<std::byte> file(bytes.begin(), bytes.end());
  kernel::append_checksum(file);
  return file;
}

}  // namespace halyard::inline v0::compiler
