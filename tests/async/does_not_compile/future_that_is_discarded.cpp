// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// error: a future does nothing until it is awaited
#include "halyard/async.h"

using namespace halyard::async;

void f(QueueRef queue) { ones<float>({4}) | on(queue); }
