// SPDX-License-Identifier: Apache-2.0
#include "contract/recording.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace assay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A file as numpy.save writes it.
std::string Npy(const std::string& descr, const std::string& shape, const std::string& data, char version = 1,
                const std::string& order = "False") {
  std::string header = "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }";
  const size_t prefix = version == 1 ? 10 : 12;
  while ((prefix + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  std::string file = "\x93NUMPY";
  file += version;
  file += '\0';
  file += static_cast<char>(header.size() & 0xFF);
  file += static_cast<char>(header.size() >> 8 & 0xFF);
  if (version == 2) file += std::string(2, '\0');
  return file + header + data;
}

template <typename T>
std::string Bytes(std::initializer_list<T> values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  std::memcpy(bytes.data(), values.begin(), bytes.size());
  return bytes;
}

Result<Recording> Parse(const std::string& file) { return ParseNpy(std::as_bytes(std::span(file))); }

TEST(ParseNpy, ReadsWhatNumpyWrites) {
  for (const char version : {'\1', '\2'}) {
    const auto floats = Parse(Npy("<f4", "(2, 3)", Bytes<float>({1, 2, 3, -4, 5, 0.5}), version));
    ASSERT_TRUE(floats.ok()) << floats.error().message;
    EXPECT_EQ(floats.value().row_length, 3);
    EXPECT_THAT(floats.value().values, ElementsAre(1, 2, 3, -4, 5, 0.5));
  }
  const auto vector = Parse(Npy("<f8", "(2,)", Bytes<double>({0.1, -1e300})));
  ASSERT_TRUE(vector.ok()) << vector.error().message;
  EXPECT_EQ(vector.value().row_length, 2);
  EXPECT_THAT(vector.value().values, ElementsAre(0.1, -1e300));
  EXPECT_THAT(Parse(Npy("<f2", "(2,)", Bytes<uint16_t>({0x3C00, 0xC000}))).value().values, ElementsAre(1, -2));
  EXPECT_THAT(Parse(Npy("|i1", "(2,)", Bytes<int8_t>({-128, 127}))).value().values, ElementsAre(-128, 127));
  EXPECT_THAT(Parse(Npy("<i4", "(1, 1)", Bytes<int32_t>({-2147483647}))).value().values, ElementsAre(-2147483647));
}

TEST(ParseNpy, RefusesEverythingElseWithARemedy) {
  const std::string four = Bytes<float>({1, 2, 3, 4});
  const std::string good = Npy("<f4", "(2, 2)", four);
  struct Case {
    const char* name;
    std::string file;
    const char* says;
  };
  const Case cases[] = {
      {"empty", "", "is no npy file"},
      {"another file", "PK\3\4 is a zip archive", "numpy.save"},
      {"version 3", Npy("<f4", "(4,)", four, 3), "npy format 3"},
      {"cut header", good.substr(0, 40), "ends inside its header"},
      {"cut data", good.substr(0, good.size() - 1), "needs 16"},
      {"too much data", good + "x", "needs 16"},
      {"big endian", Npy(">f4", "(4,)", four), "little-endian"},
      {"objects", Npy("|O", "(2,)", four), "little-endian"},
      {"Fortran order", Npy("<f4", "(2, 2)", four, 1, "True"), "ascontiguousarray"},
      {"no dimension", Npy("<f4", "()", four.substr(0, 4)), "0 dimensions"},
      {"no element", Npy("<f4", "(0, 4)", ""), "no elements"},
      {"negative size", Npy("<f4", "(-4,)", four), "no size"},
      {"size beyond counting", Npy("<f4", "(99999999999999999999,)", four), "no size"},
      {"product beyond counting", Npy("<f4", "(4294967296, 4294967296, 4)", four), "record fewer"},
      {"no tuple", Npy("<f4", "[4]", four), "no tuple"},
      {"open tuple", Npy("<f4", "(4", four), "no tuple"},
  };
  for (const Case& c : cases) {
    const auto read = Parse(c.file);
    ASSERT_FALSE(read.ok()) << c.name;
    EXPECT_EQ(read.error().code, ErrorCode::kInvalidInput) << c.name;
    EXPECT_THAT(read.error().message, HasSubstr(c.says)) << c.name;
  }
}

}  // namespace
}  // namespace assay
