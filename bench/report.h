// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table, the details below it, and the JSON file.
#pragma once

#include <string>
#include <vector>

#include "harness.h"
#include "machine.h"

namespace halyard::bench {

std::string table_head();
std::string table_line(const RowResult& row);
// All arms and metrics of a row.
std::string details(const RowResult& row);

// Writes everything, with the raw samples. Throws if the file cannot be written.
void write_json(const std::string& path, const Machine& machine,
                const std::vector<RowResult>& rows);

}  // namespace halyard::bench
