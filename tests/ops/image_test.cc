// Images, boxes and sequences: what the Python tests beside TensorFlow's numbers do not see.
// Adjoints belong to their ops, hostile inputs are refused, and files are decoded within the
// budget.
#include <cmath>
#include <random>

#include "gmock/gmock.h"
#include "ops/math_values.h"

namespace gyre::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Tensor Drawn(std::vector<int64_t> dims, int seed) {
  const Shape shape = ShapeOf(std::move(dims));
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> draw(-1, 1);
  std::vector<float> values(shape.num_elements());
  for (float& value : values) value = draw(generator);
  return Tensor::FromValues<float>(values, shape);
}

Tensor Ints(std::vector<int32_t> values) {
  const auto n = static_cast<int64_t>(values.size());
  return Tensor::FromValues<int32_t>(values, ShapeOf({n}));
}

double Product(const Tensor& a, const Tensor& b) {
  EXPECT_EQ(a.shape(), b.shape());
  double sum = 0;
  for (int64_t i = 0; i < a.num_elements(); ++i)
    sum += double{a.values<float>()[i]} * double{b.values<float>()[i]};
  return sum;
}

std::string ErrorOf(absl::string_view op, std::vector<Tensor> inputs, AttrMap attrs = {}) {
  return Message(EvalError(op, std::move(inputs), std::move(attrs)));
}

// <f(x), y> = <x, f*(y)>.
TEST(Resize, GradientsAreAdjoints) {
  const Tensor x = Drawn({2, 5, 7, 3}, 1);
  for (const auto& [height, width] : {std::pair{8, 3}, {2, 20}, {5, 7}, {1, 1}}) {
    const Tensor y = Drawn({2, height, width, 3}, 2);
    for (const std::string op : {"ResizeBilinear", "ResizeBicubic"}) {
      for (int kind = 0; kind < 3; ++kind) {
        const AttrMap attrs =
            Attrs({{"align_corners", kind == 1}, {"half_pixel_centers", kind == 2}});
        const Tensor fx = Eval(op, {x, Ints({height, width})}, attrs);
        const Tensor back = Eval(op + "Grad", {y, x}, attrs);
        EXPECT_NEAR(Product(fx, y), Product(x, back), 1e-4) << op << kind << height;
      }
    }
    const AttrMap half = Attrs({{"half_pixel_centers", true}});
    const Tensor near = Eval("ResizeNearestNeighbor", {x, Ints({height, width})}, half);
    const Tensor back = Eval("ResizeNearestNeighborGrad", {y, Ints({5, 7})}, half);
    EXPECT_NEAR(Product(near, y), Product(x, back), 1e-4);
  }
}

TEST(ScaleAndTranslate, GradientIsTheAdjoint) {
  const Tensor x = Drawn({1, 9, 6, 2}, 3), y = Drawn({1, 4, 11, 2}, 4);
  const Tensor scale = Tensor::Vector<float>({0.5f, 1.7f});
  const Tensor shift = Tensor::Vector<float>({0.3f, -1.2f});
  for (const std::string kernel : {"lanczos1", "lanczos3", "lanczos5", "gaussian", "box",
                                   "triangle", "keyscubic", "mitchellcubic"}) {
    for (const bool antialias : {false, true}) {
      const AttrMap attrs = Attrs({{"kernel_type", kernel}, {"antialias", antialias}});
      const Tensor fx = Eval("ScaleAndTranslate", {x, Ints({4, 11}), scale, shift}, attrs);
      const Tensor back = Eval("ScaleAndTranslateGrad", {y, x, scale, shift}, attrs);
      EXPECT_NEAR(Product(fx, y), Product(x, back), 1e-4) << kernel << antialias;
    }
  }
}

TEST(Resize, RefusesWhatIsNoImage) {
  const Tensor x = Drawn({1, 2, 2, 1}, 1);
  EXPECT_THAT(ErrorOf("ResizeBilinear", {x, Ints({0, 2})}), HasSubstr("positive"));
  EXPECT_THAT(ErrorOf("ResizeBilinear", {Drawn({2, 2}, 1), Ints({1, 2})}),
              HasSubstr("4-dimensional"));
  EXPECT_THAT(ErrorOf("ResizeBicubic", {Drawn({1, 0, 2, 1}, 1), Ints({1, 2})}),
              HasSubstr("at least one row"));
  const std::string both = ErrorOf("ResizeBilinear", {x, Ints({2, 2})},
                                   Attrs({{"align_corners", true}, {"half_pixel_centers", true}}));
  EXPECT_THAT(both, HasSubstr("align_corners must be False"));
  // Nothing to make, however large.
  const Tensor none = Drawn({0, 2, 2, 1}, 1);
  EXPECT_EQ(Eval("ResizeBilinear", {none, Ints({2147483647, 2147483647})}).num_elements(), 0);
  const Tensor tiny = Tensor::Vector<float>({1e-38f, 1e-38f});
  Eval("ScaleAndTranslate", {x, Ints({3, 3}), tiny, Tensor::Vector<float>({0, NAN})});
}

