// SPDX-License-Identifier: Apache-2.0
#include "language/oracle.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <thread>

#include "base/check.h"
#include "contract/given.h"
#include "language/author_code.h"
#include "language/author_process.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSymbol = "assay_oracle";
// A slice costs a millisecond; a reference that needs minutes for a question is broken, not slow.
constexpr std::chrono::seconds kAnswerLimit{120};
constexpr uint64_t kMaxResponse = uint64_t{2} << 30;
// Below this many slices a second process costs more than it saves.
constexpr size_t kSlicesWorthSplitting = 32;

// The block of inputs that an oracle sees, still in pieces: where each tensor's bytes go.
struct Inputs {
  struct Part {
    uint64_t offset;
    std::span<const std::byte> bytes;
  };
  std::vector<Part> parts;
  uint64_t bytes = 0;
};

Error Unavailable(const AuthorFailure& failure) {
  switch (failure.kind) {
    case AuthorFailure::Kind::kNotLoaded:
      return Error{ErrorCode::kUnavailable, "the oracle does not load: " + failure.text};
    case AuthorFailure::Kind::kEndedAtStart:
      return Error{ErrorCode::kUnavailable, "the oracle ended at its start: " + failure.text};
    case AuthorFailure::Kind::kEnded:
      return Error{ErrorCode::kUnavailable, "the reference ended its process: " + failure.text};
    case AuthorFailure::Kind::kTooSlow:
      return Error{ErrorCode::kUnavailable,
                   fmt::format("the reference did not answer within {} s", kAnswerLimit.count())};
  }
  ASSAY_CHECK(false);
}

class Worker {
 public:
  explicit Worker(const fs::path& file) : process_(file, kSymbol) {}

  // `generation` counts Loads: inputs are copied once a call, and only into workers that are asked.
  Result<OracleAnswer> Ask(const OracleQuery& query, const Inputs& inputs, uint64_t generation,
                           uint64_t outputs_per_slice) {
    uint64_t room = ResponseBytes(query, outputs_per_slice, published_per_slice_);
    for (;;) {
      ASSAY_TRY(const std::vector<std::byte> request, EncodeRequest(query, inputs.bytes, room));
      ASSAY_TRY(const AuthorProcess::Reserved reserved, process_.Reserve(request.size(), room, inputs.bytes));
      if (reserved.fresh) generation_ = 0;
      if (reserved.failure) return Unavailable(*reserved.failure);
      if (generation != generation_) {
        for (const Inputs::Part& part : inputs.parts)
          std::memcpy(process_.Block().data() + part.offset, part.bytes.data(), part.bytes.size());
        generation_ = generation;
      }
      std::memcpy(process_.Request().data(), request.data(), request.size());
      ASSAY_TRY(const std::optional<AuthorFailure> failure, process_.Run(kAnswerLimit));
      if (failure) return Unavailable(*failure);
      auto answer = DecodeResponse(query, process_.Response().first(room));
      if (answer.ok() || answer.error().code != ErrorCode::kUnavailable || room >= kMaxResponse) return answer;
      // It did not fit, and the next question of this call will be like this one.
      published_per_slice_ *= 16;
      room = std::min(ResponseBytes(query, outputs_per_slice, published_per_slice_), kMaxResponse);
    }
  }

 private:
  AuthorProcess process_;
  uint64_t generation_ = 0;
  uint64_t published_per_slice_ = 4;
};

void Append(OracleAnswer& joined, OracleAnswer&& part, uint64_t first_slice) {
  const uint64_t offset = joined.outputs.size();
  for (size_t s = 0; s + 1 < part.slice_begin.size(); ++s) joined.slice_begin.push_back(part.slice_begin[s] + offset);
  joined.outputs.insert(joined.outputs.end(), part.outputs.begin(), part.outputs.end());
  for (OraclePublished& published : part.published) {
    published.slice += first_slice;
    joined.published.push_back(std::move(published));
  }
  joined.terms.insert(joined.terms.end(), part.terms.begin(), part.terms.end());
  const auto sum = [](std::vector<uint64_t>& to, const std::vector<uint64_t>& from) {
    to.resize(std::max(to.size(), from.size()));
    for (size_t i = 0; i < from.size(); ++i) to[i] += from[i];
  };
  sum(joined.counts, part.counts);
  sum(joined.touched_bytes, part.touched_bytes);
  joined.ambiguous_comparisons += part.ambiguous_comparisons;
  joined.tape_nodes += part.tape_nodes;
}

}  // namespace

struct Oracle::State {
  Contract contract;
  std::vector<Worker> workers;

  // Of the loaded call.
  uint64_t generation = 0;
  Shape shape;
  std::vector<OracleAxis> axes;
  std::vector<OracleScalar> scalars;
  std::vector<OracleTensor> tensors;
  Inputs inputs;
  uint64_t outputs_per_slice = 0;
};

Oracle::Oracle(std::unique_ptr<State> state) : state_(std::move(state)) {}
Oracle::~Oracle() = default;

