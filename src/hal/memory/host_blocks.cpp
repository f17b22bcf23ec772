// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hal/memory/host_blocks.h"

#include <algorithm>
#include <cassert>
#include <cstdlib>
#include <new>

#include "base/array.h"
#include "base/format.h"

namespace halyard::inline v0::hal {

struct HostBlocks::Chunk {
  HostBlocks* pool;
  Ref<Memory> memory;
  Chunk* next;
  SizeClass* size_class;  // null: one block, of no class
  std::uint64_t block_size;
  Node* nodes() noexcept { return reinterpret_cast<Node*>(this + 1); }
};

HostBlocks::~HostBlocks() {
  for (SizeClass& size_class : classes_) {
    while (size_class.chunks != nullptr) {
      free(std::exchange(size_class.chunks, size_class.chunks->next));
    }
    const bool is_chunk = bytes_of(static_cast<std::uint64_t>(&size_class - classes_)) >= kChunk;
    while (is_chunk && size_class.free != nullptr) {
      free(std::exchange(size_class.free, size_class.free->next)->chunk);
    }
  }
}

void HostBlocks::free(Chunk* chunk) noexcept {
  chunk->~Chunk();
  std::free(chunk);
}

std::uint64_t HostBlocks::class_of(std::uint64_t size) noexcept {
  std::uint64_t index = 0;
  while (index < kClasses && bytes_of(index) < size) ++index;
  return index;
}

std::uint64_t HostBlocks::chunk_size(std::uint64_t size) noexcept {
  const std::uint64_t index = class_of(size);
  return index < kClasses ? std::max(bytes_of(index), kChunk) : size;
}

HostBlock HostBlocks::take(std::uint64_t size) noexcept {
  const std::uint64_t index = class_of(size);
  if (index == kClasses) return {};
  SizeClass& size_class = classes_[index];
  base::LockGuard lock(size_class.mutex);
  Node* const node = size_class.free;
  if (node == nullptr) return {};
  size_class.free = node->next;
  --size_class.free_count;
  retain();
  return HostBlock(node);
}

Result<HostBlock> HostBlocks::add(Ref<Memory> memory, std::uint64_t size) {
  assert(memory->host_pointer() != nullptr && memory->size() >= chunk_size(size));
  const std::uint64_t index = class_of(size);
  SizeClass* const size_class = index < kClasses ? &classes_[index] : nullptr;
  const std::uint64_t block_size = size_class != nullptr ? bytes_of(index) : size;
  const std::uint64_t count = block_size < kChunk ? kChunk / block_size : 1;
  void* const place = base::resize(nullptr, sizeof(Chunk) + count * sizeof(Node));
  if (place == nullptr) {
    return error(StatusCode::kResourceExhausted, "no memory to keep {} blocks of {} bytes", count,
                 block_size);
  }
  auto* const chunk = ::new (place) Chunk{.pool = this,
                                          .memory = std::move(memory),
                                          .next = nullptr,
                                          .size_class = size_class,
                                          .block_size = block_size};
  Node* const nodes = chunk->nodes();
  for (std::uint64_t i = 0; i < count; ++i) {
    ::new (static_cast<void*>(nodes + i)) Node{chunk, i + 1 < count ? nodes + i + 1 : nullptr};
  }
  if (count != 1) {
    base::LockGuard lock(size_class->mutex);
    chunk->next = std::exchange(size_class->chunks, chunk);
    nodes[count - 1].next = std::exchange(size_class->free, nodes + 1);
    size_class->free_count += count - 1;
  }
  retain();
  return HostBlock(nodes);
}

void HostBlocks::give_back(Node* node) noexcept {
  Chunk* const chunk = node->chunk;
  bool keep = false;
  if (SizeClass* const size_class = chunk->size_class) {
    base::LockGuard lock(size_class->mutex);
    keep = chunk->block_size < kChunk || size_class->free_count < kMaxFreeBytes / chunk->block_size;
    if (keep) {
      node->next = std::exchange(size_class->free, node);
      ++size_class->free_count;
    }
  }
  if (!keep) free(chunk);
  release();
}

HostBlock::~HostBlock() {
  if (node_ != nullptr) node_->chunk->pool->give_back(node_);
}

std::uint64_t HostBlock::size() const noexcept { return node_->chunk->block_size; }
Memory& HostBlock::memory() const noexcept { return *node_->chunk->memory; }
std::uint64_t HostBlock::offset() const noexcept {
  return static_cast<std::uint64_t>(node_ - node_->chunk->nodes()) * size();
}

}  // namespace halyard::inline v0::hal
