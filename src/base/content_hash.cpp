// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/content_hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace halyard::inline v0::base {

ContentHash content_hash(std::initializer_list<std::string_view> parts) noexcept {
  XXH3_state_t state;
  XXH3_128bits_reset(&state);
  for (const std::string_view part : parts) {
    const std::uint64_t size = part.size();
    XXH3_128bits_update(&state, &size, sizeof size);
    XXH3_128bits_update(&state, part.data(), part.size());
  }
  const XXH128_hash_t hash = XXH3_128bits_digest(&state);
  return {hash.high64, hash.low64};
}

}  // namespace halyard::inline v0::base
