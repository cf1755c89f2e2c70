// CTCLoss: how unlikely labels are, given the logits of all steps of a sequence; and its gradient.
//
// Labels are written with blanks around each. alpha(t, u) is the probability of all paths that are
// at symbol u at step t, beta(t, u) that of all that go on from there; all in logarithms. Graves,
// "Supervised sequence labelling with recurrent neural networks" (2012), chapter 7.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "ir/gradient_context.h"
#include "ir/shape_context.h"
#include "ops/dispatch.h"
#include "ops/first_error.h"
#include "ops/registry.h"
#include "ops/sequence/ctc_input.h"

namespace gyre {
namespace {

using ctc::kLogZero;
using ctc::LogAdd;
using ctc::Sequences;

constexpr int64_t kPollWork = 1 << 13;  // logarithms

struct LossAttrs {
  explicit LossAttrs(const Node& node)
      : collapse(NodeAttr<bool>(node, "preprocess_collapse_repeated")),
        merge(NodeAttr<bool>(node, "ctc_merge_repeated")),
        ignore_longer(NodeAttr<bool>(node, "ignore_longer_outputs_than_inputs")),
        blank_is_first(node.op_name == "CTCLossV2") {}
  bool collapse, merge, ignore_longer;
  bool blank_is_first;
};

// The labels of each sequence, from inputs 1 and 2: a sparse matrix.
absl::StatusOr<std::vector<std::vector<int32_t>>> LabelInputs(const KernelContext& ctx,
                                                              int64_t batch) {
  const Tensor& indices = ctx.input(1);
  const Tensor& values = ctx.input(2);
  if (indices.rank() != 2 || indices.dim(1) != 2 || values.rank() != 1 ||
      values.dim(0) != indices.dim(0)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "labels_indices must be [labels, 2] and labels_values [labels], but their shapes are ",
        indices.shape().ToString(), " and ", values.shape().ToString()));
  }
  std::vector<std::vector<int32_t>> labels(batch);
  const auto at = indices.values<int64_t>();
  const auto value = values.values<int32_t>();
  for (int64_t i = 0; i < values.dim(0); ++i) {
    if (i % kPollWork == kPollWork - 1) GYRE_RETURN_IF_ERROR(ctx.Poll());
    const int64_t b = at[2 * i], place = at[2 * i + 1];
    if (b < 0 || b >= batch || place < 0) {
      return absl::InvalidArgumentError(absl::StrCat("labels_indices[", i, "] = [", b, ",", place,
                                                     "] is outside of a batch of ", batch));
    }
    if (i > 0 && (b < at[2 * i - 2] || (b == at[2 * i - 2] && place <= at[2 * i - 1]))) {
      return absl::InvalidArgumentError(
          absl::StrCat("labels_indices[", i, "] = [", b, ",", place, "] is out of order"));
    }
    labels[b].push_back(value[i]);
  }
  return labels;
}

// The labels of one sequence with blanks around each.
absl::StatusOr<std::vector<int32_t>> WithBlanks(const std::vector<int32_t>& labels, int64_t b,
                                                int64_t classes, const LossAttrs& attrs) {
  const auto blank = static_cast<int32_t>(attrs.blank_is_first ? 0 : classes - 1);
  std::vector<int32_t> symbols = {blank};
  bool ended = false;
  for (size_t i = 0; i < labels.size(); ++i) {
    const int32_t label = labels[i];
    if (i > 0 && attrs.collapse && label == labels[i - 1]) continue;
    if (label < (attrs.blank_is_first ? 1 : 0)) {
      return absl::InvalidArgumentError(
          absl::StrCat("labels of sequence ", b, " have ", label, " at ", i,
                       attrs.blank_is_first ? ": they must be positive, 0 being the blank"
                                            : ": they must not be negative"));
    }
    if (!attrs.blank_is_first && label >= classes - 1) {  // nothing but such may follow
      ended = true;
      continue;
    }
    if (label >= classes || ended) {
      return absl::InvalidArgumentError(
          absl::StrCat("labels of sequence ", b, " have ", label, " at ", i,
                       ended ? " behind a label that is none" : ", but classes are ",
                       ended ? "" : absl::StrCat(classes)));
    }
    symbols.push_back(label);
    symbols.push_back(blank);
  }
  return symbols;
}

// What one sequence needs, on top of the inputs.
template <typename T>
class SequenceLoss {
 public:
  SequenceLoss(const KernelContext& ctx, const Sequences& in, const LossAttrs& attrs, int64_t b,
               std::vector<int32_t> symbols)
      : ctx_(ctx),
        in_(in),
        b_(b),
        steps_(in.lengths[b]),
        symbols_(std::move(symbols)),
        count_(static_cast<int64_t>(symbols_.size())),
        merge_(attrs.merge),
        blank_(symbols_[0]),
        logits_(ctx.input(0).values<T>().data()) {}

