// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <map>
#include <set>

#include "app/cli/commands.h"
#include "app/cli/output.h"
#include "app/cli/passage.h"
#include "app/cli/places.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "contract/load.h"
#include "language/cpp/directives.h"
#include "record/advance.h"
#include "record/json.h"
#include "report/redteam.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr size_t kMostPoints = 64;
constexpr const char* kUsualContract = "softmax_rows";  // of a file that names none

// A file of the corpus and what it says of itself before any contract is known.
struct CorpusFile {
  fs::path path;
  std::string name;  // below the corpus
  std::string class_name, contract, twin;
  std::string source;
  std::optional<Expectation> expectation;
  bool understood = true;  // its expectation is one
};

// `assay:note class: timing, contract: gemm, twin: honest.cpp`: pairs of these keys, other text is prose.
std::map<std::string, std::string> Pairs(const std::vector<std::string>& notes) {
  std::map<std::string, std::string> pairs;
  for (const std::string& note : notes) {
    for (const std::string_view part : Split(note, ',')) {
      const size_t colon = part.find(':');
      if (colon == std::string_view::npos) continue;
      const std::string key(Trim(part.substr(0, colon)));
      if (key == "class" || key == "contract" || key == "twin") pairs[key] = std::string(Trim(part.substr(colon + 1)));
    }
  }
  return pairs;
}

bool IsWordByte(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

bool HasCallOf(std::string_view source, std::string_view name) {
  for (size_t at = source.find(name); at != std::string_view::npos; at = source.find(name, at + 1)) {
    const std::string_view rest = Trim(source.substr(at + name.size()));
    if ((at == 0 || !IsWordByte(source[at - 1])) && rest.starts_with('(')) return true;
  }
  return false;
}

// For a file that does not say: the folder on its path that is named as a contract, else the contract
// whose entry it defines.
Result<std::string> GuessContract(const fs::path& path, const std::string& source) {
  std::set<std::string> seen;
  std::string by_entry;
  for (const fs::path& folder : ContractFolders()) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder, error)) {
      const std::string name = entry.path().filename().string();
      if (!fs::exists(entry.path() / "contract.toml", error) || !seen.insert(name).second) continue;
      for (const fs::path& part : path.parent_path()) {
        if (part == name) return name;
      }
      const auto contract = LoadContract(entry.path());
      if (by_entry.empty() && contract.ok() && HasCallOf(source, contract.value().entry)) by_entry = name;
    }
  }
  return by_entry.empty() ? std::string(kUsualContract) : by_entry;
}

Result<std::vector<CorpusFile>> ReadCorpus(const RedteamArguments& arguments) {
  fs::path folder = arguments.folder;
  if (folder.empty()) {
    ASSAY_TRY(folder, ShippedCorpus());
  }
  std::error_code error;
  if (!fs::is_directory(folder, error))
    return Error{ErrorCode::kNotFound, Printable(folder.string()) + ": no such folder; name one with hostile kernels"};
  std::vector<CorpusFile> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder, error)) {
    if (!entry.is_regular_file(error) || entry.path().extension() != ".cpp") continue;
    CorpusFile file;
    file.path = entry.path();
    file.name = fs::relative(entry.path(), folder, error).string();
    ASSAY_TRY(file.source, ReadFile(entry.path()));
    SourceHead head = ReadHead(file.source);
    file.expectation = std::move(head.expectation);
    file.understood = head.understood;
    std::map<std::string, std::string> says = Pairs(head.notes);
    file.class_name = says.contains("class") ? says["class"] : entry.path().stem().string();
    file.contract = says["contract"];
    file.twin = says["twin"];
    if (file.contract.empty()) {
      ASSAY_TRY(file.contract, GuessContract(file.name, file.source));
    }
    const auto& only = arguments.only;
    if (!only.empty() && std::find(only.begin(), only.end(), file.class_name) == only.end()) continue;
    if (!arguments.contract.empty() && file.contract != arguments.contract) continue;
    files.push_back(std::move(file));
  }
  if (files.empty())
    return Error{ErrorCode::kNotFound, Printable(folder.string()) + ": no .cpp file of that class and contract in it"};
  std::sort(files.begin(), files.end(), [](const CorpusFile& a, const CorpusFile& b) {
    return std::tie(a.contract, a.name) < std::tie(b.contract, b.name);
  });
  return files;
}

// A source whose directives cannot be read has no knobs, and the builder says what it thinks of it.
Candidate AsItIs(const CorpusFile& file) {
  Candidate candidate;
  candidate.template_name = file.path.stem().string();
  candidate.source = file.source;
  candidate.source_hash = Sha256(file.source);
  return NamedByContent(std::move(candidate));
}

