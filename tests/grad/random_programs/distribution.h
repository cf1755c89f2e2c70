// What random programs were like, as a table for people. Plain data.
#pragma once

#include <map>
#include <ostream>
#include <string>

#include "grad/random_programs/unrolled.h"

namespace gyre::testing {

class Distribution {
 public:
  void AddProgram(const Trace& trace);
  void AddUnfit(const std::string& why) { ++unfit_[why]; }

  // Of the programs that have been added: with a loop whose number of iterations depends on data.
  double ShareOfDataDependent() const;
  void Print(std::ostream& out) const;

 private:
  int programs_ = 0;
  int data_dependent_ = 0;
  std::map<int, int> iterations_;          // loops run, by number of iterations
  std::map<int, int> depths_;              // programs, by how deep they nest
  std::map<int, int> sizes_;               // programs, by hundreds of ops run
  std::map<std::string, int> statements_;  // programs that run an op, by op
  std::map<std::string, int> unfit_;       // programs that were not used, by reason
};

}  // namespace gyre::testing
