// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kernel/hyx.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <utility>

#include "base/content_hash.h"
#include "base/file.h"
#include "base/format.h"
#include "hyx_generated.h"

namespace halyard::inline v0::kernel {
namespace {

// The schema nests File > Kernel > Binding; a file of the most tables costs about 50 MiB.
constexpr flatbuffers::Verifier::Options kVerifierOptions = [] {
  flatbuffers::Verifier::Options options;
  options.max_depth = 4;
  options.max_tables = 1 << 20;
  return options;
}();

// The alignment of an image's bytes in a file.
constexpr std::size_t kAlignment = 16;

// The checksum at the end of a file, over all bytes before it.
using Checksum = std::array<std::uint64_t, 2>;

Checksum checksum(std::span<const std::byte> buffer) noexcept {
  const base::ContentHash hash = base::content_hash({base::text_of(buffer)});
  return {hash.high, hash.low};
}

std::string_view view(const flatbuffers::String* text) {
  return text == nullptr ? std::string_view() : std::string_view(text->c_str(), text->size());
}

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= kMaxNameLength &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c <= '~'; });
}

// True if a constant is named "<binding>.<field><d>", with d of one digit.
bool is_of_tensor(std::string_view name, std::string_view binding, std::string_view field,
                  std::uint32_t d) noexcept {
  return name.size() == binding.size() + field.size() + 2 && name.starts_with(binding) &&
         name[binding.size()] == '.' && name.substr(binding.size() + 1).starts_with(field) &&
         name.back() == static_cast<char>('0' + d);
}

// A list of names, truncated before a message becomes unreadable.
template <class Range, class Name>
std::string join(const Range& range, Name name) {
  constexpr std::size_t kMost = 8;
  std::string text;
  std::size_t count = 0;
  for (const auto& item : range) {
    if (count == kMost) {
      base::append(text, ", ...");
      break;
    }
    base::append(text, "{}{}", count++ != 0 ? ", " : "", name(item));
  }
  return text;
}

}  // namespace

void append_checksum(std::vector<std::byte>& buffer) {
  const Checksum sum = checksum(buffer);
  const auto bytes = std::as_bytes(std::span(sum));
  buffer.insert(buffer.end(), bytes.begin(), bytes.end());
}

// Checks a file whose offsets are verified, and fills in the Hyx.
class Hyx::Reader {
 public:
  Reader(Hyx& hyx, const schema::File& file) : hyx_(hyx), file_(file) {}

  Status read() {
    HALYARD_RETURN_IF_ERROR(check_counts());
    HALYARD_RETURN_IF_ERROR(read_sources());
    HALYARD_RETURN_IF_ERROR(read_kernels());
    HALYARD_RETURN_IF_ERROR(check_kernel_names());
    return read_images();
  }

 private:
  template <class... Args>
  Status damaged(fmt::format_string<Args...> format, Args&&... args) const {
    return error(StatusCode::kDataLoss, "{}: {}", hyx_.name_,
                 base::format(format, std::forward<Args>(args)...));
  }

  Status check_count(std::string_view what, std::size_t count, std::size_t least,
                     std::size_t most) const {
    if (count >= least && count <= most) return {};
    return damaged("{} has {} entries; {} to {} are allowed", what, count, least, most);
  }

  Status check_name(std::string_view owner, std::string_view what, std::string_view text) const {
    if (is_name(text)) return {};
    return damaged("{}{} is not a name of 1 to {} printable characters", owner, what,
                   kMaxNameLength);
  }

  template <class T>
  Status allocate(Array<T>& array, std::size_t size) const {
    array.items.reset(new (std::nothrow) T[size]());
    if (array.items == nullptr) {
      return error(StatusCode::kResourceExhausted, "{}: no memory for its reflection", hyx_.name_);
    }
    array.size = size;
    return {};
  }

