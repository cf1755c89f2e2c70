#include "grad/random_programs/distribution.h"

namespace gyre::testing {
namespace {

constexpr int kOpsPerSize = 100;

template <typename Key>
void PrintRow(std::ostream& out, const std::string& what, const std::map<Key, int>& counts) {
  out << "  " << what << ":";
  for (const auto& [key, count] : counts) out << "  " << key << " × " << count;
  out << "\n";
}

}  // namespace

void Distribution::AddProgram(const Trace& trace) {
  ++programs_;
  if (trace.data_dependent_loops > 0) ++data_dependent_;
  for (const int iterations : trace.iterations) ++iterations_[iterations];
  ++depths_[trace.deepest];
  ++sizes_[trace.num_ops / kOpsPerSize * kOpsPerSize];
  for (const std::string& op : trace.ops) ++statements_[op];
}

double Distribution::ShareOfDataDependent() const {
  return programs_ == 0 ? 0 : static_cast<double>(data_dependent_) / programs_;
}

void Distribution::Print(std::ostream& out) const {
  out << programs_ << " programs, " << data_dependent_
      << " of them with a number of iterations that depends on data\n";
  PrintRow(out, "loops run, by iterations", iterations_);
  PrintRow(out, "programs, by blocks and calls around the innermost statement", depths_);
  PrintRow(out, "programs, by ops run (from …)", sizes_);
  PrintRow(out, "programs that run an op", statements_);
  PrintRow(out, "programs not used", unfit_);
}

}  // namespace gyre::testing