// Every legal point of a file's knobs; an error when there are too many, or none.
Result<std::vector<Candidate>> PointsOf(const Template& family) {
  std::vector<KnobValues> points{{}};
  for (const Knob& knob : family.knobs) {
    std::vector<KnobValues> more;
    for (const KnobValues& point : points) {
      for (const std::string& value : knob.values) {
        more.push_back(point);
        more.back()[knob.name] = value;
      }
    }
    points = std::move(more);
    if (points.size() > kMostPoints)
      return Error{ErrorCode::kInvalidInput, family.path.string() + ": more than 64 points; give it fewer knob values"};
  }
  std::vector<Candidate> candidates;
  std::optional<Error> last;
  for (const KnobValues& point : points) {
    Result<Candidate> candidate = MakeCandidate(family, point, {});
    if (!candidate.ok()) last = candidate.error();
    if (candidate.ok()) candidates.push_back(std::move(candidate).value());
  }
  if (candidates.empty()) return *last;
  return candidates;
}

// Everything that a command needs while it goes through the corpus, contract by contract.
class Redteam {
 public:
  explicit Redteam(const RedteamArguments& arguments) {
    run_.seeds = arguments.seeds;
    run_.without = arguments.without;
  }

  Status Go(const std::vector<CorpusFile>& files);
  RedteamRun run_;

 private:
  Status OneFile(const CorpusFile& file);
  Result<Workshop*> ShopOf(const std::string& contract, int seed);
  Result<RedteamCase> OneCase(const CorpusFile& file, const Candidate& candidate, int seed);
  Status OnTheClock(const CorpusFile& file, Workshop& shop, Passage& passage, RedteamCase& one);
  void Add(RedteamCase one);

  std::string contract_;                          // of the shops
  std::vector<std::unique_ptr<Workshop>> shops_;  // one a seed: each has secrets of its own
};

// A misspelt name would leave nothing out and prove the wrong thing.
Status Known(const std::vector<std::string>& without, const std::vector<std::string>& names) {
  for (const std::string& name : without) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    return Error{ErrorCode::kInvalidInput,
                 "--without " + Printable(name) + ": no such check; there are: " + Join(names, "; ")};
  }
  return Ok();
}

Result<Workshop*> Redteam::ShopOf(const std::string& contract, int seed) {
  if (contract != contract_) shops_.clear();
  contract_ = contract;
  while (shops_.size() < static_cast<size_t>(seed)) {
    WorkshopOptions options;
    options.without = run_.without;
    ASSAY_TRY(Workshop shop, Workshop::Open(contract, options));
    shops_.push_back(std::make_unique<Workshop>(std::move(shop)));
  }
  return shops_[static_cast<size_t>(seed) - 1].get();
}

// Against its honest twin: what a gate cannot see must at least not pay.
Status Redteam::OnTheClock(const CorpusFile& file, Workshop& shop, Passage& passage, RedteamCase& one) {
  const std::string twin =
      file.twin.empty() ? shop.contract.references.front().name : (file.path.parent_path() / file.twin).string();
  ASSAY_TRY(const NamedKernel other, FindKernel(shop.contract, twin, {}, {}));
  ASSAY_TRY(const Passage honest, PassTo(Stage::kVerify, shop, other));
  if (!honest.verified)
    return Error{ErrorCode::kInvalidInput, twin + ", the honest twin of " + file.name + ", is refused"};
  one.stage = Stage::kMeasure;
  ASSAY_TRY(const KernelTimer::BenchOutcome bench,
            shop.timer->Bench(shop.contract, *passage.verified, *honest.verified));
  if (const auto* refused = std::get_if<Rejected>(&bench.outcome)) return Refuse(passage.attempt, *refused), Ok();
  const auto& decisions = std::get<DecisionReport>(bench.outcome).decisions;
  const bool faster = std::any_of(decisions.begin(), decisions.end(),
                                  [](const Decision& d) { return d.kind == DecisionKind::kFaster; });
  if (one.expected.verdict == "no_gain") one.outcome = faster ? RedteamOutcome::kFaster : RedteamOutcome::kNoGain;
  return Ok();
}