  Status check_counts() {
    HALYARD_RETURN_IF_ERROR(check_count("kernels", file_.kernels()->size(), 1, kMaxKernels));
    HALYARD_RETURN_IF_ERROR(check_count("images", file_.images()->size(), 1, kMaxImages));
    HALYARD_RETURN_IF_ERROR(check_count("sources", file_.sources()->size(), 0, kMaxSources));
    std::size_t bindings = 0;
    std::size_t constants = 0;
    std::size_t equal_sizes = 0;
    for (const schema::Kernel* kernel : *file_.kernels()) {
      HALYARD_RETURN_IF_ERROR(check_name("", "kernels.name", view(kernel->name())));
      HALYARD_RETURN_IF_ERROR(check_count(base::format("kernel {}: bindings", view(kernel->name())),
                                          kernel->bindings()->size(), 0, kMaxBindings));
      HALYARD_RETURN_IF_ERROR(
          check_count(base::format("kernel {}: constants", view(kernel->name())),
                      kernel->constants()->size(), 0, kMaxConstants));
      bindings += kernel->bindings()->size();
      constants += kernel->constants()->size();
      HALYARD_RETURN_IF_ERROR(
          check_count(base::format("kernel {}: equal_sizes", view(kernel->name())),
                      count_equal_sizes(*kernel), 0, kMaxEqualSizes));
      equal_sizes += count_equal_sizes(*kernel);
    }
    HALYARD_RETURN_IF_ERROR(allocate(hyx_.kernels_, file_.kernels()->size()));
    HALYARD_RETURN_IF_ERROR(allocate(hyx_.bindings_, bindings));
    HALYARD_RETURN_IF_ERROR(allocate(hyx_.constants_, constants));
    HALYARD_RETURN_IF_ERROR(allocate(hyx_.scalars_, constants));  // an upper bound
    HALYARD_RETURN_IF_ERROR(allocate(hyx_.equal_sizes_, equal_sizes));
    HALYARD_RETURN_IF_ERROR(allocate(hyx_.images_, file_.images()->size()));
    return allocate(hyx_.sources_, file_.sources()->size());
  }

  // Absent in files of older versions.
  static std::size_t count_equal_sizes(const schema::Kernel& kernel) {
    return kernel.equal_sizes() == nullptr ? 0 : kernel.equal_sizes()->size();
  }

  Status read_sources() {
    SourceInfo* out = hyx_.sources_.items.get();
    for (const schema::Source* source : *file_.sources()) {
      HALYARD_RETURN_IF_ERROR(check_name("", "sources.name", view(source->name())));
      *out++ = {view(source->name()), view(source->text())};
    }
    return {};
  }

  Status read_kernels() {
    KernelInfo* out = hyx_.kernels_.items.get();
    BindingInfo* binding = hyx_.bindings_.items.get();
    ConstantInfo* constant = hyx_.constants_.items.get();
    std::uint32_t* scalar = hyx_.scalars_.items.get();
    EqualSizes* equal_sizes = hyx_.equal_sizes_.items.get();
    for (const schema::Kernel* kernel : *file_.kernels()) {
      const std::string owner = base::format("kernel {}: ", view(kernel->name()));
      KernelInfo& info = *out++;
      info.name = view(kernel->name());
      HALYARD_RETURN_IF_ERROR(read_sizes(owner, *kernel, info));

      const std::span<BindingInfo> bindings(binding, kernel->bindings()->size());
      info.bindings = bindings;
      for (const schema::Binding* from : *kernel->bindings()) {
        HALYARD_RETURN_IF_ERROR(read_binding(owner, *from, *binding++));
      }
      info.constants = {constant, kernel->constants()->size()};
      std::uint32_t end = 0;  // end of the constants read so far
      for (const schema::Constant* from : *kernel->constants()) {
        HALYARD_RETURN_IF_ERROR(read_constant(owner, *from, info, end, *constant));
        end = constant->offset + constant->size;
        ++constant;
      }
      HALYARD_RETURN_IF_ERROR(check_parameter_names(owner, info));
      HALYARD_RETURN_IF_ERROR(find_tensor_constants(owner, info.constants, bindings));
      info.scalars = list_scalars(info, scalar);
      scalar += info.scalars.size();
      const std::span<EqualSizes> equal(equal_sizes, count_equal_sizes(*kernel));
      HALYARD_RETURN_IF_ERROR(read_equal_sizes(owner, *kernel, bindings, equal));
      info.equal_sizes = equal;
      equal_sizes += equal.size();
    }
    return {};
  }