  // Fills in the gradient of its logits, and returns the loss.
  absl::StatusOr<T> Run(T* gradient) {
    GYRE_RETURN_IF_ERROR(Prepare());
    GYRE_RETURN_IF_ERROR(Forward());
    const T* last = Alpha(steps_ - 1);
    const T likelihood = count_ > 1 ? LogAdd(last[count_ - 1], last[count_ - 2]) : last[count_ - 1];
    GYRE_RETURN_IF_ERROR(Backward(likelihood, gradient));
    return -likelihood;
  }

 private:
  T* Alpha(int64_t t) { return alpha_.mutable_values<T>().data() + t * count_; }
  // The logarithm of the probability of symbol u at step t.
  T LogP(int64_t t, int64_t u) const { return logits_[in_.At(t, b_) + symbols_[u]] - log_sums_[t]; }
  // Whether a path may go from symbol u - 2 to u.
  bool Skips(int64_t u) const {
    return u > 1 && symbols_[u] != blank_ && !(merge_ && symbols_[u] == symbols_[u - 2]);
  }
  bool Stays(int64_t u) const { return merge_ || symbols_[u] == blank_; }

  absl::Status Prepare() {
    GYRE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make({steps_, count_}));
    GYRE_ASSIGN_OR_RETURN(alpha_, ctx_.Allocate(DTypeOf<T>, shape));
    GYRE_ASSIGN_OR_RETURN(sums_, ctx_.Allocate(DTypeOf<T>, Shape::Vector(steps_)));
    log_sums_ = sums_.mutable_values<T>().data();
    for (int64_t t = 0; t < steps_; ++t) {
      GYRE_RETURN_IF_ERROR(Work(in_.classes));
      log_sums_[t] = ctc::LogSum(logits_ + in_.At(t, b_), in_.classes);
    }
    return absl::OkStatus();
  }

  absl::Status Forward() {
    T* first = Alpha(0);
    std::fill_n(first, count_, kLogZero<T>);
    for (int64_t u = 0; u < std::min<int64_t>(2, count_); ++u) first[u] = LogP(0, u);
    for (int64_t t = 1; t < steps_; ++t) {
      const T* before = Alpha(t - 1);
      T* now = Alpha(t);
      GYRE_RETURN_IF_ERROR(Work(count_));
      for (int64_t u = 0; u < count_; ++u) {
        T sum = Stays(u) ? before[u] : kLogZero<T>;
        if (u > 0) sum = LogAdd(sum, before[u - 1]);
        if (Skips(u)) sum = LogAdd(sum, before[u - 2]);
        now[u] = sum == kLogZero<T> ? sum : sum + LogP(t, u);
      }
    }
    return absl::OkStatus();
  }

  absl::Status Backward(T likelihood, T* gradient) {
    // One row of beta, and the one behind it.
    std::vector<T> after(count_, kLogZero<T>), now(count_, kLogZero<T>);
    std::vector<T> of_class(in_.classes);
    for (int64_t t = steps_ - 1; t >= 0; --t) {
      GYRE_RETURN_IF_ERROR(Work(count_ + in_.classes));
      for (int64_t u = 0; u < count_; ++u) {
        if (t == steps_ - 1) {
          now[u] = u >= count_ - 2 ? T{0} : kLogZero<T>;
          continue;
        }
        T sum = Stays(u) ? after[u] + LogP(t + 1, u) : kLogZero<T>;
        if (u + 1 < count_) sum = LogAdd(sum, after[u + 1] + LogP(t + 1, u + 1));
        if (u + 2 < count_ && Skips(u + 2)) sum = LogAdd(sum, after[u + 2] + LogP(t + 1, u + 2));
        now[u] = sum;
      }
      std::fill(of_class.begin(), of_class.end(), kLogZero<T>);
      const T* alpha = Alpha(t);
      for (int64_t u = 0; u < count_; ++u) {
        T& sum = of_class[symbols_[u]];
        sum = LogAdd(sum, alpha[u] + now[u]);
      }
      const int64_t at = in_.At(t, b_);
      for (int64_t c = 0; c < in_.classes; ++c) {
        const T p = std::exp(logits_[at + c] - log_sums_[t]);
        // No path at all: as if the labels said nothing.
        gradient[at + c] = likelihood == kLogZero<T> ? p : p - std::exp(of_class[c] - likelihood);
      }
      std::swap(after, now);
    }
    return absl::OkStatus();
  }

  absl::Status Work(int64_t amount) {
    work_ += amount;
    if (work_ < kPollWork) return absl::OkStatus();
    work_ = 0;
    return ctx_.Poll();
  }

  const KernelContext& ctx_;
  const Sequences& in_;
  const int64_t b_, steps_;
  const std::vector<int32_t> symbols_;
  const int64_t count_;
  const bool merge_;
  const int32_t blank_;
  const T* const logits_;
  Tensor alpha_, sums_;
  T* log_sums_ = nullptr;
  int64_t work_ = 0;
};

