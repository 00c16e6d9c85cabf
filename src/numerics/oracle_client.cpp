// SPDX-License-Identifier: Apache-2.0
#include "numerics/oracle_client.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string_view>

namespace assay {
namespace {

constexpr uint64_t kLargestBlock = uint64_t{1} << 46;

// Collects tables and strings at offsets that are multiples of eight.
class Packer {
 public:
  explicit Packer(size_t head) : bytes_(head) {}

  template <class T>
  uint64_t Add(const std::vector<T>& table) {
    bytes_.resize((bytes_.size() + 7) / 8 * 8);
    const uint64_t offset = bytes_.size();
    bytes_.resize(bytes_.size() + table.size() * sizeof(T));
    if (!table.empty()) std::memcpy(bytes_.data() + offset, table.data(), table.size() * sizeof(T));
    return offset;
  }

  std::vector<std::byte>& bytes() { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

wire::Name AddName(std::vector<char>& strings, std::string_view name) {
  const wire::Name result{static_cast<uint32_t>(strings.size()), static_cast<uint32_t>(name.size())};
  strings.insert(strings.end(), name.begin(), name.end());
  return result;
}

Error BadQuery(std::string message) { return Error{ErrorCode::kInvalidInput, "oracle query: " + std::move(message)}; }

// Bytes up to the end of the last element; refuses what cannot be addressed.
Result<uint64_t> ExtentOf(const OracleTensor& tensor) {
  if (tensor.shape.size() != tensor.stride.size() || tensor.shape.size() > wire::kMaxRank) {
    return BadQuery("tensor " + tensor.name + ": shape and stride do not fit");
  }
  int64_t last = 0;
  for (size_t d = 0; d < tensor.shape.size(); ++d) {
    int64_t step = 0;
    if (tensor.shape[d] < 0 || tensor.stride[d] < 0)
      return BadQuery("tensor " + tensor.name + ": negative size or stride");
    if (tensor.shape[d] == 0) return uint64_t{0};
    if (__builtin_mul_overflow(tensor.shape[d] - 1, tensor.stride[d], &step) ||
        __builtin_add_overflow(last, step, &last) || last > (int64_t{1} << 48)) {
      return BadQuery("tensor " + tensor.name + ": too large");
    }
  }
  return static_cast<uint64_t>(StorageBytes(tensor.dtype, last + 1));
}

Status CheckTensor(const OracleTensor& tensor, uint64_t inputs_bytes) {
  ASSAY_TRY(const uint64_t extent, ExtentOf(tensor));
  if (!tensor.present || tensor.role == OracleRole::kOut) return Ok();
  if (tensor.data % 8 != 0) return BadQuery("tensor " + tensor.name + ": data is not aligned to 8 bytes");
  if (tensor.data > inputs_bytes || extent > inputs_bytes - tensor.data) {
    return BadQuery("tensor " + tensor.name + ": data lies outside the inputs");
  }
  return Ok();
}

wire::Tensor WireTensor(const OracleTensor& tensor, std::vector<char>& strings) {
  wire::Tensor result{};
  result.name = AddName(strings, tensor.name);
  result.dtype = static_cast<uint32_t>(tensor.dtype);
  result.role = static_cast<uint32_t>(tensor.role);
  result.rank = static_cast<uint32_t>(tensor.shape.size());
  result.present = tensor.present ? 1 : 0;
  std::copy(tensor.shape.begin(), tensor.shape.end(), result.shape);
  std::copy(tensor.stride.begin(), tensor.stride.end(), result.stride);
  result.data = tensor.data;
  return result;
}

// The part of the head that says how to compute.
wire::Request HeadOf(const OracleQuery& query) {
  wire::Request head{};
  head.magic = wire::kRequestMagic;
  head.version = wire::kVersion;
  head.arithmetic = static_cast<uint32_t>(query.arithmetic);
  head.format = static_cast<uint32_t>(query.format);
  head.random = query.regime == Regime::kRandom ? 1 : 0;
  head.flush = query.flush ? 1 : 0;
  head.order = static_cast<uint32_t>(query.order);
  head.fma = query.fma ? 1 : 0;
  head.elementary = static_cast<uint32_t>(query.elementary);
  head.perturb = query.perturb;
  head.noise = query.noise;
  head.outputs = query.outputs;
  head.mutant = static_cast<uint32_t>(query.mutant.kind);
  head.mutant_tensor = query.mutant.tensor;
  head.mutant_format = static_cast<uint32_t>(query.mutant.format);
  head.mutant_primitive = static_cast<uint32_t>(query.mutant.primitive);
  head.mutant_amount = query.mutant.amount;
  head.sample_stride = query.sample_stride;
  head.sample_phase = query.sample_phase;
  head.explain_tensor = query.explain_tensor;
  head.explain_terms = query.explain_terms;
  head.explain_element = query.explain_element;
  return head;
}

}  // namespace

uint64_t ResponseBytes(const OracleQuery& query, uint64_t outputs_per_slice, uint64_t published_per_slice) {
  const uint64_t per_slice =
      sizeof(wire::Slice) + outputs_per_slice * sizeof(wire::Record) + published_per_slice * sizeof(wire::Published);
  const uint64_t terms = query.arithmetic == Arithmetic::kExplain ? query.explain_terms * sizeof(wire::Term) : 0;
  return sizeof(wire::Response) + query.slice_count() * per_slice + terms;
}

Result<std::vector<std::byte>> EncodeRequest(const OracleQuery& query, uint64_t inputs_bytes, uint64_t response_bytes) {
  if (query.slice_rank > wire::kMaxRank) return BadQuery("too many slice axes");
  if (query.slice_rank > 0 && query.slices.size() % query.slice_rank != 0) return BadQuery("an incomplete slice index");
  if (query.slice_rank == 0 && !query.slices.empty()) return BadQuery("slice indices without axes");
  if (query.axes.size() > wire::kMaxNames || query.scalars.size() > wire::kMaxNames ||
      query.tensors.size() > wire::kMaxNames) {
    return BadQuery("too many names");
  }
  if (response_bytes > kLargestBlock || inputs_bytes > kLargestBlock) return BadQuery("a block is too large");
  for (const OracleTensor& tensor : query.tensors) ASSAY_TRY_STATUS(CheckTensor(tensor, inputs_bytes));
  if (response_bytes < ResponseBytes(query, 0)) return BadQuery("no room for the response's head");

  std::vector<char> strings;
  std::vector<wire::Axis> axes;
  std::vector<wire::Scalar> scalars;
  std::vector<wire::Tensor> tensors;
  for (const OracleAxis& axis : query.axes) axes.push_back({AddName(strings, axis.name), axis.value});
  for (const OracleScalar& scalar : query.scalars) {
    scalars.push_back(
        {AddName(strings, scalar.name), static_cast<uint32_t>(scalar.dtype), 0, scalar.value, scalar.integer});
  }
  for (const OracleTensor& tensor : query.tensors) tensors.push_back(WireTensor(tensor, strings));

  wire::Request head = HeadOf(query);
  Packer packer(sizeof head);
  head.axis_count = static_cast<uint32_t>(axes.size());
  head.scalar_count = static_cast<uint32_t>(scalars.size());
  head.tensor_count = static_cast<uint32_t>(tensors.size());
  head.slice_rank = query.slice_rank;
  head.slice_tensor = query.slice_tensor;
  head.slice_count = query.slice_count();
  head.axes = packer.Add(axes);
  head.scalars = packer.Add(scalars);
  head.tensors = packer.Add(tensors);
  head.slices = packer.Add(query.slices);
  head.strings = packer.Add(strings);
  head.strings_bytes = strings.size();
  head.request_bytes = packer.bytes().size();
  head.inputs_bytes = inputs_bytes;
  head.response_bytes = response_bytes;
  std::memcpy(packer.bytes().data(), &head, sizeof head);
  return std::move(packer.bytes());
}

namespace {

Error BadResponse(const std::string& message) { return Error{ErrorCode::kCorrupt, "oracle response: " + message}; }

// Copies `count` structs out of a response.  Copies, because the process that wrote them may still
// be able to write.
template <class T>
Result<std::vector<T>> ReadTable(std::span<const std::byte> response, uint64_t offset, uint64_t count,
                                 const char* what) {
  if (offset > response.size() || count > (response.size() - offset) / sizeof(T)) {
    return BadResponse(std::string(what) + " lie outside");
  }
  std::vector<T> table(count);
  if (count > 0) std::memcpy(table.data(), response.data() + offset, count * sizeof(T));
  return table;
}

// Text from the oracle goes to terminals and files: one line of printable ASCII.
std::string CleanText(const char* text, size_t room) {
  std::string clean(text, strnlen(text, room));
  for (char& c : clean) {
    if (c < ' ' || c > '~') c = '?';
  }
  return clean;
}

// Largest offset that an element of the tensor can have.
int64_t LastElement(const OracleTensor& tensor) {
  int64_t last = 0;
  for (size_t d = 0; d < tensor.shape.size(); ++d) {
    if (tensor.shape[d] == 0) return -1;
    last += (tensor.shape[d] - 1) * tensor.stride[d];
  }
  return last;
}

bool IsBound(double bound) { return bound >= 0.0; }  // false for NaN

Status CheckRecord(const OracleQuery& query, const std::vector<int64_t>& last, const wire::Record& record) {
  if (record.tensor >= query.tensors.size()) return BadResponse("a record names no tensor");
  const OracleTensor& tensor = query.tensors[record.tensor];
  if (!tensor.present || tensor.role == OracleRole::kIn) {
    return BadResponse("a record names tensor " + tensor.name + ", which is no output of this call");
  }
  if (record.element < 0 || record.element > last[record.tensor])
    return BadResponse("a record lies outside tensor " + tensor.name);
  if (!IsBound(record.bound) || record.flags >= kAnswerFlagsEnd)
    return BadResponse("a record's bound or flags make no sense");
  return Ok();
}

Status CheckStatus(const wire::Response& head, const OracleQuery& query) {
  if (head.magic != wire::kResponseMagic || head.version != wire::kVersion) return BadResponse("the head is missing");
  const std::string message = CleanText(head.message, sizeof head.message);
  switch (head.status) {
    case static_cast<uint32_t>(wire::Status::kOk):
      break;
    case static_cast<uint32_t>(wire::Status::kReference):
      return Error{ErrorCode::kInvalidInput, "reference.h: " + message};
    case static_cast<uint32_t>(wire::Status::kRequest):
      return Error{ErrorCode::kInvalidInput, "oracle query: " + message};
    case static_cast<uint32_t>(wire::Status::kNoRoom):
      return Error{ErrorCode::kUnavailable, "oracle: " + message};
    default:
      return BadResponse("unknown status");
  }
  if (head.slices_done != query.slice_count()) return BadResponse("not every slice was computed");
  if (head.published_count > wire::kMaxPublished) return BadResponse("too many published numbers");
  return Ok();
}

Status ReadOutputs(const OracleQuery& query, std::span<const std::byte> response, const wire::Response& head,
                   OracleAnswer& answer) {
  ASSAY_TRY(const auto slices, ReadTable<wire::Slice>(response, head.slices, head.slices_done, "slices"));
  ASSAY_TRY(const auto records, ReadTable<wire::Record>(response, head.records, head.record_count, "records"));
  uint64_t next = 0;
  for (const wire::Slice& slice : slices) {
    if (slice.first != next || slice.count > records.size() - next)
      return BadResponse("slices do not follow each other");
    answer.slice_begin.push_back(next);
    next += slice.count;
  }
  if (next != records.size()) return BadResponse("records belong to no slice");
  answer.slice_begin.push_back(next);
  std::vector<int64_t> last;
  for (const OracleTensor& tensor : query.tensors) last.push_back(LastElement(tensor));
  answer.outputs.reserve(records.size());
  for (const wire::Record& record : records) {
    ASSAY_TRY_STATUS(CheckRecord(query, last, record));
    answer.outputs.push_back({static_cast<int32_t>(record.tensor), record.element, record.value, record.bound,
                              (record.flags & kAnswerExact) != 0, (record.flags & kAnswerExcluded) != 0,
                              (record.flags & kAnswerAmbiguous) != 0,
                              static_cast<int>(record.flags >> kAnswerPartShift)});
  }
  return Ok();
}

Status ReadPublished(std::span<const std::byte> response, const wire::Response& head, OracleAnswer& answer) {
  ASSAY_TRY(const auto published,
            ReadTable<wire::Published>(response, head.published, head.published_count, "published numbers"));
  answer.published.reserve(published.size());
  for (const wire::Published& p : published) {
    if (p.rank > wire::kMaxRank || !IsBound(p.bound) || p.flags > 7 || p.slice >= head.slices_done) {
      return BadResponse("a published number makes no sense");
    }
    answer.published.push_back({CleanText(p.name, sizeof p.name),
                                {p.index, p.index + p.rank},
                                p.value,
                                p.bound,
                                (p.flags & kAnswerExact) != 0,
                                (p.flags & kAnswerExcluded) != 0,
                                (p.flags & kAnswerAmbiguous) != 0,
                                p.slice});
  }
  return Ok();
}

}  // namespace

Result<OracleAnswer> DecodeResponse(const OracleQuery& query, std::span<const std::byte> response) {
  if (response.size() < sizeof(wire::Response)) return BadResponse("shorter than its head");
  wire::Response head;
  std::memcpy(&head, response.data(), sizeof head);
  ASSAY_TRY_STATUS(CheckStatus(head, query));
  OracleAnswer answer;
  ASSAY_TRY_STATUS(ReadOutputs(query, response, head, answer));
  ASSAY_TRY_STATUS(ReadPublished(response, head, answer));
  ASSAY_TRY(const auto terms, ReadTable<wire::Term>(response, head.terms, head.term_count, "terms"));
  for (const wire::Term& term : terms) {
    answer.terms.push_back({CleanText(term.label, sizeof term.label), term.value, term.rounding, term.sensitivity,
                            term.contribution, term.count});
  }
  answer.counts.assign(std::begin(head.counts), std::end(head.counts));
  answer.touched_bytes.assign(std::begin(head.touched_bytes),
                              std::begin(head.touched_bytes) + std::min<size_t>(query.tensors.size(), 64));
  answer.ambiguous_comparisons = head.ambiguous_comparisons;
  answer.tape_nodes = head.tape_nodes;
  return answer;
}

std::string OracleSource(const std::string& reference) {
  return "#include \"" + reference +
         "\"\n"
         "#include <assay/oracle.h>\n"
         "ASSAY_ORACLE(Reference);\n";
}

}  // namespace assay