  Status read_sizes(std::string_view owner, const schema::Kernel& from, KernelInfo& info) const {
    const schema::WorkgroupSize& size = *from.workgroup_size();
    info.workgroup_size = {size.x(), size.y(), size.z()};
    std::uint64_t items = 1;
    for (const std::uint32_t extent : info.workgroup_size) {
      // Each factor is checked first, so the product of three cannot wrap.
      items = extent <= kMaxWorkgroupItems ? items * extent : 0;
    }
    if (items == 0 || items > kMaxWorkgroupItems) {
      return damaged("{}workgroup_size is {} x {} x {}; 1 to {} items are allowed", owner, size.x(),
                     size.y(), size.z(), kMaxWorkgroupItems);
    }
    info.constants_bytes = from.constants_bytes();
    if (info.constants_bytes > kMaxConstantsBytes) {
      return damaged("{}constants_bytes is {}; at most {} are allowed", owner, info.constants_bytes,
                     kMaxConstantsBytes);
    }
    info.static_shared_bytes = from.static_shared_bytes();
    info.dynamic_shared_bytes = from.dynamic_shared_bytes();
    info.may_overlap = from.may_overlap();
    if (info.static_shared_bytes > kMaxSharedBytes || info.dynamic_shared_bytes > kMaxSharedBytes) {
      return damaged("{}shared memory is {} static and {} dynamic bytes; at most {} are allowed",
                     owner, info.static_shared_bytes, info.dynamic_shared_bytes, kMaxSharedBytes);
    }
    if (const schema::Location* location = from.location(); location != nullptr) {
      if (location->source() >= hyx_.sources_.size) {
        return damaged("{}location.source is {}, of {}", owner, location->source(),
                       base::counted(hyx_.sources_.size, "source"));
      }
      info.source = hyx_.sources_.items[location->source()].name;
      info.line = location->line();
    }
    return {};
  }

  Status read_binding(std::string_view owner, const schema::Binding& from, BindingInfo& to) const {
    to.name = view(from.name());
    HALYARD_RETURN_IF_ERROR(check_name(owner, "bindings.name", to.name));
    to.access = static_cast<Access>(from.access());
    if (from.access() > schema::Access::MAX) {
      return damaged("{}binding {}: access is {}, which is unknown", owner, to.name,
                     static_cast<unsigned>(from.access()));
    }
    HALYARD_RETURN_IF_ERROR(read_type(owner, to.name, from.element(), to.type));
    return read_tensor(owner, from, to);
  }

  Status read_tensor(std::string_view owner, const schema::Binding& from, BindingInfo& to) const {
    to.rank = from.rank();
    if (to.rank > kMaxRank) {
      return damaged("{}binding {}: rank is {}; at most {} is allowed", owner, to.name, to.rank,
                     kMaxRank);
    }
    if (from.tile() == nullptr || from.tile()->size() == 0) return {};
    if (to.rank == 0 || to.access == Access::kRead || from.tile()->size() != to.rank) {
      return damaged("{}binding {}: a tile of {} for a {} binding of rank {}", owner, to.name,
                     base::counted(from.tile()->size(), "extent"), to_string(to.access), to.rank);
    }
    std::copy(from.tile()->begin(), from.tile()->end(), to.tile.begin());
    const auto* const end = to.tile.begin() + to.rank;
    if (std::find(to.tile.cbegin(), end, 0u) == end) return {};
    return damaged("{}binding {}: a tile's extent is 0", owner, to.name);
  }

  // One pass over the constants serves all tensors, since their order is that of the bindings.
  Status find_tensor_constants(std::string_view owner, std::span<const ConstantInfo> constants,
                               std::span<BindingInfo> bindings) const {
    auto at = constants.begin();
    for (BindingInfo& binding : bindings) {
      if (binding.rank == 0) continue;
      at = std::find_if(at, constants.end(), [&](const auto& each) {
        return is_of_tensor(each.name, binding.name, "size", 0);
      });
      binding.first_constant = static_cast<std::uint32_t>(at - constants.begin());
      for (const auto& [field, count] :
           {std::pair("size", binding.rank), std::pair("stride", binding.rank - 1),
            std::pair("tile", binding.chooses_tile() ? binding.rank : 0)}) {
        for (std::uint32_t d = 0; d < count; ++d, ++at) {
          if (at == constants.end() || !is_of_tensor(at->name, binding.name, field, d) ||
              at->type != ElementType::kUint32) {
            return damaged("{}binding {}: a tensor, but {}.{}{} is no uint32 constant in its place",
                           owner, binding.name, binding.name, field, d);
          }
        }
      }
    }
    return {};
  }

  // Writes the indices of the constants between those of the tensors to `out`.
  static std::span<const std::uint32_t> list_scalars(const KernelInfo& kernel, std::uint32_t* out) {
    std::uint32_t* const first = out;
    std::uint32_t next = 0;
    for (const BindingInfo& binding : kernel.bindings) {
      if (binding.rank == 0) continue;
      while (next < binding.first_constant) *out++ = next++;
      next += binding.constant_count();
    }
    while (next < kernel.constants.size()) *out++ = next++;
    return {first, out};
  }