template <typename T>
struct CtcLoss {
  static absl::Status Run(KernelContext& ctx, const LossAttrs& attrs) {
    GYRE_ASSIGN_OR_RETURN(const Sequences in, ctc::SequenceInputs(ctx, 3));
    GYRE_ASSIGN_OR_RETURN(const auto labels, LabelInputs(ctx, in.batch));
    std::vector<std::vector<int32_t>> symbols(in.batch);
    for (int64_t b = 0; b < in.batch; ++b) {
      if (labels[b].empty() && !attrs.blank_is_first)
        return absl::InvalidArgumentError(absl::StrCat("there are no labels of sequence ", b));
      GYRE_ASSIGN_OR_RETURN(symbols[b], WithBlanks(labels[b], b, in.classes, attrs));
      const auto needed = static_cast<int64_t>(labels[b].size());
      if (needed > in.lengths[b] && !attrs.ignore_longer) {
        return absl::InvalidArgumentError(
            absl::StrCat("Not enough time for target transition sequence (required: ", needed,
                         ", available: ", in.lengths[b], ") in sequence ", b,
                         ": leave it out, or use ignore_longer_outputs_than_inputs"));
      }
    }
    GYRE_ASSIGN_OR_RETURN(Tensor loss, ctx.AllocateZeros(DTypeOf<T>, Shape::Vector(in.batch)));
    GYRE_ASSIGN_OR_RETURN(Tensor gradient, ctx.AllocateZeros(DTypeOf<T>, ctx.input(0).shape()));
    T* const losses = loss.mutable_values<T>().data();
    T* const gradients = gradient.mutable_values<T>().data();
    FirstError error;
    GYRE_RETURN_IF_ERROR(ctx.ParallelRun(in.batch, 1, [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) {
        const auto needed = static_cast<int64_t>(labels[b].size());
        if (in.lengths[b] == 0 || needed > in.lengths[b]) continue;
        absl::StatusOr<T> one =
            SequenceLoss<T>(ctx, in, attrs, b, std::move(symbols[b])).Run(gradients);
        if (!one.ok()) return error.Set(b, one.status());
        losses[b] = *one;
      }
    }));
    GYRE_RETURN_IF_ERROR(error.status());
    ctx.set_output(0, std::move(loss));
    ctx.set_output(1, std::move(gradient));
    return absl::OkStatus();
  }
};

absl::Status LossShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(ctc::CheckShapes(c, 3));
  GYRE_RETURN_IF_ERROR(c.RequireRank(1, 2));
  GYRE_RETURN_IF_ERROR(c.RequireRank(2, 1));
  const PartialShape& inputs = c.input(0);
  c.set_output(0, PartialShape(Dims{inputs.has_rank() ? inputs.dim(1) : -1}));
  c.set_output(1, inputs.has_rank() ? inputs : PartialShape::UnknownOfRank(3));
  return absl::OkStatus();
}

// Output 1 is the derivative of output 0.
void LossGradient(GradientContext& g) {
  if (g.has_grad(1)) {
    g.Fail(absl::UnimplementedError(
        "CTCLoss has no second derivative, as in TensorFlow: there are only first ones"));
    return;
  }
  const Expr column = g.op("ExpandDims", {g.grad(0), g.builder().Int(-1)});
  g.Add(0, column * g.output(1));
}

constexpr absl::string_view kRest =
    "preprocess_collapse_repeated: bool = false; ctc_merge_repeated: bool = true; "
    "ignore_longer_outputs_than_inputs: bool = false}";

}  // namespace

void RegisterCtcLoss(OpRegistry& ops) {
  const std::string first = absl::StrCat(
      "CTCLoss(inputs: T, labels_indices: int64, labels_values: int32, sequence_length: int32) -> "
      "loss: T, gradient: T {T: {float, double} = float; ",
      kRest);
  const std::string second = absl::StrCat(
      "CTCLossV2(inputs: float, labels_indices: int64, labels_values: int32, sequence_length: "
      "int32) -> loss: float, gradient: float {",
      kRest);
  ops.Add({
      .schema = first,
      .doc = "The negative logarithm of the probability of labels, given logits of each step; the "
             "last class is the blank.",
      .shape = LossShape,
      .gradient = {LossGradient},
      .kernel = ForTypes<CtcLoss, Types<float, double>>("T"),
  });
  ops.Add({
      .schema = second,
      .doc = "The negative logarithm of the probability of labels, given logits of each step; the "
             "first class is the blank.",
      .shape = LossShape,
      .gradient = {LossGradient},
      .kernel = ComputeBy<CtcLoss<float>>(),
  });
}

}  // namespace gyre
