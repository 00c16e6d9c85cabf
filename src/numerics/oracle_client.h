// SPDX-License-Identifier: Apache-2.0
#pragma once

// The supervisor's side of the oracle protocol: pure functions from a query to bytes and from bytes
// to answers.  Who starts the oracle's process and maps its buffers is another room's business.

#include <boost/container/static_vector.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "numerics/assay/environment.h"
#include "numerics/assay/formats.h"
#include "numerics/assay/oracle_wire.h"
#include "numerics/assay/tensor.h"

namespace assay {

using Arithmetic = wire::Arithmetic;

struct OracleAxis {
  std::string name;
  int64_t value = 0;
};

struct OracleScalar {
  std::string name;
  DType dtype = DType::kF32;
  double value = 0.0;   // as the dtype holds it
  int64_t integer = 0;  // where the dtype is an integer type
};

struct OracleTensor {
  std::string name;
  DType dtype = DType::kF32;
  OracleRole role = OracleRole::kIn;
  bool present = true;
  std::vector<int64_t> shape;
  std::vector<int64_t> stride;  // elements
  uint64_t data = 0;            // offset of its first element in the inputs, a multiple of 8
};

// Everything an oracle run depends on, besides the bytes of the inputs.
struct OracleQuery {
  Arithmetic arithmetic = Arithmetic::kBounded;
  DType format = DType::kF32;
  Regime regime = Regime::kStructured;
  bool flush = false;
  double outputs = 1.0;  // how many elements one verdict compares; shares the chance of a false alarm

  Order order = Order::kInOrder;
  bool fma = false;
  Elementary elementary = Elementary::kCorrect;
  double perturb = 0.0;
  uint64_t noise = 1;
  Mutant mutant;

  uint32_t sample_stride = 1;
  uint32_t sample_phase = 0;
  int32_t explain_tensor = -1;
  int64_t explain_element = 0;
  uint32_t explain_terms = 64;

  std::vector<OracleAxis> axes;
  std::vector<OracleScalar> scalars;
  std::vector<OracleTensor> tensors;
  uint32_t slice_rank = 0;
  int32_t slice_tensor = -1;    // the output whose own slices these are; -1: the contract's
  std::vector<int64_t> slices;  // slice_rank numbers per slice

  uint64_t slice_count() const { return slice_rank == 0 ? 1 : slices.size() / slice_rank; }
};

struct OracleOutput {
  int32_t tensor = 0;   // index in the query's tensors
  int64_t element = 0;  // offset in elements, strides applied
  double value = 0.0;
  double bound = 0.0;
  bool exact = false;
  bool excluded = false;
  bool ambiguous = false;
  int part = 0;  // of an element that is answered by several numbers
};

struct OraclePublished {
  std::string name;
  boost::container::static_vector<int64_t, wire::kMaxRank> index;  // a row of keys is many of these
  double value = 0.0;
  double bound = 0.0;
  bool exact = false;
  bool excluded = false;
  bool ambiguous = false;
  uint64_t slice = 0;
};

struct OracleTerm {
  std::string label;
  double value = 0.0;
  double rounding = 0.0;
  double sensitivity = 0.0;
  double contribution = 0.0;
  uint64_t count = 1;
};

struct OracleAnswer {
  std::vector<OracleOutput> outputs;  // slice by slice
  std::vector<uint64_t> slice_begin;  // slice s is outputs[slice_begin[s] .. slice_begin[s + 1])
  std::vector<OraclePublished> published;
  std::vector<OracleTerm> terms;
  std::vector<uint64_t> counts;         // by Operation (assay/count.h)
  std::vector<uint64_t> touched_bytes;  // per tensor of the query, at most 64
  uint64_t ambiguous_comparisons = 0;
  uint64_t tape_nodes = 0;

  std::span<const OracleOutput> slice(uint64_t s) const {
    return std::span(outputs).subspan(slice_begin[s], slice_begin[s + 1] - slice_begin[s]);
  }
};

// Room that a response needs when each slice writes `outputs_per_slice` elements and publishes
// `published_per_slice` numbers.
uint64_t ResponseBytes(const OracleQuery& query, uint64_t outputs_per_slice, uint64_t published_per_slice = 0);

// The request's bytes.  Refuses a query that the oracle would refuse: wrong ranks, no slices, names
// too many, tensors beyond the inputs.
Result<std::vector<std::byte>> EncodeRequest(const OracleQuery& query, uint64_t inputs_bytes, uint64_t response_bytes);

// Reads a response, believing nothing: the process that wrote it ran an author's code.  The author's
// own mistakes (an unknown name, an index out of range) are kInvalidInput with the oracle's message; a
// response that makes no sense is kCorrupt; one that did not fit is kUnavailable.
Result<OracleAnswer> DecodeResponse(const OracleQuery& query, std::span<const std::byte> response);

// The translation unit that makes a contract's reference an oracle: compile with -std=c++20 -O2
// -march=native -fPIC -fvisibility=hidden and the include paths of the contract's folder and of
// src/numerics.  `reference` is the path as it stands in the #include.
std::string OracleSource(const std::string& reference);

// The table that `assay explain tolerance` prints: the largest contributions to one element's bound.
std::string ExplainTolerance(const OracleQuery& query, const OracleAnswer& answer);

}  // namespace assay
