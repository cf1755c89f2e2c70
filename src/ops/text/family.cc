#include "ops/families.h"

namespace gyre {

#define TEXT_OPS(X) \
  X(Abort)          \
  X(AsString)       \
  X(Assert)         \
  X(HostCalls)      \
  X(RegexFullMatch) \
  X(RegexReplace)   \
  X(Print) X(PrintV2) X(StringCase) X(StringFormat) X(StringJoin) X(StringLength) X(StringToNumber)

GYRE_DEFINE_FAMILY(Text, TEXT_OPS)

}  // namespace gyre