TEST(CropAndResize, RefusesBoxesOfOtherImages) {
  const Tensor x = Drawn({2, 4, 4, 1}, 1);
  const Tensor box = Tensor::FromValues<float>(std::vector<float>{0, 0, 1, 1}, ShapeOf({1, 4}));
  const Tensor nan = Tensor::FromValues<float>(std::vector<float>{0, NAN, 1, 1}, ShapeOf({1, 4}));
  EXPECT_EQ(EvalError("CropAndResize", {x, box, Ints({2}), Ints({2, 2})}).code(),
            absl::StatusCode::kOutOfRange);
  EXPECT_THAT(ErrorOf("CropAndResize", {x, nan, Ints({1}), Ints({2, 2})}), HasSubstr("not finite"));
}

TEST(NonMaxSuppression, EqualScoresAreTakenInOrder) {
  const Tensor boxes = Tensor::FromValues<float>(
      std::vector<float>{0, 0, 1, 1, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 4, 4}, ShapeOf({4, 4}));
  const Tensor scores = Tensor::Vector<float>({1, 1, 1, 1});
  const Tensor ten = Tensor::Scalar<int32_t>(10);
  EXPECT_THAT(Values<int32_t>(Eval("NonMaxSuppression", {boxes, scores, ten})),
              ElementsAre(0, 2, 3));
  const Tensor half = Tensor::Scalar<float>(0.5f);
  const auto padded =
      EvaluateOp("NonMaxSuppressionV4",
                 {boxes, scores, Tensor::Scalar<int32_t>(5), half, Tensor::Scalar<float>(0)},
                 Attrs({{"pad_to_max_output_size", true}}));
  ASSERT_TRUE(padded.ok()) << padded.status();
  EXPECT_THAT(Values<int32_t>((*padded)[0]), ElementsAre(0, 2, 3, 0, 0));
  EXPECT_EQ((*padded)[1].scalar<int32_t>(), 3);
  EXPECT_THAT(ErrorOf("NonMaxSuppressionV2", {boxes, scores, ten, Tensor::Scalar<float>(1.5f)}),
              HasSubstr("iou_threshold"));
}

TEST(Codec, FilesAreWhatTheyWere) {
  std::vector<uint8_t> bytes(6 * 5 * 3);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 37);
  const Tensor image = Tensor::FromValues<uint8_t>(bytes, ShapeOf({6, 5, 3}));
  const Tensor file = Eval("EncodePng", {image});
  EXPECT_EQ(Values<uint8_t>(Eval("DecodePng", {file})), bytes);
  EXPECT_EQ(Values<uint8_t>(Eval("DecodeImage", {file})), bytes);
  const Tensor jpeg = Eval("EncodeJpeg", {image});
  EXPECT_EQ(Eval("DecodeJpeg", {jpeg}).shape(), image.shape());
  EXPECT_THAT(Values<int32_t>(Eval("ExtractJpegShape", {jpeg})), ElementsAre(6, 5, 3));
  EXPECT_THAT(ErrorOf("DecodeBmp", {file}), HasSubstr("PNG"));
}

// Bytes that have been changed give an error or an image, and nothing else.
TEST(Codec, ChangedFilesAreRefusedOrDecoded) {
  std::vector<uint8_t> bytes(8 * 8 * 3);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 11);
  const Tensor image = Tensor::FromValues<uint8_t>(bytes, ShapeOf({8, 8, 3}));
  const std::vector<std::string> files = {
      Eval("EncodePng", {image}).scalar<std::string>(),
      Eval("EncodeJpeg", {image}).scalar<std::string>(),
      Eval("EncodeJpeg", {image}, Attrs({{"progressive", true}})).scalar<std::string>(),
      std::string("GIF89a\x03\0\x02\0\xa1\x03\0\xff\0\0\0\xff\0\0\0\xff\xff\xff\xff,\0\0\0\0\x03\0"
                  "\x02\0\0\x02\x04\x84\x8f)\x05\0;",
                  41),
  };
  std::mt19937 draw(7);
  int decoded = 0;
  for (int i = 0; i < 2000; ++i) {
    std::string file = files[i % files.size()];
    for (uint32_t n = draw() % 5; n > 0; --n)
      file[draw() % file.size()] = static_cast<char>(draw());
    if (draw() % 4 == 0) file.resize(draw() % file.size());
    decoded += EvaluateOp("DecodeImage", {Tensor::Scalar(file)}).ok() ? 1 : 0;
  }
  EXPECT_GT(decoded, 50);
}

TEST(Ctc, LossIsThatOfAllPaths) {
  // Two steps of evenly likely classes: of the nine pairs, those that read "0" are 00, 0_ and _0.
  const Tensor logits = Eval("ZerosLike", {Drawn({2, 1, 3}, 1)});
  const Tensor indices = Tensor::FromValues<int64_t>(std::vector<int64_t>{0, 0}, ShapeOf({1, 2}));
  const Tensor loss = Eval("CTCLoss", {logits, indices, Ints({0}), Ints({2})});
  EXPECT_NEAR(loss.values<float>()[0], -std::log(3.0 / 9), 1e-6);
  // With the blank in front, and a label that is no label there.
  const Tensor second = Eval("CTCLossV2", {logits, indices, Ints({1}), Ints({2})});
  EXPECT_NEAR(second.values<float>()[0], -std::log(3.0 / 9), 1e-6);
  EXPECT_THAT(ErrorOf("CTCLoss", {logits, indices, Ints({0}), Ints({3})}),
              HasSubstr("sequence_length[0] = 3"));
  EXPECT_THAT(ErrorOf("CTCLoss", {logits, indices, Ints({-1}), Ints({2})}), HasSubstr("negative"));
}

}  // namespace
}  // namespace gyre::test
