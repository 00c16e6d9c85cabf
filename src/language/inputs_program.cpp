// SPDX-License-Identifier: Apache-2.0
#include "language/inputs_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/check.h"
#include "contract/values.h"
#include "language/author_code.h"
#include "language/author_process.h"
#include "language/cpp/builder.h"
#include "language/oracle.h"
#include "numerics/assay/draw_program.h"
#include "numerics/oracle_client.h"

namespace assay {
namespace {

constexpr const char* kSymbol = "assay_inputs";
// Inputs of the largest timed shape take a fraction of a second; a loop without end must end.
constexpr std::chrono::seconds kFillLimit{20};

std::vector<int64_t> DenseStrides(const std::vector<int64_t>& extents) {
  std::vector<int64_t> strides(extents.size(), 1);
  for (size_t d = extents.size(); d-- > 1;) strides[d - 1] = strides[d] * extents[d];
  return strides;
}

// One call as the program is told of it, and where its pieces lie.
struct Plan {
  OracleQuery query;
  std::vector<TensorLayout> layouts;  // by tensor of the contract
  std::vector<size_t> drawn, filled;  // tensors of the contract
  std::vector<uint64_t> drawn_at;     // in the block of what was drawn
  std::vector<uint64_t> filled_at;    // in the response
  uint64_t drawn_bytes = 0, response_bytes = sizeof(wire::DrawResponse);
};

}  // namespace

struct InputsProgram::State {
  Contract contract;
  std::filesystem::path source;
  std::optional<AuthorProcess> process;
  std::mutex mutex;