  Status read_equal_sizes(std::string_view owner, const schema::Kernel& from,
                          std::span<const BindingInfo> bindings, std::span<EqualSizes> to) const {
    for (std::size_t i = 0; i < to.size(); ++i) {
      const schema::EqualSizes& pair = *from.equal_sizes()->Get(static_cast<std::uint32_t>(i));
      to[i] = {pair.binding(), pair.dimension(), pair.other_binding(), pair.other_dimension()};
      for (const auto& [binding, dimension] :
           {std::pair(to[i].binding, to[i].dimension),
            std::pair(to[i].other_binding, to[i].other_dimension)}) {
        if (binding >= bindings.size()) {
          return damaged("{}equal_sizes: binding {}, of {}", owner, binding, bindings.size());
        }
        const BindingInfo& tensor = bindings[binding];
        if (dimension >= tensor.rank) {
          return damaged("{}equal_sizes: dimension {} of {}, whose rank is {}", owner, dimension,
                         tensor.name, tensor.rank);
        }
      }
    }
    return {};
  }

  Status read_constant(std::string_view owner, const schema::Constant& from,
                       const KernelInfo& kernel, std::uint32_t end, ConstantInfo& to) const {
    to.name = view(from.name());
    HALYARD_RETURN_IF_ERROR(check_name(owner, "constants.name", to.name));
    HALYARD_RETURN_IF_ERROR(read_type(owner, to.name, from.element(), to.type));
    to.offset = from.offset();
    to.size = static_cast<std::uint32_t>(size_of(to.type));
    if (to.size < 4) {
      return damaged("{}constant {}: type {} has {} bytes; 4 and 8 are allowed", owner, to.name,
                     to_string(to.type), to.size);
    }
    if (to.offset % to.size != 0) {
      return damaged("{}constant {}: offset {} is not a multiple of {}", owner, to.name, to.offset,
                     to.size);
    }
    if (to.offset < end) {
      return damaged("{}constant {}: offset {} is inside the constant before it", owner, to.name,
                     to.offset);
    }
    if (std::uint64_t{to.offset} + to.size > kernel.constants_bytes) {
      return damaged("{}constant {}: offset {} is beyond constants_bytes {}", owner, to.name,
                     to.offset, kernel.constants_bytes);
    }
    return {};
  }

  Status read_type(std::string_view owner, std::string_view name, schema::ElementType from,
                   ElementType& to) const {
    to = static_cast<ElementType>(from);
    if (from <= schema::ElementType::MAX) return {};
    return damaged("{}parameter {}: element is {}, which is unknown", owner, name,
                   static_cast<unsigned>(from));
  }

  Status check_parameter_names(std::string_view owner, const KernelInfo& kernel) const {
    std::array<std::string_view, kMaxBindings + kMaxConstants> names;
    auto end = names.begin();
    for (const BindingInfo& binding : kernel.bindings) *end++ = binding.name;
    for (const ConstantInfo& constant : kernel.constants) *end++ = constant.name;
    std::sort(names.begin(), end);
    const auto twice = std::adjacent_find(names.begin(), end);
    if (twice == end) return {};
    return damaged("{}two parameters are named {}", owner, *twice);
  }

  Status check_kernel_names() const {
    Array<std::string_view> names;
    HALYARD_RETURN_IF_ERROR(allocate(names, hyx_.kernels_.size));
    std::string_view* const begin = names.items.get();
    std::string_view* const end = begin + names.size;
    std::transform(hyx_.kernels_.items.get(), hyx_.kernels_.items.get() + names.size, begin,
                   [](const KernelInfo& kernel) { return kernel.name; });
    std::sort(begin, end);
    const std::string_view* const twice = std::adjacent_find(begin, end);
    if (twice == end) return {};
    return damaged("two kernels are named {}", *twice);
  }

  Status read_images() {
    ImageInfo* const begin = hyx_.images_.items.get();
    ImageInfo* out = begin;
    std::size_t total = 0;
    for (const schema::Image* image : *file_.images()) {
      const std::string_view target = view(image->target());
      const std::string_view convention = view(image->convention());
      HALYARD_RETURN_IF_ERROR(check_name("", "images.target", target));
      const std::string owner = base::format("image {}: ", target);
      HALYARD_RETURN_IF_ERROR(check_name(owner, "convention", convention));
      if (std::any_of(begin, out, [&](const ImageInfo& other) {
            return other.target == target && other.convention == convention;
          })) {
        return damaged("two images are for target {}, convention {}", target, convention);
      }
      if (image->bytes()->size() == 0) return damaged("{}bytes is empty", owner);
      // Offsets may alias: 64 images of one range of bytes would be 64 times as large when written.
      total += image->bytes()->size();
      if (total > hyx_.size_) return damaged("{}bytes overlaps another image", owner);
      *out = {target, convention,
              std::as_bytes(std::span(image->bytes()->data(), image->bytes()->size()))};
      ++out;
    }
    return {};
  }

