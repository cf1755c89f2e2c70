#include "ops/families.h"

namespace gyre {

#define IMAGE_OPS(X)                                                           \
  X(Adjust)                                                                    \
  X(ColorSpace)                                                                \
  X(CombinedNonMaxSuppression)                                                 \
  X(CropAndResize) X(DrawBoundingBoxes) X(ExtractPatches) X(NonMaxSuppression) \
      X(ProjectiveTransform) X(Resize) X(ResizeNearest) X(SampleBoundingBox) X(ScaleAndTranslate)

GYRE_DEFINE_FAMILY(Image, IMAGE_OPS)

}  // namespace gyre
