#include "cli/print_tensor.h"

#include "tensor/format.h"

namespace gyre::cli {
namespace {

// Tensors of more elements are printed abridged, with this many entries at both ends of each
// dimension.
constexpr int64_t kMostElements = 1000;
constexpr int64_t kEdgeEntries = 3;

}  // namespace

void PrintTensor(absl::string_view name, const Tensor& tensor, std::ostream& out) {
  const int64_t summarize = tensor.num_elements() > kMostElements ? kEdgeEntries : -1;
  out << name << " " << DTypeName(tensor.dtype()) << tensor.shape().ToString() << " ="
      << (tensor.rank() > 1 ? "\n" : " ") << FormatTensor(tensor, summarize, TensorFormat::kNested)
      << "\n";
}

}  // namespace gyre::cli
