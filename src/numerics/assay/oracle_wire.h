// SPDX-License-Identifier: Apache-2.0
#pragma once

// The bytes that the supervisor and the oracle exchange: one request, one block of inputs, one
// response.  Plain structs of fixed layout; every offset is in bytes from the start of its block and
// a multiple of eight.  The oracle runs an author's code, so the supervisor believes nothing in a
// response that it has not checked (oracle_client.h).

#include <cstdint>

namespace assay::wire {

inline constexpr uint64_t kRequestMagic = 0x3151595341535341U;
inline constexpr uint64_t kResponseMagic = 0x3152595341535341U;
inline constexpr uint32_t kVersion = 2;
inline constexpr uint32_t kMaxRank = 8;
inline constexpr uint32_t kMaxNames = 1024;  // axes, scalars and tensors each
inline constexpr uint32_t kMaxPublished = 1U << 22;

enum class Arithmetic : uint32_t {
  kDouble,
  kWide,
  kBounded,
  kExact,
  kHonest,
  kTaped,
  kExplain,
  kCount,
};
inline constexpr uint32_t kArithmeticCount = 8;

struct Request {
  uint64_t magic;
  uint32_t version;
  uint32_t arithmetic;
  uint64_t request_bytes;
  uint64_t inputs_bytes;
  uint64_t response_bytes;  // room; the oracle never writes beyond it

  uint32_t format;  // DType of the arithmetic (`compare.in`)
  uint32_t random;  // mantissas are random: sums grow with the root of their length
  uint32_t flush;   // subnormals may become zero
  uint32_t order;   // Order, Elementary: how an honest kernel computes
  uint32_t fma;
  uint32_t elementary;
  double perturb;  // honest: times the legal rounding, at random at every operation
  uint64_t noise;  // start of that randomness
  double outputs;  // elements compared together, for the chance of a false alarm

  uint32_t mutant;            // MutantKind
  int32_t mutant_tensor;      // index, -1 for all
  uint32_t mutant_format;     // DType
  uint32_t mutant_primitive;  // Primitive
  double mutant_amount;

  uint32_t sample_stride;  // taped: every so manieth output of a slice; 0 is 1
  uint32_t sample_phase;
  int32_t explain_tensor;  // explain: this element alone
  uint32_t explain_terms;  // and so many of its largest contributions
  int64_t explain_element;

  uint32_t axis_count, scalar_count, tensor_count, slice_rank;
  uint64_t slice_count;
  int32_t slice_tensor;  // the output whose own slices these are; -1: the contract's
  uint32_t unused;
  uint64_t axes, scalars, tensors, slices;  // offsets; slices is int64_t[slice_count][slice_rank]
  uint64_t strings, strings_bytes;
};

struct Name {
  uint32_t offset;  // in the strings
  uint32_t bytes;
};

struct Axis {
  Name name;
  int64_t value;
};

struct Scalar {
  Name name;
  uint32_t dtype;
  uint32_t reserved;
  double value;
  int64_t integer;  // the same value where dtype is an integer type
};

struct Tensor {
  Name name;
  uint32_t dtype;
  uint32_t role;  // OracleRole
  uint32_t rank;
  uint32_t present;
  int64_t shape[kMaxRank];
  int64_t stride[kMaxRank];  // elements
  uint64_t data;             // offset in the inputs; not looked at where the role is out
};

enum class Status : uint32_t {
  kOk,
  kReference,  // the author's code asked for something that is not there: message
  kRequest,    // this request makes no sense: message
  kNoRoom,     // the response was full; slices_done of them are complete
};

struct Response {
  uint64_t magic;
  uint32_t version;
  uint32_t status;
  uint64_t slices_done;
  uint64_t slices;  // offset of Slice[slices_done]
  uint64_t records, record_count;
  uint64_t published, published_count;
  uint64_t terms, term_count;
  uint64_t ambiguous_comparisons;
  uint64_t counts[24];         // by Operation, count.h
  uint64_t touched_bytes[64];  // distinct bytes read, of the first 64 tensors
  uint64_t tape_nodes;
  char message[512];  // ends with a zero
};

struct Slice {
  uint64_t first;
  uint64_t count;
};

// One element of one output.
struct Record {
  int64_t element;  // offset within the tensor, in elements, strides applied
  double value;
  double bound;
  uint32_t tensor;
  uint32_t flags;  // kAnswerExact | kAnswerExcluded | kAnswerAmbiguous, and the part from kAnswerPartShift on
};

struct Published {
  char name[40];  // ends with a zero
  uint32_t rank;
  uint32_t flags;
  int64_t index[kMaxRank];
  double value;
  double bound;
  uint64_t slice;  // ordinal of the slice that published it
};

// One rounding in the propagation of one element's bound.
struct Term {
  char label[40];       // operation and operand, ends with a zero
  double value;         // what the operation yielded
  double rounding;      // its own rounding
  double sensitivity;   // |d element / d value|
  double contribution;  // their product
  uint64_t count;       // like operations folded into this line
};

static_assert(sizeof(Record) == 32 && sizeof(Slice) == 16 && sizeof(Published) == 136 && sizeof(Term) == 80);
static_assert(sizeof(Tensor) == 160 && sizeof(Scalar) == 32 && sizeof(Axis) == 16);
static_assert(sizeof(Request) % 8 == 0 && sizeof(Response) % 8 == 0);

}  // namespace assay::wire
