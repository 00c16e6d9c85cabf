// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

std::string_view Trim(std::string_view text);
std::vector<std::string_view> Split(std::string_view text, char separator);
std::string Join(std::span<const std::string> parts, std::string_view separator);

// The entry of `known` nearest to `word` by edit distance, or "" when none is near enough to be
// what was meant; feeds "did you mean".
std::string Nearest(std::string_view word, std::span<const std::string> known);

// Control bytes and invalid UTF-8 as visible escapes: text from a candidate, a contract or a
// compiler must not drive the user's terminal.
std::string Printable(std::string_view text);

// Cut to at most `bytes`, with a note of what was left out.
std::string Cut(std::string_view text, size_t bytes);

// "850 us", "12.3 ms", "4.56 s": three significant digits.
std::string Seconds(double seconds);
// "32 MiB" -> 33554432; -1 when it is no size.  Accepts plain integers, KiB, MiB, GiB.
long long ParseByteSize(std::string_view text);

}  // namespace assay
