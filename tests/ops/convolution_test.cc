// Conv2D, Conv3D, DepthwiseConv2dNative and their gradients, against loops over places and taps.
#include <numeric>
#include <random>

#include "gmock/gmock.h"
#include "ops/math_values.h"

namespace gyre::test {
namespace {

using ::testing::HasSubstr;
using Ints = std::vector<int64_t>;

template <typename T>
Tensor Draw(const Ints& dims, uint32_t seed) {
  std::mt19937 random(seed);
  const Shape shape = ShapeOf(dims);
  std::vector<T> values(shape.num_elements());
  for (T& value : values) value = static_cast<T>(static_cast<float>(random() % 17) - 8);
  return Tensor::FromValues<T>(values, shape);
}

struct Case {
  Ints images, filter, strides, dilations;
  std::string padding;
  Ints explicit_paddings = {};

  AttrMap Attributes(bool channels_first = false) const {
    const auto by_dim = [&](Ints spatial) {
      spatial.insert(spatial.begin(), 1);
      spatial.insert(channels_first ? spatial.begin() : spatial.end(), 1);
      return spatial;
    };
    AttrMap attrs = {{"strides", by_dim(strides)}, {"padding", padding}};
    attrs.Set("dilations", by_dim(dilations));
    if (!explicit_paddings.empty()) {
      Ints pairs = explicit_paddings;
      pairs.insert(channels_first ? pairs.begin() : pairs.end(), {0, 0});
      pairs.insert(pairs.begin(), {0, 0});
      attrs.Set("explicit_paddings", pairs);
    }
    const bool is_2d = strides.size() == 2;
    attrs.Set("data_format", std::string(channels_first ? (is_2d ? "NCHW" : "NCDHW")
                                                        : (is_2d ? "NHWC" : "NDHWC")));
    return attrs;
  }
};

// The convolution, place by place. Depthwise: one group for each channel.
std::vector<double> Loop(const Case& c, const std::vector<double>& x, const std::vector<double>& w,
                         bool is_depthwise) {
  const size_t n = c.strides.size();
  Ints out(n), before(n);
  for (size_t i = 0; i < n; ++i) {
    const int64_t reach = (c.filter[i] - 1) * c.dilations[i] + 1, size = c.images[i + 1];
    if (c.padding == "SAME") {
      out[i] = (size + c.strides[i] - 1) / c.strides[i];
      before[i] = std::max<int64_t>(0, (out[i] - 1) * c.strides[i] + reach - size) / 2;
    } else {
      const bool has = !c.explicit_paddings.empty();
      before[i] = has ? c.explicit_paddings[2 * i] : 0;
      const int64_t padded = size + before[i] + (has ? c.explicit_paddings[2 * i + 1] : 0);
      out[i] = (padded - reach) / c.strides[i] + 1;
    }
  }
  const int64_t channels = c.images[n + 1], depth = is_depthwise ? 1 : c.filter[n];
  const int64_t made = is_depthwise ? channels * c.filter[n + 1] : c.filter[n + 1];
  const int64_t groups = channels / depth, each = made / groups;
  const auto count = [](const Ints& v) {
    return std::accumulate(v.begin(), v.end(), int64_t{1}, std::multiplies<>());
  };
  const int64_t places = count(out);
  const int64_t taps = count(Ints(c.filter.begin(), c.filter.begin() + static_cast<int64_t>(n)));
  std::vector<double> y;
  for (int64_t b = 0; b < c.images[0]; ++b) {
    for (int64_t p = 0; p < places; ++p) {
      std::vector<double> sums(made);
      for (int64_t t = 0; t < taps; ++t) {
        int64_t rest_p = p, rest_t = t, pixel = 0, scale = 1;
        bool inside = true;
        for (size_t i = n; i-- > 0;) {
          const int64_t at =
              rest_p % out[i] * c.strides[i] + rest_t % c.filter[i] * c.dilations[i] - before[i];
          inside &= at >= 0 && at < c.images[i + 1];
          pixel += at * scale;
          scale *= c.images[i + 1];
          rest_p /= out[i];
          rest_t /= c.filter[i];
        }
        for (int64_t m = 0; inside && m < made; ++m) {
          for (int64_t d = 0; d < depth; ++d) {
            sums[m] += x[(b * scale + pixel) * channels + m / each * depth + d] *
                       w[(t * depth + d) * made + m];
          }
        }
      }
      y.insert(y.end(), sums.begin(), sums.end());
    }
  }
  return y;
}

std::vector<Case> Cases2D() {
  return {
      {{2, 7, 6, 3}, {3, 2, 3, 4}, {1, 1}, {1, 1}, "VALID"},
      {{2, 7, 6, 3}, {3, 3, 3, 5}, {2, 1}, {1, 1}, "SAME"},
      {{1, 9, 8, 4}, {3, 2, 4, 2}, {2, 3}, {2, 1}, "SAME"},
      {{1, 9, 8, 2}, {2, 3, 2, 3}, {1, 1}, {2, 3}, "VALID"},
      {{2, 5, 4, 2}, {3, 3, 2, 3}, {2, 2}, {1, 1}, "EXPLICIT", {1, 2, 0, 3}},
      {{2, 5, 5, 6}, {3, 3, 2, 9}, {1, 2}, {1, 1}, "SAME"},  // three groups
      {{2, 5, 4, 3}, {1, 1, 3, 7}, {1, 1}, {1, 1}, "VALID"},
      {{1, 6, 6, 3}, {2, 2, 3, 2}, {4, 3}, {1, 1}, "VALID"},     // some pixels meet no window
      {{1, 40, 37, 5}, {5, 4, 5, 3}, {1, 1}, {1, 1}, "SAME"},    // several pieces
      {{1, 6, 5, 70}, {3, 2, 70, 300}, {1, 1}, {1, 1}, "SAME"},  // in all directions
  };
}

std::vector<double> Doubles(const Tensor& t) { return Values<double>(t); }

Tensor Vector(const std::vector<int32_t>& values) {
  return Tensor::FromValues<int32_t>(values, ShapeOf({static_cast<int64_t>(values.size())}));
}

Tensor ChannelsFirst(const Tensor& t) {
  std::vector<int32_t> perm = {0, static_cast<int32_t>(t.rank() - 1)};
  for (int d = 1; d + 1 < t.rank(); ++d) perm.push_back(d);
  return Eval("Transpose", {t, Vector(perm)});
}

double Dot(const Tensor& a, const Tensor& b) {
  const std::vector<double> x = Doubles(a), y = Doubles(b);
  return std::inner_product(x.begin(), x.end(), y.begin(), 0.0);
}

Tensor SizesOf(const Tensor& t) {
  std::vector<int32_t> sizes;
  for (const int64_t d : t.shape().dims()) sizes.push_back(static_cast<int32_t>(d));
  return Vector(sizes);
}

// Values, the other format, and that the gradients are the transposes of a linear map. The numbers
// are small integers: all sums are exact.
void Check(const Case& c, const std::string& op, const std::string& by_input,
           const std::string& by_filter) {
  const bool is_depthwise = op == "DepthwiseConv2dNative";
  const Tensor x = Draw<double>(c.images, 1), w = Draw<double>(c.filter, 2);
  const AttrMap attrs = c.Attributes();
  const Tensor y = Eval(op, {x, w}, attrs);
  ASSERT_EQ(Doubles(y), Loop(c, Doubles(x), Doubles(w), is_depthwise));
  const AttrMap first = c.Attributes(/*channels_first=*/true);
  EXPECT_EQ(Doubles(Eval(op, {ChannelsFirst(x), w}, first)), Doubles(ChannelsFirst(y)));

  Ints dims(y.shape().dims().begin(), y.shape().dims().end());
  const Tensor g = Draw<double>(dims, 3);
  const Tensor dx = Eval(by_input, {SizesOf(x), w, g}, attrs);
  const Tensor dw = Eval(by_filter, {x, SizesOf(w), g}, attrs);
  ASSERT_EQ(dx.shape(), x.shape());
  ASSERT_EQ(dw.shape(), w.shape());
  const Tensor other_x = Draw<double>(c.images, 4), other_w = Draw<double>(c.filter, 5);
  EXPECT_EQ(Dot(dx, other_x), Dot(g, Eval(op, {other_x, w}, attrs)));
  EXPECT_EQ(Dot(dw, other_w), Dot(g, Eval(op, {x, other_w}, attrs)));
  const Tensor x1 = ChannelsFirst(x), g1 = ChannelsFirst(g);
  EXPECT_EQ(Doubles(Eval(by_input, {SizesOf(x1), w, g1}, first)), Doubles(ChannelsFirst(dx)));
  EXPECT_EQ(Doubles(Eval(by_filter, {x1, SizesOf(w), g1}, first)), Doubles(dw));
}

TEST(Conv2D, IsALoopOverPlacesAndTaps) {
  for (const Case& c : Cases2D()) {
    SCOPED_TRACE(c.padding + ::testing::PrintToString(c.images));
    Check(c, "Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter");
  }
}

TEST(Conv3D, IsALoopOverPlacesAndTaps) {
  const std::vector<Case> cases = {
      {{2, 4, 5, 6, 2}, {2, 3, 2, 2, 3}, {1, 1, 1}, {1, 1, 1}, "VALID"},
      {{1, 5, 4, 7, 4}, {3, 2, 3, 2, 4}, {2, 1, 2}, {1, 2, 1}, "SAME"},
  };
  for (const Case& c : cases) Check(c, "Conv3D", "Conv3DBackpropInputV2", "Conv3DBackpropFilterV2");
}

TEST(DepthwiseConv2d, HasFiltersForEachChannel) {
  const std::vector<Case> cases = {
      {{2, 6, 5, 3}, {3, 2, 3, 1}, {1, 1}, {1, 1}, "SAME"},
      {{2, 6, 5, 3}, {3, 3, 3, 2}, {2, 2}, {1, 1}, "SAME"},
      {{1, 9, 8, 70}, {2, 3, 70, 1}, {1, 1}, {2, 2}, "VALID"},
      {{1, 5, 5, 2}, {3, 3, 2, 3}, {2, 1}, {1, 1}, "EXPLICIT", {2, 1, 0, 1}},
      {{1, 6, 6, 1}, {2, 2, 1, 4}, {1, 1}, {1, 1}, "VALID"},
      {{1, 20, 20, 2}, {9, 9, 2, 1}, {1, 1}, {1, 1}, "SAME"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.padding + ::testing::PrintToString(c.images));
    Check(c, "DepthwiseConv2dNative", "DepthwiseConv2dNativeBackpropInput",
          "DepthwiseConv2dNativeBackpropFilter");
  }
}

template <typename T>
std::vector<double> InType(const Case& c) {
  const Tensor y = Eval("Conv2D", {Draw<T>(c.images, 1), Draw<T>(c.filter, 2)}, c.Attributes());
  std::vector<double> values;
  for (const T value : Values<T>(y)) {
    if constexpr (std::is_same_v<T, int32_t>) {
      values.push_back(value);
    } else {
      values.push_back(static_cast<float>(value));
    }
  }
  return values;
}

TEST(Conv2D, OtherTypes) {
  for (const Case& c : Cases2D()) {
    const std::vector<double> wanted =
        Loop(c, Doubles(Draw<double>(c.images, 1)), Doubles(Draw<double>(c.filter, 2)), false);
    EXPECT_EQ(InType<int32_t>(c), wanted);
    EXPECT_EQ(InType<float>(c), wanted);  // sums are below 2^24
    if (c.images[3] > 8) continue;
    EXPECT_EQ(InType<Half>(c), wanted);  // … and below 2^11
    EXPECT_THAT(InType<BFloat16>(c),
                ::testing::Pointwise(::testing::DoubleNear(4), wanted));  // 8 bits of 2000
  }
}

TEST(Conv2D, OfNothing) {
  const Case empty = {{0, 5, 5, 2}, {3, 3, 2, 4}, {1, 1}, {1, 1}, "VALID"};
  const Tensor x = Draw<float>(empty.images, 1), w = Draw<float>(empty.filter, 2);
  const Tensor y = Eval("Conv2D", {x, w}, empty.Attributes());
  EXPECT_EQ(y.shape(), ShapeOf({0, 3, 3, 4}));
  const Tensor dw = Eval("Conv2DBackpropFilter", {x, SizesOf(w), y}, empty.Attributes());
  EXPECT_EQ(Values<float>(dw), std::vector<float>(3 * 3 * 2 * 4));
  // A window that is too large by less than a stride has no place.
  const Case small = {{1, 2, 3, 1}, {3, 3, 1, 1}, {2, 1}, {1, 1}, "VALID"};
  EXPECT_EQ(Eval("Conv2D", {Draw<float>(small.images, 1), Draw<float>(small.filter, 2)},
                 small.Attributes())
                .shape(),
            ShapeOf({1, 0, 1, 1}));
}

TEST(Conv2D, SaysWhatDoesNotFit) {
  const auto error = [](const Case& c) {
    return Message(
        EvalError("Conv2D", {Draw<float>(c.images, 1), Draw<float>(c.filter, 2)}, c.Attributes()));
  };
  EXPECT_THAT(error({{1, 5, 5, 3}, {3, 3, 2, 4}, {1, 1}, {1, 1}, "SAME"}),
              HasSubstr("the channels of input, 3, must be a multiple of those of the filter, 2"));
  EXPECT_THAT(error({{1, 5, 5, 4}, {3, 3, 2, 3}, {1, 1}, {1, 1}, "SAME"}),
              HasSubstr("do not fall into 2 groups"));
  EXPECT_THAT(error({{1, 3, 3, 1}, {5, 5, 1, 1}, {1, 1}, {1, 1}, "VALID"}),
              HasSubstr("a window of 5 with dilation 1 is larger than spatial dimension 0"));
  EXPECT_THAT(error({{1, 3, 3, 1}, {2, 2, 1, 1}, {0, 1}, {1, 1}, "VALID"}),
              HasSubstr("strides must be positive"));
  EXPECT_THAT(error({{1, 3, 3, 1}, {0, 2, 1, 1}, {1, 1}, {1, 1}, "VALID"}),
              HasSubstr("filter must not be empty"));
}

TEST(Conv2DBackpropInput, TakesSpatialSizesAlone) {
  const Case c = {{2, 6, 5, 3}, {3, 3, 3, 2}, {2, 2}, {1, 1}, "SAME"};
  const Tensor w = Draw<float>(c.filter, 2), g = Draw<float>({2, 3, 3, 2}, 3);
  EXPECT_EQ(Values<float>(Eval("Conv2DBackpropInput", {Tensor::Vector<int32_t>({6, 5}), w, g},
                               c.Attributes())),
            Values<float>(Eval("Conv2DBackpropInput", {Tensor::Vector<int32_t>({2, 6, 5, 3}), w, g},
                               c.Attributes())));
  EXPECT_THAT(Message(EvalError("Conv2DBackpropInput",
                                {Tensor::Vector<int32_t>({2, 7, 5, 3}), w, g}, c.Attributes())),
              HasSubstr("out_backprop must have the shape of the result, [2,4,3,2]"));
}

}  // namespace
}  // namespace gyre::test
