// SPDX-License-Identifier: Apache-2.0
#pragma once

// For tests: a reference run inside this process, through the same bytes as the jailed oracle.

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "numerics/assay/oracle.h"
#include "numerics/oracle_client.h"

namespace assay::testing {

class ReferenceRun {
 public:
  OracleQuery query;

  void Axis(const std::string& name, int64_t value) { query.axes.push_back({name, value}); }
  void Scalar(const std::string& name, double value) { query.scalars.push_back({name, DType::kF32, value, 0}); }
  void IntegerScalar(const std::string& name, int64_t value) {
    query.scalars.push_back({name, DType::kI32, static_cast<double>(value), value});
  }

  // Dense tensors; values are rounded to the type.
  int In(const std::string& name, DType dtype, std::vector<int64_t> shape, const std::vector<double>& values,
         OracleRole role = OracleRole::kIn) {
    OracleTensor tensor = Dense(name, dtype, role, std::move(shape));
    tensor.data = inputs_.size();
    inputs_.resize(inputs_.size() +
                   (static_cast<size_t>(StorageBytes(dtype, static_cast<int64_t>(values.size()))) + 63) / 64 * 64);
    for (size_t i = 0; i < values.size(); ++i)
      StoreElement(dtype, inputs_.data() + tensor.data, static_cast<int64_t>(i), values[i]);
    query.tensors.push_back(std::move(tensor));
    return static_cast<int>(query.tensors.size()) - 1;
  }
  int Out(const std::string& name, DType dtype, std::vector<int64_t> shape) {
    query.tensors.push_back(Dense(name, dtype, OracleRole::kOut, std::move(shape)));
    return static_cast<int>(query.tensors.size()) - 1;
  }

  // `Body` has template <class Real> void Run(const Args<Real>&, const Slice&) const.
  template <class Body>
  Result<OracleAnswer> Run(const Body& body, uint64_t outputs_per_slice, uint64_t published_per_slice = 0) const {
    std::vector<std::byte> response(ResponseBytes(query, outputs_per_slice, published_per_slice));
    return RunInto(body, response);
  }
  template <class Body>
  Result<OracleAnswer> RunInto(const Body& body, std::vector<std::byte>& response) const {
    ASSAY_TRY(const std::vector<std::byte> request, EncodeRequest(query, inputs_.size(), response.size()));
    oracle::Serve(request.data(), response.data(), inputs_.data(), body);
    return DecodeResponse(query, response);
  }

 private:
  static OracleTensor Dense(const std::string& name, DType dtype, OracleRole role, std::vector<int64_t> shape) {
    OracleTensor tensor;
    tensor.name = name;
    tensor.dtype = dtype;
    tensor.role = role;
    tensor.stride.assign(shape.size(), 1);
    for (size_t d = shape.size(); d-- > 1;) tensor.stride[d - 1] = tensor.stride[d] * shape[d];
    tensor.shape = std::move(shape);
    return tensor;
  }

  std::vector<std::byte> inputs_;
};

}  // namespace assay::testing
