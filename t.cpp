#include <halyard/async.h>
#include <halyard/halyard.h>
#include <vector>
using namespace halyard; using namespace halyard::async;
Task<> f(){ auto x = co_await (ones<float>({4}) | on("cpu://")); }
