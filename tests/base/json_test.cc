// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"

#include <cstdint>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <string>

#include "base/file.h"
#include "base/json_release.h"
#include "tests/support/shared_data.h"

namespace anemone {
namespace {

std::string nested(int depth, char open, char close) {
  return std::string(static_cast<std::size_t>(depth), open) +
         std::string(static_cast<std::size_t>(depth), close);
}

std::string error_of(const std::string& text, const JsonLimits& limits = {}) {
  const auto result = parse_json(text, "a.json", limits);
  EXPECT_FALSE(result.ok()) << text;
  EXPECT_EQ(result.status().code(), Code::kParseError);
  const std::string message = result.status().message();
  EXPECT_EQ(message.rfind("[a.json] ", 0), 0u) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  return message;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(ParseJson, ReadsEveryKindOfValueAndKeepsTheOrderOfKeys) {
  const auto result = parse_json(R"({"z":[1,-2,3.5,true,null],"a":{"k":"é\n"}})", "a.json");
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(result->begin().key(), "z");
  EXPECT_EQ((*result)["z"][1].get<int>(), -2);
  EXPECT_EQ((*result)["z"][2].get<double>(), 3.5);
  EXPECT_TRUE((*result)["z"][4].is_null());
  EXPECT_EQ((*result)["a"]["k"].get<std::string>(), "é\n");
}

TEST(ParseJson, ReadsScalarsAtTheTop) {
  EXPECT_EQ(parse_json(" 12 ", "x")->get<int>(), 12);
  EXPECT_EQ(parse_json("\"a\"", "x")->get<std::string>(), "a");
  EXPECT_TRUE(parse_json("null", "x")->is_null());
}

// Quadratic time would be minutes here.
TEST(ParseJson, TakesTimeInProportionToTheNumberOfKeys) {
  std::string text = "{";
  for (int i = 0; i < 200'000; ++i) text += fmt::format("{}\"{}\":{}", i == 0 ? "" : ",", i, i);
  const auto result = parse_json(text + "}", "a.json");
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(result->size(), 200'000u);
  EXPECT_EQ(result->back().get<int>(), 199'999);
}

TEST(ParseJson, KeepsMembersAroundNestedValues) {
  const std::string text = R"([{"a":[1,{"b":2,"c":[]}],"d":{}},[[3]],{"e":{"a":4}}])";
  const auto result = parse_json(text, "a.json");
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(dump_json(*result), text);
}

TEST(ParseJson, RefusesEmptyAndCutText) {
  for (const char* text : {"", "   ", "{", "[1,", "{\"a\"", "{\"a\":", "\"abc", "tru", "-", "1e"})
    error_of(text);
}

TEST(ParseJson, RefusesTextAfterTheValue) {
  for (const char* text : {"{} {}", "1 2", "[]]", "null,", "{}x"}) error_of(text);
}

TEST(ParseJson, RefusesAZeroByteAfterTheValue) {
  error_of(std::string("{}\0", 3));
}

TEST(ParseJson, RefusesWhatOnlyJavaScriptAllows) {
  for (const char* text : {"[1,]", "{\"a\":1,}", "{a:1}", "'a'", "NaN", "Infinity", "01", "+1",
                           ".5", "1.", "// x\n1", "/* */1", "0x10", "\"\t\"", "\"\\x41\""})
    error_of(text);
}

TEST(ParseJson, NamesThePlaceOfTheError) {
  EXPECT_TRUE(has(error_of("{\"a\": ?}"), "(byte 7)"));
}

TEST(ParseJson, RefusesInvalidUtf8) {
  const std::string cases[] = {
      "\"\xff\"",              // no such byte in UTF-8
      "\"\xc3\"",              // cut in the middle
      "\"\xc0\xaf\"",          // longer than needed
      "\"\xed\xa0\x80\"",      // a surrogate
      "\"\xf4\x90\x80\x80\"",  // above U+10FFFF
      "{\"\x80\":1}",          // in a key
  };
  for (const std::string& text : cases) error_of(text);
}

TEST(ParseJson, RefusesLoneSurrogateEscapes) {
  for (const char* text : {"\"\\ud800\"", "\"\\udc00\"", "\"\\ud800\\u0041\"", "\"\\u12\""})
    error_of(text);
  EXPECT_EQ(parse_json("\"\\ud83d\\ude00\"", "x")->get<std::string>(), "😀");
}

TEST(ParseJson, RefusesNumbersThatNoDoubleHolds) {
  error_of("1e999");
}

TEST(ParseJson, StopsAtTheDepthLimitForListsAndObjects) {
  JsonLimits limits;
  limits.max_depth = 4;
  EXPECT_TRUE(parse_json(nested(4, '[', ']'), "a.json", limits).ok());
  EXPECT_TRUE(has(error_of(nested(5, '[', ']'), limits), "deeper than 4 levels"));
  EXPECT_TRUE(parse_json(R"({"a":{"a":{"a":{}}}})", "a.json", limits).ok());
  EXPECT_TRUE(has(error_of(R"({"a":{"a":{"a":{"a":{}}}}})", limits), "deeper than 4 levels"));
  // Siblings do not add up.
  EXPECT_TRUE(parse_json("[[[[]]],[[[]]],{\"a\":[[]]},[]]", "a.json", limits).ok());
}

TEST(ParseJson, SurvivesAMillionOpenBrackets) {
  EXPECT_TRUE(has(error_of(std::string(1'000'000, '[')), "deeper than 128 levels"));
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
  EXPECT_TRUE(has(error_of(objects), "deeper than 128 levels"));
}

TEST(ParseJson, RefusesAKeyThatAppearsTwiceInOneObject) {
  EXPECT_TRUE(has(error_of(R"({"a":1,"b":2,"a":3})"), "\"a\" appears twice"));
  EXPECT_TRUE(has(error_of(R"([{"x":{"k":1,"k":1}}])"), "\"k\" appears twice"));
  // Spelt with an escape it is still the same key.
  EXPECT_TRUE(has(error_of(R"({"a":1,"\u0061":2})"), "\"a\" appears twice"));
}

TEST(ParseJson, AllowsTheSameKeyInDifferentObjects) {
  EXPECT_TRUE(parse_json(R"({"a":{"a":1},"b":[{"a":2},{"a":3}]})", "x").ok());
}

// The names have to be compared in sorted order: in a hash table they could be made to collide, and
// one by one they would take hours.
TEST(ParseJson, ManyKeysTakeNoLonger) {
  std::string text = "{";
  for (int i = 0; i < 300'000; ++i) text += "\"k" + std::to_string(i) + "\":0,";
  EXPECT_EQ(parse_json(text + "\"last\":1}", "x")->size(), 300'001u);
  EXPECT_TRUE(has(error_of(text + "\"k5\":1}"), "\"k5\" appears twice"));
}

TEST(ParseJson, ValuesStayWithinTheMemoryLimit) {
  const std::vector<std::string> pieces = {"1,",   "[],",        "{},",   "\"\",", "\"a\",",
                                           "[1],", "{\"a\":1},", "[[]],", "null,", "[1,[2]],"};
  for (const std::string& piece : pieces) {
    JsonLimits limits;
    limits.max_memory = 1 << 20;
    std::string text = "[";
    while (text.size() < (1 << 20)) text += piece;
    text += "0]";
    EXPECT_TRUE(has(error_of(text, limits), "more than 1048576 bytes of memory")) << piece;
    EXPECT_TRUE(parse_json(text, "x").ok()) << piece;
  }
  JsonLimits limits;
  limits.max_memory = 1000;
  EXPECT_TRUE(parse_json("\"" + std::string(500, 'a') + "\"", "x", limits).ok());
  error_of("\"" + std::string(1000, 'a') + "\"", limits);
  error_of("{\"" + std::string(1000, 'a') + "\":1}", limits);
}

TEST(ReadJsonFile, RefusesAFileThatIsTooLarge) {
  const testing::TemporaryFolder folder;
  const std::string path = folder.file("config.json");
  const std::string text = "{\"a\":1" + std::string(17 << 20, ' ') + "}";
  ASSERT_TRUE(write_file(path, text).ok());
  const auto refused = read_json_file(path);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), Code::kCorrupt);
  EXPECT_TRUE(has(refused.status().message(), "expected at most 16777216 bytes"));
  JsonLimits limits;
  limits.max_file_bytes = 32 << 20;
  EXPECT_TRUE(read_json_file(path, limits).ok());
}

TEST(ParseJson, ComparesManyKeysInLittleTime) {
  // Keys with the hash of one another, or with long beginnings in common, are no slower.
  std::string text = "{";
  for (int i = 0; i < 20'000; ++i)
    text += fmt::format("{}\"{}{}\":0", i == 0 ? "" : ",", std::string(300, 'x'), i);
  EXPECT_TRUE(parse_json(text + "}", "x").ok());
  EXPECT_TRUE(has(error_of(text + ",\"" + std::string(300, 'x') + "7\":1}"), "appears twice"));
  EXPECT_LT(error_of(text + ",\"" + std::string(300, 'x') + "7\":1}").size(), 400U);
}

TEST(ParseJson, KeepsToABudget) {
  std::string text = "[";
  for (int i = 0; i < 50'000; ++i) text += "[],";
  text += "0]";
  WorkBudget memory("request", {.cpu_time = std::chrono::minutes(1), .bytes = 1 << 20});
  JsonLimits limits;
  limits.budget = &memory;
  EXPECT_TRUE(has(parse_json(text, "x", limits).status().message(), "1 MB of memory"));
  const std::atomic<bool> cancel = true;
  WorkBudget cancelled("request", {}, &cancel);
  limits.budget = &cancelled;
  EXPECT_EQ(parse_json(text, "x", limits).status().code(), Code::kCancelled);
  WorkBudget enough("request", {});
  limits.budget = &enough;
  EXPECT_TRUE(parse_json(text, "x", limits).ok());
}

TEST(ReleaseJson, LeavesNothingInside) {
  auto json = *parse_json(R"({"a":[1,[2,{"b":[]}]],"c":"text"})", "x");
  release_json(json);
  EXPECT_EQ(dump_json(json), "{}");
  Json scalar = 7;
  release_json(scalar);
  EXPECT_EQ(scalar, 7);
}

TEST(ReadJsonFile, NamesTheFileInEachError) {
  const testing::TemporaryFolder folder;
  const std::string path = folder.file("config.json");
  ASSERT_TRUE(write_file(path, "{\"a\": }").ok());
  const auto bad = read_json_file(path);
  ASSERT_FALSE(bad.ok());
  EXPECT_TRUE(has(bad.status().message(), path));
  EXPECT_EQ(read_json_file(folder.file("none.json")).status().code(), Code::kIo);
  ASSERT_TRUE(write_file(path, "{\"a\": 1}").ok());
  EXPECT_EQ((*read_json_file(path))["a"].get<int>(), 1);
}

TEST(DumpJson, ReplacesInvalidUtf8InsteadOfFailing) {
  Json value;
  value["k"] = "a\xff";
  EXPECT_EQ(dump_json(value), "{\"k\":\"a\xef\xbf\xbd\"}");
}

TEST(DumpJson, RoundTripsThroughTheParser) {
  const std::string text = R"({"b":[1,2.5,"x"],"a":{"n":null,"t":true}})";
  EXPECT_EQ(dump_json(*parse_json(text, "x")), text);
}

const Json& sample() {
  static const Json value = *parse_json(
      R"({"int":5,"neg":-5,"big":18446744073709551615,"min":-9223372036854775808,"whole":32768.0,"e":1e6,
          "half":0.5,"huge":1e300,"text":"5","yes":true,"none":null,"list":[1]})",
      "x");
  return value;
}

TEST(JsonAccess, IntTakesIntegersAndWholeFloats) {
  EXPECT_EQ(**json_int(sample(), "int", "x"), 5);
  EXPECT_EQ(**json_int(sample(), "neg", "x"), -5);
  EXPECT_EQ(**json_int(sample(), "min", "x"), INT64_MIN);
  EXPECT_EQ(**json_int(sample(), "whole", "x"), 32768);
  EXPECT_EQ(**json_int(sample(), "e", "x"), 1'000'000);
}

TEST(JsonAccess, IntRefusesOtherTypesAndNumbersThatDoNotFit) {
  for (const char* key : {"half", "huge", "big", "text", "yes", "list"}) {
    const auto result = json_int(sample(), key, "a.json");
    ASSERT_FALSE(result.ok()) << key;
    EXPECT_EQ(result.status().code(), Code::kParseError);
    EXPECT_TRUE(has(result.status().message(), key)) << result.status().message();
  }
}

TEST(JsonAccess, AbsentAndNullAreNoValue) {
  for (const char* key : {"absent", "none"}) {
    EXPECT_FALSE(json_int(sample(), key, "x")->has_value());
    EXPECT_FALSE(json_number(sample(), key, "x")->has_value());
    EXPECT_FALSE(json_bool(sample(), key, "x")->has_value());
    EXPECT_FALSE(json_string(sample(), key, "x")->has_value());
    EXPECT_EQ(json_member(sample(), key), nullptr);
  }
}

TEST(JsonAccess, NumberBoolAndStringTakeTheirOwnTypeOnly) {
  EXPECT_EQ(**json_number(sample(), "half", "x"), 0.5);
  EXPECT_EQ(**json_number(sample(), "int", "x"), 5.0);
  EXPECT_FALSE(json_number(sample(), "text", "x").ok());
  EXPECT_EQ(**json_bool(sample(), "yes", "x"), true);
  EXPECT_FALSE(json_bool(sample(), "int", "x").ok());
  EXPECT_EQ(**json_string(sample(), "text", "x"), "5");
  EXPECT_FALSE(json_string(sample(), "yes", "x").ok());
}

TEST(JsonAccess, AValueThatIsNoObjectHasNoMembers) {
  for (const char* text : {"[1]", "3", "null", "\"a\""}) {
    const Json value = *parse_json(text, "x");
    EXPECT_EQ(json_member(value, "a"), nullptr);
    EXPECT_FALSE(json_int(value, "a", "x")->has_value());
  }
}

TEST(Json, AppendedMembersLeaveTheOthersWhereTheyAre) {
  Json object = {{"first", {"a", "b"}}};
  const Json* const element = &object["first"][0];
  for (int i = 0; i < 100; ++i) append_member(object, std::to_string(i), Json(i));
  EXPECT_EQ(object.size(), 101U);
  EXPECT_EQ(object["99"], 99);
  EXPECT_EQ(&object["first"][0], element) << "the values were copied";
}

}  // namespace
}  // namespace anemone
