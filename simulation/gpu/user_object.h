// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// User objects: resources that the nodes of graphs use. A user object ends when neither the program
// nor a graph, an executable graph or a launch refers to it. The State is locked.
#pragma once

#include "simulation/gpu/graph.h"

namespace halyard::inline v0::sim::gpu {

Result create_user_object(UserObject* object, void* data, HostFunction destroy, unsigned references,
                          unsigned flags);
Result retain_user_object(UserObject handle, unsigned count);
Result release_user_object(UserObject handle, unsigned count);
Result retain_in_graph(Graph graph_handle, UserObject handle, unsigned count, unsigned flags);
Result release_in_graph(Graph graph_handle, UserObject handle, unsigned count);

}  // namespace halyard::inline v0::sim::gpu
