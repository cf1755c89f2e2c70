// Special functions: values of TensorFlow 2.21 and of SciPy 1.15.
#include <cmath>
#include <limits>

#include "gmock/gmock.h"
#include "ops/math_values.h"

namespace gyre::test {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Case {
  absl::string_view op;
  std::vector<double> inputs;
  double value;
};

// SciPy's, to 16 digits.
std::vector<Case> Cases() {
  return {
      {"Lgamma", {0.3}, 1.0957979948180756},
      {"Lgamma", {5.5}, 3.9578139676187165},
      {"Lgamma", {-0.7}, 1.4524729387568076},
      {"Lgamma", {1e-05}, 11.512919692895826},
      {"Lgamma", {30.0}, 71.257038967168},
      {"Digamma", {0.3}, -3.502524222200133},
      {"Digamma", {5.5}, 1.611093148581751},
      {"Digamma", {-0.7}, -2.073952793628703},
      {"Digamma", {30.0}, 3.384438132685525},
      {"Polygamma", {1.0, 0.4}, 7.275356590529597},
      {"Polygamma", {2.0, 3.3}, -0.12375118526494273},
      {"Polygamma", {3.0, 0.8}, 15.37089207048274},
      {"Polygamma", {0.0, 2.0}, 0.42278433509846713},
      {"Zeta", {2.0, 1.0}, 1.6449340668482266},
      {"Zeta", {1.5, 0.3}, 8.237761671459724},
      {"Zeta", {3.0, 4.5}, 0.030778410660513848},
      {"Igamma", {0.5, 0.2}, 0.47291074313446196},
      {"Igammac", {0.5, 0.2}, 0.5270892568655381},
      {"Igamma", {3.0, 2.0}, 0.32332358381693654},
      {"Igammac", {3.0, 2.0}, 0.6766764161830634},
      {"Igamma", {10.0, 12.0}, 0.7576078383294875},
      {"Igammac", {10.0, 12.0}, 0.24239216167051245},
      {"Igamma", {100.0, 80.0}, 0.0171083130351331},
      {"Igammac", {100.0, 80.0}, 0.9828916869648668},
      {"Betainc", {0.5, 2.0, 0.3}, 0.7394254526319747},
      {"Betainc", {3.0, 4.0, 0.6}, 0.8208},
      {"Betainc", {20.0, 0.7, 0.9}, 0.0688851269955834},
      {"Erfinv", {0.2}, 0.1791434546212917},
      {"Erfinv", {-0.9}, -1.1630871536766743},
      {"Erfinv", {0.001}, 0.000886227157466552},
      {"Erfinv", {0.9375}, 1.3171503349861307},
      {"Ndtri", {0.2}, -0.8416212335729142},
      {"Ndtri", {0.5}, 0.0},
      {"Ndtri", {0.999}, 3.090232306167813},
      {"Ndtri", {0.0001}, -3.7190164854556804},
      {"BesselI0", {0.4}, 1.0404017822293414},
      {"BesselI0", {-3.0}, 4.880792585865024},
      {"BesselI0", {12.0}, 18948.92534929631},
      {"BesselI0e", {0.4}, 0.6974021705595334},
      {"BesselI0e", {-3.0}, 0.24300035416182536},
      {"BesselI0e", {12.0}, 0.11642622121344044},
      {"BesselI1", {0.4}, 0.2040267557335706},
      {"BesselI1", {-3.0}, -3.9533702174026093},
      {"BesselI1", {12.0}, 18141.348781638833},
      {"BesselI1e", {0.4}, 0.13676322429582918},
      {"BesselI1e", {-3.0}, -0.19682671329730084},
      {"BesselI1e", {12.0}, 0.111464299290181},
      {"BesselJ0", {0.4}, 0.9603982266595634},
      {"BesselJ0", {-3.0}, -0.2600519549019335},
      {"BesselJ0", {12.0}, 0.04768931079683335},
      {"BesselJ1", {0.4}, 0.19602657795531878},
      {"BesselJ1", {-3.0}, -0.33905895852593654},
      {"BesselJ1", {12.0}, -0.2234471044906276},
      {"BesselK0", {0.4}, 1.1145291345244348},
      {"BesselK0", {3.0}, 0.03473950438627925},
      {"BesselK0", {12.0}, 2.2008253973114916e-06},
      {"BesselK0e", {0.4}, 1.6626820891243017},
      {"BesselK0e", {3.0}, 0.6977615980438517},
      {"BesselK0e", {12.0}, 0.3581948784890782},
      {"BesselK1", {0.4}, 2.184354424732687},
      {"BesselK1", {3.0}, 0.04015643112819419},
      {"BesselK1", {12.0}, 2.290757464767188e-06},
      {"BesselK1e", {0.4}, 3.258673879218212},
      {"BesselK1e", {3.0}, 0.806563480128787},
      {"BesselK1e", {12.0}, 0.3728317533697099},
      {"BesselY0", {0.4}, -0.6060245684270096},
      {"BesselY0", {3.0}, 0.3768500100127906},
      {"BesselY0", {12.0}, -0.2252373126343615},
      {"BesselY1", {0.4}, -1.7808720442700516},
      {"BesselY1", {3.0}, 0.3246744247918001},
      {"BesselY1", {12.0}, -0.057099218260896756},
      {"Dawsn", {0.1}, 0.0993359923978529},
      {"Dawsn", {0.7}, 0.5105040575592318},
      {"Dawsn", {-2.0}, -0.301340388923792},
      {"Dawsn", {7.0}, 0.0721809746582363},
      {"Dawsn", {40.0}, 0.012503909917843958},
      {"Dawsn", {80.0}, 0.006250488395735646},
      {"Expint", {0.1}, -1.6228128139692766},
      {"Expint", {1.0}, 1.895117816355937},
      {"Expint", {7.0}, 191.5047433355014},
      {"Expint", {41.0}, 1.6006649143244784e+16},
      {"Expint", {-0.5}, kNan},
      {"Spence", {0.0}, 1.6449340668482264},
      {"Spence", {0.1}, 1.2997147230049588},
      {"Spence", {0.6}, 0.44928297447128196},
      {"Spence", {1.0}, 0.0},
      {"Spence", {1.5}, -0.4484142069236462},
      {"Spence", {30.0}, -7.280084707384272},
      {"FresnelSin", {0.3}, 0.014116998006576587},
      {"FresnelCos", {0.3}, 0.2994009760520472},
      {"FresnelSin", {-1.2}, -0.6234009185462498},
      {"FresnelCos", {-1.2}, -0.7154377229230735},
      {"FresnelSin", {1.7}, 0.5491959403215686},
      {"FresnelCos", {1.7}, 0.32382687600390025},
      {"FresnelSin", {4.0}, 0.42051575424692844},
      {"FresnelCos", {4.0}, 0.4984260330381776},
      {"FresnelSin", {30.0}, 0.4893896744421938},
      {"FresnelCos", {30.0}, 0.4999962473706099},
  };
}

TEST(Special, Values) {
  for (const Case& c : Cases()) {
    std::vector<Tensor> doubles, floats;
    std::string call(c.op);
    for (const double x : c.inputs) {
      doubles.push_back(Tensor::Scalar<double>(x));
      floats.push_back(Tensor::Scalar<float>(static_cast<float>(x)));
      call += " " + std::to_string(x);
    }
    const double got = Values<double>(Eval(c.op, doubles))[0];
    if (std::isnan(c.value)) {
      EXPECT_TRUE(std::isnan(got)) << call << ": " << got;
    } else if (std::isinf(c.value)) {
      EXPECT_EQ(got, c.value) << call;
    } else {
      EXPECT_NEAR(got, c.value, 2e-13 * std::max(1.0, std::abs(c.value))) << call;
      const double narrow = Values<float>(Eval(c.op, floats))[0];
      EXPECT_NEAR(narrow, c.value, 4e-6 * std::max(1.0, std::abs(c.value))) << call;
    }
  }
}

// They end, whatever they are given.
TEST(Special, HostileNumbers) {
  const std::vector<double> numbers = {0,           -0.0,  1,      -1,     0.5,       -0.5,
                                       1e-320,      1e300, -1e300, kNan,   kInfinity, -kInfinity,
                                       -1e15 + 0.5, 1e15,  170.5,  -170.5, 3e8,       -3e8};
  const int64_t n = static_cast<int64_t>(numbers.size());
  const Tensor x = Tensor::FromValues<double>(numbers, ShapeOf({n}));
  const Tensor column = Tensor::FromValues<double>(numbers, ShapeOf({n, 1}));
  for (const absl::string_view op :
       {"Lgamma",    "Digamma",  "Erfinv",   "Ndtri",     "BesselI0",   "BesselI1",   "BesselI0e",
        "BesselI1e", "BesselK0", "BesselK1", "BesselK0e", "BesselK1e",  "BesselJ0",   "BesselJ1",
        "BesselY0",  "BesselY1", "Dawsn",    "Expint",    "FresnelCos", "FresnelSin", "Spence"}) {
    EXPECT_EQ(Eval(op, {x}).shape(), ShapeOf({n}));
    EXPECT_EQ(Eval(op, {Eval("Cast", {x}, Attrs({{"DstT", DType::kFloat}}))}).shape(),
              ShapeOf({n}));
  }
  for (const absl::string_view op : {"Zeta", "Polygamma", "Igamma", "Igammac", "IgammaGradA",
                                     "RandomGammaGrad", "NextAfter", "Xlogy", "Xdivy", "Xlog1py"})
    EXPECT_EQ(Eval(op, {x, column}).shape(), ShapeOf({n, n}));
  for (const double a : numbers) {
    for (const double b : numbers)
      EXPECT_EQ(Eval("Betainc", {Tensor::Scalar<double>(a), Tensor::Scalar<double>(b), x}).shape(),
                ShapeOf({n}));
  }
}

}  // namespace
}  // namespace gyre::test
