// Both dialects of the API, from installed headers alone: a graph from memory runs, is stopped, and
// is fed what it does not take.
#include <cstdio>

#include "gyre/core/session.h"
#include "gyre/gyre.h"

constexpr char kGraph[] = R"(graph {
  %x = Placeholder() dtype=float32 shape=(2) : float32
  %y = Square(%x) : float32
})";

int main() {
  const auto session = gyre::Session::LoadFromMemory(kGraph);
  if (!session.ok()) return 1;
  gyre::Cancellation cancellation;
  const gyre::RunOptions options{.cancellation = &cancellation};
  const auto y = (*session)->Run({{"x", {1, 2}}}, {"y"}, {}, options);
  if (!y.ok()) return 2;
  const gyre::Tensor& squares = (*y)[0];
  std::printf("core: %s%s %s\n", gyre::to_string(squares.dtype()).c_str(),
              gyre::to_string(squares.shape()).c_str(), gyre::to_string(squares).c_str());
  cancellation.Cancel();
  const auto stopped = (*session)->Run({{"x", {1, 2}}}, {"y"}, {}, options);
  std::printf("core: %s\n", gyre::to_string(stopped.status().code()).c_str());

  const gyre::Model model = gyre::Model::load_from_memory(kGraph);
  std::printf("gyre: %s\n", gyre::to_string(model.run({{"x", {3, 4}}}, {"y"})[0]).c_str());
  try {
    model.run({{"x", 3}}, {"y"});
  } catch (const gyre::Error& error) {
    std::printf("gyre: %s\n", gyre::to_string(error.code()).c_str());
  }
  try {
    (void)squares.values<int>();
  } catch (const gyre::BadTensorAccess& error) {
    std::printf("gyre: %s\n", error.what());
  }
  return 0;
}
