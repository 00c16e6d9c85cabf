// SPDX-License-Identifier: Apache-2.0
#pragma once

// Turns an author's Reference into one C symbol that answers requests (oracle_wire.h):
//   #include "reference.h"        // the author's
//   #include <assay/oracle.h>
//   ASSAY_ORACLE(Reference)
// Three pointers are all it sees.  It allocates memory, keeps no state between calls, needs no
// start-up code and throws nothing out.

#include <algorithm>
#include <cstring>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "oracle_wire.h"
#include "reference.h"

namespace assay::oracle {

// A request that the supervisor should not have sent.
struct BadRequest {
  std::string message;
};

[[noreturn]] ASSAY_COLD inline void Refuse(std::string message) { throw BadRequest{std::move(message)}; }

// Thrown when the response is full.
struct NoRoom {};

ASSAY_COLD inline std::string_view NameAt(const wire::Request& request, const std::byte* base, wire::Name name) {
  if (uint64_t{name.offset} + name.bytes > request.strings_bytes) Refuse("a name lies outside the strings");
  return {reinterpret_cast<const char*>(base + request.strings) + name.offset, name.bytes};
}

template <class T>
const T* Table(const wire::Request& request, const std::byte* base, uint64_t offset, uint64_t count) {
  if (offset % 8 != 0 || offset > request.request_bytes || count > (request.request_bytes - offset) / sizeof(T)) {
    Refuse("a table lies outside the request");
  }
  return reinterpret_cast<const T*>(base + offset);
}

// Bytes from the first element to the end of the last, refusing what overflows.
ASSAY_COLD inline uint64_t Extent(const TensorView& tensor) {
  int64_t last = 0;
  for (int d = 0; d < tensor.rank; ++d) {
    if (tensor.shape[d] < 0 || tensor.stride[d] < 0) Refuse("a negative size or stride");
    if (tensor.shape[d] == 0) return 0;
    int64_t step = 0;
    if (__builtin_mul_overflow(tensor.shape[d] - 1, tensor.stride[d], &step) ||
        __builtin_add_overflow(last, step, &last) || last > (int64_t{1} << 48)) {
      Refuse("a tensor is too large");
    }
  }
  return static_cast<uint64_t>(StorageBytes(tensor.dtype, last + 1));
}

ASSAY_COLD inline TensorView ViewOf(const wire::Request& request, const std::byte* base, const wire::Tensor& wire,
                                    const std::byte* inputs) {
  TensorView view;
  view.name = NameAt(request, base, wire.name);
  if (wire.dtype >= kDTypeCount || wire.role > 3 || wire.rank > wire::kMaxRank) Refuse("a tensor of unknown kind");
  view.dtype = static_cast<DType>(wire.dtype);
  view.role = static_cast<OracleRole>(wire.role);
  view.present = wire.present != 0;
  view.rank = static_cast<int>(wire.rank);
  std::copy_n(wire.shape, wire::kMaxRank, view.shape);
  std::copy_n(wire.stride, wire::kMaxRank, view.stride);
  const uint64_t bytes = Extent(view);
  if (!view.present || view.role == OracleRole::kOut) return view;
  if (wire.data % 8 != 0 || wire.data > request.inputs_bytes || bytes > request.inputs_bytes - wire.data) {
    Refuse("a tensor lies outside the inputs");
  }
  view.data = inputs + wire.data;
  return view;
}

ASSAY_COLD inline Context ContextOf(const wire::Request& request, const std::byte* base, const std::byte* inputs) {
  Context context;
  if (request.axis_count > wire::kMaxNames || request.scalar_count > wire::kMaxNames ||
      request.tensor_count > wire::kMaxNames) {
    Refuse("too many names");
  }
  Table<char>(request, base, request.strings, request.strings_bytes);
  const auto* axes = Table<wire::Axis>(request, base, request.axes, request.axis_count);
  const auto* scalars = Table<wire::Scalar>(request, base, request.scalars, request.scalar_count);
  const auto* tensors = Table<wire::Tensor>(request, base, request.tensors, request.tensor_count);
  for (uint32_t i = 0; i < request.axis_count; ++i)
    context.axes.push_back({NameAt(request, base, axes[i].name), axes[i].value});
  for (uint32_t i = 0; i < request.scalar_count; ++i) {
    if (scalars[i].dtype >= kDTypeCount) Refuse("a scalar of unknown type");
    context.scalars.push_back({NameAt(request, base, scalars[i].name), static_cast<DType>(scalars[i].dtype),
                               scalars[i].value, scalars[i].integer});
  }
  for (uint32_t i = 0; i < request.tensor_count; ++i)
    context.tensors.push_back(ViewOf(request, base, tensors[i], inputs));
  return context;
}

ASSAY_COLD inline void Configure(const wire::Request& request) {
  if (request.format >= kDTypeCount || !IsFloating(static_cast<DType>(request.format)))
    Refuse("the arithmetic's format is no floating-point type");
  if (request.order > 3 || request.elementary > 2 || request.mutant >= kMutantKindCount ||
      request.mutant_format >= kDTypeCount || request.mutant_primitive >= kPrimitiveCount ||
      request.mutant_tensor < -1) {
    Refuse("an unknown order, function quality or mutant");
  }
  Environment& env = environment;
  SetFormat(env, static_cast<DType>(request.format), request.flush != 0);
  env.random = request.random != 0;
  env.outputs = request.outputs >= 1.0 ? request.outputs : 1.0;
  env.order = static_cast<Order>(request.order);
  env.fma = request.fma != 0;
  env.elementary = static_cast<Elementary>(request.elementary);
  env.perturb = request.perturb;
  env.noise = request.noise | 1U;
  env.mutant = {static_cast<MutantKind>(request.mutant), static_cast<Primitive>(request.mutant_primitive),
                static_cast<DType>(request.mutant_format), request.mutant_tensor, request.mutant_amount};
  env.plain_single = env.format == DType::kF32 && !(env.perturb > 0.0) && env.mutant.kind == MutantKind::kNone;
}

// Writes answers behind the response's head, one after the other.
class Writer final : public Sink {
 public:
  Writer(const wire::Request& request, std::byte* base) : request_(request), base_(base) {
    head_ = reinterpret_cast<wire::Response*>(base);
    *head_ = wire::Response{};
    head_->magic = wire::kResponseMagic;
    head_->version = wire::kVersion;
    head_->slices = sizeof(wire::Response);
    if (request.slice_count > (request.response_bytes - sizeof(wire::Response)) / sizeof(wire::Slice)) throw NoRoom{};
    head_->records = head_->slices + request.slice_count * sizeof(wire::Slice);
    used_ = head_->records;
  }