  Error Blame(std::string_view what, std::string_view remedy) const {
    return Error{ErrorCode::kInvalidInput, fmt::format("{}: {}; {}", source.string(), what, remedy)};
  }
  Result<Plan> PlanFor(const Shape& shape, std::span<const double> scalars, const Seed& seed) const;
  Error BlameFor(const AuthorFailure& failure, const Shape& shape) const;
  Status TakeScalars(const Plan& plan, std::span<double> scalars) const;
  Status TakeTensor(const Plan& plan, size_t f, const Shape& shape, std::span<std::byte> out, Stream& stream) const;
};

InputsProgram::InputsProgram(std::unique_ptr<State> state) : state_(std::move(state)) {}
InputsProgram::~InputsProgram() = default;

Result<std::unique_ptr<InputsProgram>> InputsProgram::Start(const Contract& contract) {
  auto state = std::make_unique<State>();
  state->contract = contract;
  state->source = contract.folder / kInputsFile;
  const std::string source =
      fmt::format("#include \"{}\"\n#include <assay/draw_program.h>\nASSAY_INPUTS(Inputs);\n", kInputsFile);
  ASSAY_TRY(const std::filesystem::path object,
            BuildAuthorCode({"inputs", state->source, source, kSymbol}, DefaultCacheFolder()));
  state->process.emplace(object, kSymbol);
  return std::unique_ptr<InputsProgram>(new InputsProgram(std::move(state)));
}

Result<InputsProgram*> InputsProgram::Of(const Contract& contract) {
  static std::mutex mutex;
  static std::map<Digest, std::unique_ptr<InputsProgram>> programs;
  const std::lock_guard lock(mutex);
  auto& program = programs[contract.hash];
  if (program == nullptr) {
    ASSAY_TRY(program, Start(contract));
  }
  return program.get();
}

Result<Plan> InputsProgram::State::PlanFor(const Shape& shape, std::span<const double> scalars,
                                           const Seed& seed) const {
  Plan plan;
  for (const Axis& axis : contract.axes) plan.query.axes.push_back({axis.name, shape.axes.at(axis.name)});
  for (size_t i = 0; i < contract.scalars.size(); ++i) {
    const Scalar& scalar = contract.scalars[i];
    const double value = scalar.from_program() ? std::numeric_limits<double>::quiet_NaN() : scalars[i];
    const bool integer = !Info(scalar.dtype).is_float && !std::isnan(value);
    plan.query.scalars.push_back({scalar.name, scalar.dtype, value, integer ? static_cast<int64_t>(value) : 0});
  }
  for (size_t t = 0; t < contract.tensors.size(); ++t) {
    const Tensor& tensor = contract.tensors[t];
    ASSAY_TRY(TensorLayout layout, LayoutOf(contract, tensor, shape));
    plan.layouts.push_back(layout);
    if (tensor.role == Role::kOut) continue;
    const bool fill = tensor.from_program(), present = !shape.absent_tensors.contains(tensor.name);
    OracleTensor wire{tensor.name,
                      tensor.dtype,
                      fill ? OracleRole::kOut : OracleRole::kIn,
                      present,
                      layout.extents,
                      layout.strides,
                      0};
    if (fill) {
      wire.stride = DenseStrides(layout.extents);
      plan.response_bytes = RoundUp(plan.response_bytes, 64);
      wire.data = plan.response_bytes;
      if (present) {
        plan.filled.push_back(t);
        plan.filled_at.push_back(wire.data);
        plan.response_bytes += ByteSize(tensor.dtype, static_cast<size_t>(layout.element_count));
      }
    } else if (present) {
      wire.data = plan.drawn_bytes;
      plan.drawn.push_back(t);
      plan.drawn_at.push_back(wire.data);
      plan.drawn_bytes = RoundUp(plan.drawn_bytes + static_cast<uint64_t>(layout.byte_span), 64);
    }
    plan.query.tensors.push_back(std::move(wire));
  }
  plan.response_bytes = std::max(plan.response_bytes, ResponseBytes(plan.query, 0));
  plan.query.noise = Stream(seed).Next();
  return plan;
}

Error InputsProgram::State::BlameFor(const AuthorFailure& failure, const Shape& shape) const {
  const auto at = [&] { return Describe(contract, shape); };
  switch (failure.kind) {
    case AuthorFailure::Kind::kNotLoaded:
      return Blame("it does not load: " + failure.text, "keep to the standard library and <assay/draw.h>");
    case AuthorFailure::Kind::kEndedAtStart:
      return Blame("it ended at its start: " + failure.text, "keep code out of constructors");
    case AuthorFailure::Kind::kEnded:
      return Blame(fmt::format("Inputs ended its process at {}: {}", at(), failure.text),
                   "check its indices and pointers");
    case AuthorFailure::Kind::kTooSlow:
      return Blame(fmt::format("Inputs did not return within {} s at {}", kFillLimit.count(), at()), "bound its loops");
  }
  ASSAY_CHECK(false);
}

Status InputsProgram::State::TakeScalars(const Plan& plan, std::span<double> scalars) const {
  wire::DrawResponse head;
  std::memcpy(&head, process->Response().data(), sizeof head);
  head.message[sizeof head.message - 1] = 0;
  if (head.magic != wire::kDrawMagic || head.version != wire::kVersion)
    return Blame("its answer makes no sense", "let it write where it is asked to alone");
  if (head.status != static_cast<uint32_t>(wire::Status::kOk)) return Blame(head.message, "correct Inputs");
  for (size_t i = 0; i < scalars.size(); ++i) {
    // One that a workload fixes stays as it is, whatever the program says of it.
    if (!contract.scalars[i].from_program() || !std::isnan(scalars[i])) continue;
    if (!std::isfinite(head.scalars[i]))
      return Blame(fmt::format("scalar {} is not finite", contract.scalars[i].name), "set a number");
    scalars[i] = head.scalars[i];
  }
  ASSAY_CHECK(plan.query.scalars.size() == scalars.size());
  return Ok();
}

// Element by element: what an author's code wrote is believed no more than what he typed.
Status InputsProgram::State::TakeTensor(const Plan& plan, size_t f, const Shape& shape, std::span<std::byte> out,
                                        Stream& stream) const {
  const Tensor& tensor = contract.tensors[plan.filled[f]];
  const TensorLayout& layout = plan.layouts[plan.filled[f]];
  const auto from =
      process->Response().subspan(plan.filled_at[f], ByteSize(tensor.dtype, static_cast<size_t>(layout.element_count)));
  const ShapeNames names(shape);
  double low = -std::numeric_limits<double>::infinity(), high = -low;
  if (tensor.range.size() == 2) {
    ASSAY_TRY(low, tensor.range[0].EvaluateNumber(names.names()));
    ASSAY_TRY(high, tensor.range[1].EvaluateNumber(names.names()));
  }
  if (layout.padded) FillPoison(tensor.dtype, out.first(static_cast<size_t>(layout.byte_span)), stream);
  for (int64_t e = 0; e < layout.element_count; ++e) {
    const double value = LoadElement(tensor.dtype, from, e);
    const bool allowed = (value >= low && value <= high && (std::isfinite(value) || !Info(tensor.dtype).is_float)) ||
                         (contract.policy.special_propagates && tensor.range.empty());
    if (!allowed) {
      return Blame(fmt::format("tensor {}: element {} is {} at {}", tensor.name, e, value, Describe(contract, shape)),
                   tensor.range.empty() ? "set a finite number, or say special = \"propagate\""
                                        : fmt::format("keep within its range, {} to {}", low, high));
    }
    if (layout.padded) {
      StoreElement(tensor.dtype, out, ElementOffset(layout, e), value);
    }
  }
  if (!layout.padded) std::copy(from.begin(), from.end(), out.begin());
  return Ok();
}

Status InputsProgram::Fill(const Shape& shape, std::span<double> scalars,
                           const std::function<std::span<std::byte>(size_t tensor)>& bytes, const Seed& seed) {
  State& state = *state_;
  ASSAY_CHECK(scalars.size() == state.contract.scalars.size());
  const std::lock_guard lock(state.mutex);
  ASSAY_TRY(const Plan plan, state.PlanFor(shape, scalars, seed.Derive("inputs.cpp")));
  ASSAY_TRY(const std::vector<std::byte> request, EncodeRequest(plan.query, plan.drawn_bytes, plan.response_bytes));
  AuthorProcess& process = *state.process;
  ASSAY_TRY(const AuthorProcess::Reserved reserved,
            process.Reserve(request.size(), plan.response_bytes, plan.drawn_bytes));
  if (reserved.failure) return state.BlameFor(*reserved.failure, shape);
  std::memcpy(process.Request().data(), request.data(), request.size());
  for (size_t d = 0; d < plan.drawn.size(); ++d) {
    // A smaller call may lie in the buffers of a larger one.
    const auto from = bytes(plan.drawn[d]).first(static_cast<size_t>(plan.layouts[plan.drawn[d]].byte_span));
    std::memcpy(process.Block().data() + plan.drawn_at[d], from.data(), from.size());
  }
  ASSAY_TRY(const std::optional<AuthorFailure> failure, process.Run(kFillLimit));
  if (failure) return state.BlameFor(*failure, shape);
  ASSAY_TRY_STATUS(state.TakeScalars(plan, scalars));
  Stream stream(seed.Derive("gaps"));
  for (size_t f = 0; f < plan.filled.size(); ++f) {
    if (plan.layouts[plan.filled[f]].element_count == 0) continue;
    ASSAY_TRY_STATUS(state.TakeTensor(plan, f, shape, bytes(plan.filled[f]), stream));
  }
  return Ok();
}

Status FillFromProgram(const Contract& contract, const Shape& shape, std::span<double> scalars,
                       const std::function<std::span<std::byte>(size_t tensor)>& bytes, const Seed& seed) {
  const bool needed =
      std::any_of(contract.tensors.begin(), contract.tensors.end(), std::mem_fn(&Tensor::from_program)) ||
      std::any_of(contract.scalars.begin(), contract.scalars.end(), std::mem_fn(&Scalar::from_program));
  if (!needed) return Ok();
  ASSAY_TRY(InputsProgram* const program, InputsProgram::Of(contract));
  return program->Fill(shape, scalars, bytes, seed);
}

}  // namespace assay
