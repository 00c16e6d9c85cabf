// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/expression.h"
#include "base/hash.h"
#include "record/reason.h"

namespace assay {

// One knob of a template (grammar in docs/contract.md).  Integers are ordered, words are not.
struct Knob {
  std::string name;
  std::vector<std::string> values;  // at least one, as written on the command line
  bool integers = true;
  std::string default_value;
  std::optional<Expression> only_if;  // false: the knob has its default and does not count
};

// One group of mutually exclusive compiler flags; "none" is the empty choice.
struct FlagGroup {
  std::vector<std::string> options;  // the first is the default
};

// What a file of `tests/hostile` or `honest/` says of itself.
struct Expectation {
  std::string verdict;  // "rejected", "verified" or "no_gain"
  std::optional<Reason> reason;
};

// A kernel source with knobs: the seed of a family of candidates.
struct Template {
  std::string name;
  std::string language = "cpp";
  std::filesystem::path path;
  std::string source;  // the file's bytes
  Digest source_hash;  // SHA-256 of `source`
  std::vector<Knob> knobs;
  std::vector<Expression> when;  // conditions over knobs; all must hold
  std::vector<FlagGroup> flags;
  std::optional<Expectation> expectation;
};

using KnobValues = std::map<std::string, std::string>;

// One concrete kernel: source, knob values, flags; named by its content.  Parents, proposer and
// hypothesis belong to the attempt, compiler and contract to the artifact.
struct Candidate {
  std::string language = "cpp";
  std::string template_name;  // for people; not part of the name
  std::string source;
  Digest source_hash;
  KnobValues knobs;                // active ones, complete; inactive ones are left out
  KnobValues defaults;             // every knob of the template, for the generated header; not part of the name
  std::vector<std::string> flags;  // sorted, "none" left out
  Digest id;                       // of canonical JSON {flags, knobs, language, source}
};

// Fills `id` from the content.
Candidate NamedByContent(Candidate candidate);

// A candidate that built, sealed on disk under its own hash; or a shared object that came without a source.
struct Artifact {
  Digest id;  // of {candidate, contract header, compiler version, target}; without source, of the file
  Digest candidate;
  Digest file_hash;  // of the bytes that will be mapped
  Digest twin;       // of the code sections with addresses normalised: equal twins run the same code
  std::filesystem::path path;
  std::string name;                              // for people: "blocked MR=12 NV=2" or "baseline strict"
  std::string compiler;                          // "g++ 12.2.0"
  std::vector<std::string> command;              // as run inside the build jail; empty: it was not built here
  std::vector<std::filesystem::path> libraries;  // shared libraries it may load besides the C, C++ and OpenMP runtimes
  std::vector<std::string> unset;                // environment variables its process must not see
  std::filesystem::path sanitizer;               // the runtime of a sanitizer build, which must come first; else empty
  std::string info_symbol;                       // `info` of a peer, or ""
  bool trusted_code = false;  // baselines, peers: own process, looser code policy, same answer checks
  double build_seconds = 0;

  bool HasSource() const { return !command.empty(); }
};

}  // namespace assay
