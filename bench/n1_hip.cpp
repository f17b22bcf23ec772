// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// N1 to N6 of hip://.
#include "hip_arms.h"
#include "stream_rows.h"

namespace halyard::bench {

std::vector<Row> hip_rows() { return stream_rows<RawHip>(".hip"); }

}  // namespace halyard::bench