Result<std::unique_ptr<Oracle>> Oracle::Start(const Contract& contract, const fs::path& cache, int processes) {
  auto state = std::make_unique<State>();
  state->contract = contract;
  // By its bare name: the object must not depend on where the contract lies.
  auto file = BuildAuthorCode(
      {"reference", contract.reference, OracleSource(contract.reference.filename().string()), kSymbol}, cache);
  if (!file.ok()) return Annotate(file.error(), "oracle of " + contract.name);
  for (int i = 0; i < std::max(1, processes); ++i) state->workers.emplace_back(file.value());
  return std::unique_ptr<Oracle>(new Oracle(std::move(state)));
}

Status Oracle::Load(const OracleCall& call) {
  State& state = *state_;
  const Contract& contract = state.contract;
  ASSAY_CHECK(call.scalars.size() == contract.scalars.size() && call.tensors.size() == contract.tensors.size());
  state.shape = *call.shape;
  state.axes.clear();
  for (const Axis& axis : contract.axes) state.axes.push_back({axis.name, call.shape->axes.at(axis.name)});
  state.scalars.clear();
  for (size_t i = 0; i < contract.scalars.size(); ++i) {
    const bool integer = !Info(contract.scalars[i].dtype).is_float;
    state.scalars.push_back({contract.scalars[i].name, contract.scalars[i].dtype, call.scalars[i],
                             integer ? static_cast<int64_t>(call.scalars[i]) : 0});
  }
  state.tensors.clear();
  uint64_t bytes = 0, outputs = 0;
  for (const Tensor& tensor : contract.tensors) {
    ASSAY_TRY(const TensorLayout layout, LayoutOf(contract, tensor, *call.shape));
    const bool given = tensor.role == Role::kOut && IsGiven(contract, tensor);
    OracleTensor wire{tensor.name,
                      tensor.dtype,
                      given ? OracleRole::kGiven : static_cast<OracleRole>(tensor.role),
                      !call.shape->absent_tensors.contains(tensor.name),
                      layout.extents,
                      layout.strides,
                      bytes};
    if (wire.present && tensor.role != Role::kIn) outputs += static_cast<uint64_t>(layout.element_count);
    if (wire.present && wire.role != OracleRole::kOut)
      bytes = RoundUp(bytes + static_cast<uint64_t>(layout.byte_span), 64);
    state.tensors.push_back(std::move(wire));
  }
  state.inputs = {{}, bytes};
  for (size_t t = 0; t < contract.tensors.size(); ++t) {
    if (state.tensors[t].role == OracleRole::kOut || !state.tensors[t].present || call.tensors[t].empty()) continue;
    ASSAY_CHECK(state.tensors[t].data + call.tensors[t].size() <= bytes);
    state.inputs.parts.push_back({state.tensors[t].data, call.tensors[t]});
  }
  const int64_t slices = std::max<int64_t>(1, SliceCount(contract, *call.shape));
  state.outputs_per_slice = outputs / static_cast<uint64_t>(slices) + 1;
  ++state.generation;
  return Ok();
}

Result<OracleAnswer> Oracle::Evaluate(OracleQuery how, std::span<const int64_t> slices, const Tensor* own) {
  State& state = *state_;
  ASSAY_CHECK(state.generation > 0);
  if (slices.empty()) return OracleAnswer{{}, {0}, {}, {}, {}, {}, 0, 0};
  how.axes = state.axes;
  how.scalars = state.scalars;
  how.tensors = state.tensors;
  how.slice_rank = static_cast<uint32_t>(state.contract.slice.size());
  how.slice_tensor = -1;
  if (own != nullptr) {
    const auto named = std::ranges::find(state.contract.tensors, own->name, &Tensor::name);
    ASSAY_CHECK(named != state.contract.tensors.end() && named->compare);
    own = &*named;
    how.slice_rank = static_cast<uint32_t>(own->compare->slice.size());
    how.slice_tensor = static_cast<int32_t>(named - state.contract.tensors.begin());
  }
  const bool split =
      slices.size() >= kSlicesWorthSplitting && how.slice_rank > 0 && how.arithmetic != Arithmetic::kExplain;
  const size_t parts = split ? std::min(state.workers.size(), slices.size()) : 1;
  std::vector<std::optional<Result<OracleAnswer>>> answers(parts);
  const auto first_of = [&](size_t part) { return slices.size() * part / parts; };
  const auto ask = [&](size_t part) {
    OracleQuery query = how;
    query.slices.clear();
    for (size_t s = first_of(part); s < first_of(part + 1) && how.slice_rank > 0; ++s) {
      const std::vector<int64_t> index = own != nullptr ? SliceIndex(state.contract, *own, state.shape, slices[s])
                                                        : SliceIndex(state.contract, state.shape, slices[s]);
      query.slices.insert(query.slices.end(), index.begin(), index.end());
    }
    answers[part] = state.workers[part].Ask(query, state.inputs, state.generation, state.outputs_per_slice);
  };
  std::vector<std::thread> threads;
  for (size_t part = 1; part < parts; ++part) threads.emplace_back(ask, part);
  ask(0);
  for (std::thread& thread : threads) thread.join();
  OracleAnswer joined;
  for (size_t part = 0; part < parts; ++part) {
    if (!answers[part]->ok()) return Annotate(answers[part]->error(), "oracle of " + state.contract.name);
    Append(joined, std::move(*answers[part]).value(), first_of(part));
  }
  joined.slice_begin.push_back(joined.outputs.size());
  return joined;
}

}  // namespace assay
