// Guessing which name was meant.
#include "base/suggest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gyre {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Suggest, CountsEdits) {
  EXPECT_EQ(EditDistance("", "abc"), 3);
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3);
  EXPECT_EQ(EditDistance("fecth", "fetch"), 1);
  EXPECT_EQ(EditDistance("same", "same"), 0);
}

TEST(Suggest, OffersWhatIsClose) {
  const std::vector<std::string> names = {"loss", "train/loss", "Placeholder", "x", "y"};
  EXPECT_THAT(CloseNames("los", names), ElementsAre("loss"));
  EXPECT_THAT(CloseNames("loss", {"train/loss", "gloss"}), ElementsAre("gloss", "train/loss"));
  EXPECT_THAT(CloseNames("placeholder", names), ElementsAre("Placeholder"));
  EXPECT_THAT(CloseNames("z", names), IsEmpty());
  EXPECT_EQ(DidYouMean("nothing like it", names), "");
  EXPECT_EQ(DidYouMean("lss", {"loss", "less"}), "; did you mean 'less' or 'loss'?");
}

}  // namespace
}  // namespace gyre
