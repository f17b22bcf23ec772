// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// N1 to N6 of cuda://.
#include "cuda_arms.h"
#include "stream_rows.h"

namespace halyard::bench {

std::vector<Row> cuda_rows() { return stream_rows<RawCuda>(""); }

}  // namespace halyard::bench