  void Write(int tensor, int64_t element, const Answer& answer) override {
    if (sizeof(wire::Record) > request_.response_bytes - used_) throw NoRoom{};
    const wire::Record record{element, answer.value, answer.bound, static_cast<uint32_t>(tensor), answer.flags};
    std::memcpy(base_ + used_, &record, sizeof record);
    used_ += sizeof record;
    ++head_->record_count;
  }

  ASSAY_COLD void Publish(NamedAnswer answer) override {
    if (published_.size() >= wire::kMaxPublished) throw NoRoom{};
    published_.push_back({std::move(answer), head_->slices_done});
  }

  ASSAY_COLD void Touch(int tensor, int64_t element) override {
    const auto t = static_cast<size_t>(tensor), e = static_cast<size_t>(element);
    if (touched_.size() <= t) touched_.resize(t + 1);
    if (touched_[t].size() <= e) touched_[t].resize(std::max(e + 1, 2 * touched_[t].size()));
    touched_[t][e] = true;
  }

  void EndSlice(uint64_t first) {
    const wire::Slice slice{first, head_->record_count - first};
    std::memcpy(base_ + head_->slices + head_->slices_done * sizeof slice, &slice, sizeof slice);
    ++head_->slices_done;
  }

  // What was collected beside the records, behind them.
  ASSAY_COLD void Close(const Context& context, const std::vector<wire::Term>& terms) {
    head_->published = used_;
    for (const auto& [answer, slice] : published_) {
      if (slice < head_->slices_done) AppendPublished(answer, slice);
    }
    head_->terms = used_;
    for (const wire::Term& term : terms) {
      Append(&term, sizeof term);
      ++head_->term_count;
    }
    for (size_t t = 0; t < touched_.size() && t < 64; ++t) {
      const auto elements = std::count(touched_[t].begin(), touched_[t].end(), true);
      head_->touched_bytes[t] = static_cast<uint64_t>(StorageBytes(context.tensors[t].dtype, elements));
    }
    head_->ambiguous_comparisons = environment.ambiguous_comparisons;
  }

