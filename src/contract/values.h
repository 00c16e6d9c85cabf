// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "contract/contract.h"
#include "contract/shape.h"

namespace assay {

// Random mantissas average out, equal or ordered values do not: error bounds differ between the two.
bool Structured(const Generator& generator);

// Smallest and largest element that the dtype can hold and a generator may draw (finite).
double LowestOf(DType dtype);
double HighestOf(DType dtype);

// Which regime each tensor and scalar draws from: an index into its `values`.
struct RegimeDraw {
  std::map<std::string, size_t> of;
  std::string Describe(const Contract& contract) const;  // "q: normal(0, 1), k: ladder(1e-4, 1e4)"
};
RegimeDraw FirstRegimes(const Contract& contract);
RegimeDraw DrawRegimes(const Contract& contract, Stream& stream);

// Kinds of values for the timing of one kind at a time: as many as the tensor with the most regimes has, the others
// take theirs in turn.  Named by the tensors that have a choice; empty when none has.
std::vector<std::string> PureRegimes(const Contract& contract);
// The index into the tensor's `values` of one of them.
size_t PureRegime(const Tensor& tensor, int regime);

// Fills one tensor from one regime.  `out` holds at least layout.byte_span bytes; the gaps between
// strided rows are poisoned (NaN, or random bits in types without one).  The shape must be Legal.
void FillTensor(const Tensor& tensor, const TensorLayout& layout, const Generator& generator, const Shape& shape,
                std::span<std::byte> out, Stream& stream);

struct MixReport {
  bool structured = false;                  // a structured regime is among those used
  std::vector<int64_t> elements_by_regime;  // parallel to the tensor's `values`
};
// Several of the tensor's regimes inside one tensor, at random places; the first regime keeps at
// least half of it in expectation, so that an extreme regime cannot drown every slice.
MixReport FillMixed(const Tensor& tensor, const TensorLayout& layout, const Shape& shape, std::span<std::byte> out,
                    Stream& stream);

// The bytes that stand where nothing may be read: NaN in every float type, random bits otherwise.
void FillPoison(DType dtype, std::span<std::byte> out, Stream& stream);

// All scalars of one call in the contract's order: as the workload fixes them, else drawn; NaN where
// inputs.cpp has yet to set one.
std::vector<double> DrawScalars(const Contract& contract, const Shape& shape, Stream& stream, bool first_regime);

// One value, already rounded to the scalar's dtype.
double DrawScalar(const Scalar& scalar, const Shape& shape, Stream& stream, bool first_regime);
double DrawScalar(const Scalar& scalar, const Generator& generator, const Shape& shape, Stream& stream);

// Reads and writes one element by its offset in elements (i4: low nibble first).
double LoadElement(DType dtype, std::span<const std::byte> bytes, int64_t offset);
void StoreElement(DType dtype, std::span<std::byte> bytes, int64_t offset, double value);

}  // namespace assay
