#include "ops/families.h"

namespace gyre {

#define TEXT_OPS(X)                                                                               \
  X(Abort)                                                                                        \
  X(AsString)                                                                                     \
  X(Assert)                                                                                       \
  X(Base64)                                                                                       \
  X(HashBucket)                                                                                   \
  X(HostCalls)                                                                                    \
  X(RegexFullMatch)                                                                               \
  X(RegexReplace)                                                                                 \
  X(Ngrams)                                                                                       \
  X(Print)                                                                                        \
  X(PrintV2) X(ReduceJoin) X(StringCase) X(StringFormat) X(StringJoin) X(StringLength)            \
      X(StringSplit) X(StringStrip) X(StringToNumber) X(Substr) X(UnicodeDecode) X(UnicodeEncode) \
          X(UnicodeScript)

GYRE_DEFINE_FAMILY(Text, TEXT_OPS)

}  // namespace gyre