  Hyx& hyx_;
  const schema::File& file_;
};

Result<Hyx> Hyx::adopt(std::unique_ptr<std::byte[]> bytes, std::size_t size,
                       std::string_view name) {
  Hyx hyx;
  base::append(hyx.name_, "{}", name);
  hyx.bytes_ = std::move(bytes);
  hyx.size_ = size;
  const auto* data = reinterpret_cast<const std::uint8_t*>(hyx.bytes_.get());
  // A smaller file has no identifier.
  if (size <
      sizeof(flatbuffers::uoffset_t) + flatbuffers::kFileIdentifierLength + sizeof(Checksum)) {
    return error(StatusCode::kDataLoss, "{}: {} bytes are too few for a .hyx file", name, size);
  }
  if (!schema::FileBufferHasIdentifier(data)) {
    return error(StatusCode::kDataLoss, "{}: not a .hyx file: its identifier is not {}", name,
                 schema::FileIdentifier());
  }
  const std::size_t end = size - sizeof(Checksum);
  const Checksum computed = checksum({hyx.bytes_.get(), end});
  if (std::memcmp(&computed, data + end, sizeof computed) != 0) {
    return error(
        StatusCode::kDataLoss,
        "{}: damaged: its {} bytes do not match the checksum at their end; or an older Halyard "
        "wrote it: compile it again",
        name, size);
  }
  flatbuffers::Verifier verifier(data, end, kVerifierOptions);
  if (!schema::VerifyFileBuffer(verifier)) {
    return error(StatusCode::kDataLoss, "{}: damaged: an offset or length leaves the file", name);
  }
  HALYARD_RETURN_IF_ERROR(Reader(hyx, *schema::GetFile(data)).read());
  return hyx;
}

namespace {

Result<std::unique_ptr<std::byte[]>> allocate_file(std::size_t size, std::string_view name) {
  if (size > kMaxHyxBytes) {
    return error(StatusCode::kResourceExhausted, "{}: {} bytes; a .hyx file has at most {}", name,
                 size, kMaxHyxBytes);
  }
  // operator new[] aligns to as many bytes as the schema needs.
  static_assert(__STDCPP_DEFAULT_NEW_ALIGNMENT__ >= kAlignment);
  std::unique_ptr<std::byte[]> bytes(new (std::nothrow) std::byte[size]);
  if (bytes == nullptr) {
    return error(StatusCode::kResourceExhausted, "{}: no memory for its {} bytes", name, size);
  }
  return bytes;
}

}  // namespace

Result<Hyx> Hyx::parse(std::span<const std::byte> bytes, std::string_view name) {
  HALYARD_ASSIGN_OR_RETURN(auto copy, allocate_file(bytes.size(), name));
  std::copy(bytes.begin(), bytes.end(), copy.get());
  return adopt(std::move(copy), bytes.size(), name);
}

Result<Hyx> Hyx::read(const std::string& path) {
  HALYARD_ASSIGN_OR_RETURN(const base::InputFile file, base::open_input(path));
  HALYARD_ASSIGN_OR_RETURN(auto bytes, allocate_file(file.size(), path));
  HALYARD_RETURN_IF_ERROR(base::read_all(file.descriptor, path, {bytes.get(), file.size()}));
  return adopt(std::move(bytes), file.size(), path);
}

Result<const KernelInfo*> Hyx::find(std::string_view kernel) const {
  for (const KernelInfo& info : kernels()) {
    if (info.name == kernel) return &info;
  }
  return error(StatusCode::kNotFound, "{}: no kernel '{}'; it has {}", name_, kernel,
               join(kernels(), [](const KernelInfo& info) { return info.name; }));
}

Result<const ImageInfo*> Hyx::image_for(std::span<const std::string_view> targets,
                                        std::string_view convention) const {
  for (const std::string_view target : targets) {
    for (const ImageInfo& image : images()) {
      if (image.target == target && image.convention == convention) return &image;
    }
  }
  // Names convention and target: an image of the right target may have the wrong convention.
  const auto name = [&](const ImageInfo& image) {
    if (std::ranges::find(targets, image.target) == targets.end()) return std::string(image.target);
    return base::format("{} ({})", image.target, image.convention);
  };
  return error(StatusCode::kUnavailable, "{}: no image for {} ({}); it has {}", name_,
               join(targets, [](std::string_view target) { return target; }), convention,
               join(images(), name));
}

}  // namespace halyard::inline v0::kernel
