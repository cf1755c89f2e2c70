// What the tests of TensorArrays share: an array, or the gradient array of one, in a run.
#pragma once

#include "ops/resource_run.h"

namespace gyre::test {

class Array {
 public:
  Array(ResourceRun& run, Tensor handle, DType dtype)
      : run_(run), handle_(std::move(handle)), dtype_(dtype) {}
  // `attrs` may say more than dtype.
  Array(ResourceRun& run, int32_t size, AttrMap attrs = {}, DType dtype = DType::kFloat)
      : run_(run), dtype_(dtype) {
    attrs.Set("dtype", dtype);
    if (!attrs.Has("tensor_array_name")) attrs.Set("tensor_array_name", std::string("ta"));
    handle_ = run.Run("TensorArrayV3", {Tensor::Scalar<int32_t>(size)}, std::move(attrs));
  }

  const Tensor& handle() const { return handle_; }

  absl::Status Write(int32_t index, Tensor value) const {
    return run_
        .Try("TensorArrayWriteV3", Inputs(handle_, Tensor::Scalar(index), std::move(value), Flow()))
        .status();
  }
  // One output, or none and an error.
  absl::StatusOr<Tensor> Read(int32_t index) const {
    return First(run_.Try("TensorArrayReadV3", {handle_, Tensor::Scalar(index), Flow()},
                          Attrs({{"dtype", dtype_}})));
  }
  absl::StatusOr<Tensor> Gather(std::initializer_list<int32_t> indices,
                                PartialShape shape = PartialShape::Unknown()) const {
    return First(run_.Try("TensorArrayGatherV3",
                          {handle_, Tensor::Vector<int32_t>(indices), Flow()},
                          Attrs({{"dtype", dtype_}, {"element_shape", std::move(shape)}})));
  }
  absl::Status Scatter(std::initializer_list<int32_t> indices, Tensor rows) const {
    return run_
        .Try("TensorArrayScatterV3",
             Inputs(handle_, Tensor::Vector<int32_t>(indices), std::move(rows), Flow()))
        .status();
  }
  // The joined elements, and how many rows each had.
  absl::StatusOr<std::vector<Tensor>> Concat(PartialShape except0 = PartialShape::Unknown()) const {
    return run_.Try("TensorArrayConcatV3", {handle_, Flow()},
                    Attrs({{"dtype", dtype_}, {"element_shape_except0", std::move(except0)}}));
  }
  absl::Status Split(Tensor rows, std::initializer_list<int64_t> lengths) const {
    return run_
        .Try("TensorArraySplitV3",
             Inputs(handle_, std::move(rows), Tensor::Vector<int64_t>(lengths), Flow()))
        .status();
  }
  int32_t Size() const {
    return run_.Run("TensorArraySizeV3", {handle_, Flow()}).scalar<int32_t>();
  }
  void Close() const { run_.All("TensorArrayCloseV3", {handle_}); }

  absl::StatusOr<Tensor> TryGradient(const std::string& source) const {
    return First(run_.Try("TensorArrayGradV3", {handle_, Flow()}, Attrs({{"source", source}})));
  }
  Array Gradient(const std::string& source) const {
    return Array(run_, TryGradient(source).value_or(Tensor()), dtype_);
  }
  Array GradientWithShape(const std::string& source, std::initializer_list<int32_t> prefix) const {
    return Array(
        run_,
        run_.Run("TensorArrayGradWithShape", {handle_, Flow(), Tensor::Vector<int32_t>(prefix)},
                 Attrs({{"source", source}})),
        dtype_);
  }

  static Tensor Flow() { return Tensor::Scalar(0.0f); }

 private:
  static absl::StatusOr<Tensor> First(absl::StatusOr<std::vector<Tensor>> outputs) {
    if (!outputs.ok()) return outputs.status();
    return (*outputs)[0];
  }

  ResourceRun& run_;
  Tensor handle_;
  DType dtype_;
};

// A vector or matrix of floats as what a test compares with.
inline testing::AssertionResult Holds(const absl::StatusOr<Tensor>& tensor,
                                      std::vector<int64_t> shape, std::vector<float> values) {
  if (!tensor.ok()) return testing::AssertionFailure() << tensor.status();
  if (tensor->shape() != ShapeOf(shape))
    return testing::AssertionFailure() << "shape " << tensor->shape().ToString();
  if (Values<float>(*tensor) == values) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "values " << testing::PrintToString(Values<float>(*tensor));
}

}  // namespace gyre::test