Result<RedteamCase> Redteam::OneCase(const CorpusFile& file, const Candidate& candidate, int seed) {
  RedteamCase one;
  one.class_name = file.class_name;
  one.file = file.name;
  one.contract = file.contract;
  one.knobs = candidate.knobs;
  one.seed = seed;
  one.expected = file.expectation.value_or(Expectation{"rejected", std::nullopt});
  ASSAY_TRY(Workshop* const shop, ShopOf(file.contract, seed));
  const auto start = Clock::now();
  const NamedKernel subject{candidate, nullptr, candidate.template_name};
  // What is expected to be refused goes all the way, for some of it only the exam or the clock can see.
  const bool hostile = one.expected.verdict == "rejected";
  Result<Passage> passed = PassTo(hostile ? Stage::kExam : Stage::kVerify, *shop, subject);
  if (passed.ok()) {
    one.stage = passed.value().attempt.stage;
    one.outcome = RedteamOutcome::kVerified;
    if (!passed.value().attempt.rejected && one.expected.verdict != "verified") {
      if (const Status timed = OnTheClock(file, *shop, passed.value(), one); !timed.ok()) passed = timed.error();
    }
  }
  one.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  if (!passed.ok()) {
    one.outcome = RedteamOutcome::kFailed;
    one.failure = passed.error().message;
    return one;
  }
  if (const std::optional<Rejected>& why = passed.value().attempt.rejected) {
    one.outcome = RedteamOutcome::kRejected;
    one.stage = why->stage;
    one.reason = why->reason;
    one.check = why->check;
    one.evidence = why->evidence;
  }
  return one;
}

void Redteam::Add(RedteamCase one) {
  Say(CaseLabel(one, true) + ": " + CaseOutcome(one) + (one.check.empty() ? "" : " by " + one.check) + ", " +
      Seconds(one.seconds) + "\n");
  run_.cases.push_back(std::move(one));
}

Status Redteam::OneFile(const CorpusFile& file) {
  RedteamCase failed;
  failed.class_name = file.class_name;
  failed.file = file.name;
  failed.contract = file.contract;
  failed.expected = file.expectation.value_or(Expectation{"rejected", std::nullopt});
  const auto not_run = [&](const Error& error) {
    failed.failure = error.message;
    Add(failed);
    return Ok();
  };
  if (!file.understood) {
    const std::string what = file.name + ": assay:expect wants rejected REASON, verified or no_gain";
    return not_run(Error{ErrorCode::kInvalidInput, what});
  }
  const Result<Workshop*> shop = ShopOf(file.contract, 1);
  if (!shop.ok()) return not_run(shop.error());
  const Result<Template> family = ParseTemplate(file.source, file.path, shop.value()->contract);
  const Result<std::vector<Candidate>> points =
      family.ok() ? PointsOf(family.value()) : std::vector<Candidate>{AsItIs(file)};
  if (!points.ok()) return not_run(points.error());
  for (const Candidate& candidate : points.value()) {
    for (int seed = 1; seed <= run_.seeds; ++seed) {
      if (g_interrupted) return Error{ErrorCode::kInterrupted, "interrupted"};
      ASSAY_TRY(RedteamCase one, OneCase(file, candidate, seed));
      // No secret has a part in a build: its refusal is the same under every seed.
      const bool every_seed = one.outcome == RedteamOutcome::kRejected && one.stage == Stage::kBuild;
      Add(one);
      if (!every_seed) continue;
      for (++seed; seed <= run_.seeds; ++seed) {
        one.seed = seed;
        one.seconds = 0;
        run_.cases.push_back(one);
      }
    }
  }
  return Ok();
}

Status Redteam::Go(const std::vector<CorpusFile>& files) {
  const auto start = Clock::now();
  if (!run_.without.empty()) {
    ASSAY_TRY(Workshop* const shop, ShopOf(files.front().contract, 1));
    ASSAY_TRY_STATUS(Known(run_.without, shop->own_gate->CheckNames()));
  }
  for (const CorpusFile& file : files) ASSAY_TRY_STATUS(OneFile(file));
  run_.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  ASSAY_TRY(const Machine machine, MachineHere());
  run_.walls = machine.walls;
  run_.gaps = machine.gaps;
  return Ok();
}

}  // namespace

Result<int> Command(const RedteamArguments& arguments) {
  ASSAY_TRY_STATUS(CheckTargets({arguments.json, arguments.junit}));
  ListenForInterrupts();
  ASSAY_TRY(const std::vector<CorpusFile> files, ReadCorpus(arguments));
  Redteam redteam(arguments);
  ASSAY_TRY_STATUS(redteam.Go(files));
  const RedteamRun& run = redteam.run_;
  ASSAY_TRY_STATUS(WriteJson(arguments.json, RedteamJson(run)));
  ASSAY_TRY_STATUS(WriteJson(arguments.junit, RedteamJUnit(run)));
  if (arguments.json != "-" && arguments.junit != "-") Print(RedteamText(run, OutputWidth()));
  if (std::any_of(run.cases.begin(), run.cases.end(), Astray)) return kRefused;
  const bool all_ran = std::none_of(run.cases.begin(), run.cases.end(),
                                    [](const RedteamCase& one) { return one.outcome == RedteamOutcome::kFailed; });
  return all_ran ? kDone : kNoVerdict;
}

}  // namespace assay