  wire::Response& head() { return *head_; }

 private:
  struct PublishedInSlice {
    NamedAnswer answer;
    uint64_t slice;
  };

  void Append(const void* bytes, size_t size) {
    if (size > request_.response_bytes - used_) throw NoRoom{};
    std::memcpy(base_ + used_, bytes, size);
    used_ += size;
  }

  ASSAY_COLD void AppendPublished(const NamedAnswer& answer, uint64_t slice) {
    wire::Published record{};
    std::memcpy(record.name, answer.name.data(), std::min(answer.name.size(), sizeof record.name - 1));
    record.rank = static_cast<uint32_t>(answer.rank);
    record.flags = answer.answer.flags;
    std::copy(answer.index.begin(), answer.index.end(), record.index);
    record.value = answer.answer.value;
    record.bound = answer.answer.bound;
    record.slice = slice;
    Append(&record, sizeof record);
    ++head_->published_count;
  }

  const wire::Request& request_;
  std::byte* base_;
  wire::Response* head_;
  uint64_t used_ = 0;
  std::vector<PublishedInSlice> published_;
  std::vector<std::vector<bool>> touched_;
};

ASSAY_COLD inline void Say(wire::Response& head, wire::Status status, std::string_view message) {
  head.status = static_cast<uint32_t>(status);
  const size_t length = std::min(message.size(), sizeof head.message - 1);
  std::memcpy(head.message, message.data(), length);
  head.message[length] = '\0';
}

// `Body` calls the reference with one arithmetic: body.template Run<Real>(context, slice).
template <class Real, class Body>
void RunSlices(const wire::Request& request, const int64_t* slices, Context& context, Writer& writer,
               const Body& body) {
  context.sink = &writer;
  const std::string_view own =
      request.slice_tensor < 0 ? std::string_view() : context.tensors[static_cast<size_t>(request.slice_tensor)].name;
  for (uint64_t s = 0; s < request.slice_count; ++s) {
    environment.ambiguous = false;
    if (environment.tape != nullptr) environment.tape->Clear();
    const uint64_t first = writer.head().record_count;
    body.template Run<Real>(Args<Real>(context),
                            Slice(slices + s * request.slice_rank, static_cast<int>(request.slice_rank), own));
    writer.EndSlice(first);
  }
}

// The largest contributions to the bound of the element that was asked about, with names.
ASSAY_COLD inline std::vector<wire::Term> TermsOf(const Tape& tape, const Context& context, size_t most) {
  std::vector<wire::Term> terms;
  for (const TapeTerm& group : tape.terms) {
    if (terms.size() >= most) break;
    const int label = group.node.label;
    std::string text = label < kTapeOpCount ? kTapeOpNames[label] : kFnNames[label - kTapeOpCount];
    if (group.node.left >= 0 && group.node.right >= 0) {
      text += "(" + std::string(context.tensors[static_cast<size_t>(group.node.left)].name) + ", " +
              std::string(context.tensors[static_cast<size_t>(group.node.right)].name) + ")";
    }
    wire::Term term{};
    std::memcpy(term.label, text.data(), std::min(text.size(), sizeof term.label - 1));
    term.value = group.node.value;
    term.rounding = group.node.rounding;
    term.sensitivity = group.sensitivity;
    term.contribution = group.contribution;
    term.count = group.count;
    terms.push_back(term);
  }
  return terms;
}

template <class Body>
ASSAY_COLD std::vector<wire::Term> RunTaped(const wire::Request& request, const int64_t* slices, Context& context,
                                            Writer& writer, const Body& body) {
  Tape tape;
  tape.stride = request.sample_stride == 0 ? 1 : request.sample_stride;
  tape.phase = request.sample_phase % tape.stride;
  tape.explain = request.arithmetic == static_cast<uint32_t>(wire::Arithmetic::kExplain);
  tape.explain_tensor = request.explain_tensor;
  tape.explain_element = request.explain_element;
  environment.tape = &tape;
  RunSlices<Taped>(request, slices, context, writer, body);
  tape.Clear();
  environment.tape = nullptr;
  writer.head().tape_nodes = tape.most_nodes;
  return TermsOf(tape, context, request.explain_terms);
}

template <class Body>
ASSAY_COLD void RunCounted(const wire::Request& request, const int64_t* slices, Context& context, Writer& writer,
                           const Body& body) {
  Counters counters;
  counters.sink = &writer;
  environment.counters = &counters;
  RunSlices<Counted>(request, slices, context, writer, body);
  environment.counters = nullptr;
  static_assert(kOperationCount <= static_cast<int>(std::size(wire::Response{}.counts)));
  std::copy(std::begin(counters.counts), std::end(counters.counts), writer.head().counts);
}

template <class Body>
ASSAY_COLD void Dispatch(const wire::Request& request, const int64_t* slices, Context& context, Writer& writer,
                         const Body& body) {
  std::vector<wire::Term> terms;
  switch (static_cast<wire::Arithmetic>(request.arithmetic)) {
    case wire::Arithmetic::kDouble:
      RunSlices<double>(request, slices, context, writer, body);
      break;
    case wire::Arithmetic::kWide:
      RunSlices<long double>(request, slices, context, writer, body);
      break;
    case wire::Arithmetic::kBounded:
      RunSlices<Bounded>(request, slices, context, writer, body);
      break;
    case wire::Arithmetic::kExact:
      RunSlices<Exact>(request, slices, context, writer, body);
      break;
    case wire::Arithmetic::kHonest:
      RunSlices<Honest>(request, slices, context, writer, body);
      break;
    case wire::Arithmetic::kTaped:
    case wire::Arithmetic::kExplain:
      terms = RunTaped(request, slices, context, writer, body);
      break;
    case wire::Arithmetic::kCount:
      RunCounted(request, slices, context, writer, body);
      break;
    default:
      Refuse("an unknown arithmetic");
  }
  writer.Close(context, terms);
}

template <class Body>
ASSAY_COLD void Serve(const void* request_bytes, void* response_bytes, const void* inputs, const Body& body) {
  const auto* base = static_cast<const std::byte*>(request_bytes);
  wire::Request request;
  std::memcpy(&request, base, sizeof request);
  if (request.magic != wire::kRequestMagic || request.response_bytes < sizeof(wire::Response)) return;
  auto* const head = static_cast<wire::Response*>(response_bytes);
  Workspace workspace;
  environment.workspace = &workspace;
  try {
    Writer writer(request, static_cast<std::byte*>(response_bytes));
    if (request.version != wire::kVersion || request.request_bytes < sizeof request)
      Refuse("another version of the protocol");
    if (request.slice_rank > wire::kMaxRank) Refuse("too many slice axes");
    Configure(request);
    Context context = ContextOf(request, base, static_cast<const std::byte*>(inputs));
    const uint64_t numbers = request.slice_count * request.slice_rank;
    if (request.slice_tensor < -1 || request.slice_tensor >= static_cast<int32_t>(context.tensors.size()))
      Refuse("slices of no tensor");
    if (request.slice_count > request.request_bytes && request.slice_rank > 0)
      Refuse("more slices than the request holds");
    Dispatch(request, Table<int64_t>(request, base, request.slices, numbers), context, writer, body);
  } catch (const ReferenceFailure& failure) {
    Say(*head, wire::Status::kReference, failure.message);
  } catch (const BadRequest& bad) {
    Say(*head, wire::Status::kRequest, bad.message);
  } catch (const NoRoom&) {
    Say(*head, wire::Status::kNoRoom, "the response is full");
  } catch (const std::exception& error) {
    Say(*head, wire::Status::kReference, error.what());
  } catch (...) {
    Say(*head, wire::Status::kReference, "the reference threw something");
  }
  environment = Environment{};
}

}  // namespace assay::oracle

// One symbol, whatever the flags say about visibility.
#define ASSAY_ORACLE(reference)                                                                            \
  namespace assay::oracle {                                                                                \
  struct AuthorsReference {                                                                                \
    template <class Real>                                                                                  \
    void Run(const ::assay::Args<Real>& args, const ::assay::Slice& slice) const {                         \
      ::reference<Real>(args, slice);                                                                      \
    }                                                                                                      \
  };                                                                                                       \
  }                                                                                                        \
  extern "C" __attribute__((visibility("default"))) void assay_oracle(const void* request, void* response, \
                                                                      const void* inputs) {                \
    ::assay::oracle::Serve(request, response, inputs, ::assay::oracle::AuthorsReference{});                \
  }                                                                                                        \
  static_assert(true)
