// SPDX-License-Identifier: Apache-2.0
// Templates render as in Jinja2 where it is easy to differ; what is expected here is what Jinja2
// gives.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <string>

#include "base/json.h"
#include "text/chat/chat_template.h"

namespace anemone::text {
namespace {

std::string rendered(const std::string& source) {
  const auto parsed = ChatTemplate::parse(source);
  if (!parsed.ok()) return "error: " + parsed.status().message();
  const auto text = parsed->render(Json{{"messages", Json::array()}}, {});
  return text.ok() ? *text : "error: " + text.status().message();
}

// One expression printed, in bars so that padding shows.
std::string printed(const std::string& expression) {
  return rendered("|{{ " + expression + " }}|");
}

TEST(Template, ElseOfALoopRunsWhenNoItemWasDoneToItsEnd) {
  const std::string loop = "{% for i in [1, 2] %}{{ i }}{% if ";
  const std::string rest = " %}{% endif %}.{% else %}none{% endfor %}";
  EXPECT_EQ(rendered(loop + "true %}{% break" + rest), "1none");
  EXPECT_EQ(rendered(loop + "true %}{% continue" + rest), "12none");
  EXPECT_EQ(rendered(loop + "i == 1 %}{% continue" + rest), "12.");
  EXPECT_EQ(rendered(loop + "i == 2 %}{% break" + rest), "1.2");
  EXPECT_EQ(rendered(loop + "false %}{% break" + rest), "1.2.");
}

TEST(Template, PercentFormatsPadAsInPython) {
  EXPECT_EQ(printed("'%05s' % -3"), "|   -3|");
  EXPECT_EQ(printed("'%05d' % -3"), "|-0003|");
  EXPECT_EQ(printed("'%0-5d' % 3"), "|3    |");
  EXPECT_EQ(printed("'%.3d' % 5"), "|005|");
  EXPECT_EQ(printed("'%#07x' % 255"), "|0x000ff|");
  EXPECT_EQ(printed("'%.2r' % 'abc'"), "|'a|");
  EXPECT_EQ(printed("'%G' % 1e20"), "|1E+20|");
  EXPECT_TRUE(printed("'%#.0f' % 2").starts_with("error: "));
  EXPECT_EQ(printed("'%+ d' % 2"), "|+2|");
  EXPECT_EQ(printed("'%d' % 1e20"), "|100000000000000000000|");
}

TEST(Template, PercentFormatsLeaveOverWhatCanBeIndexed) {
  EXPECT_EQ(printed("'a' % missing"), "|a|");
  EXPECT_EQ(printed("'a' % {}"), "|a|");
  EXPECT_EQ(printed("'a' % [1]"), "|a|");
  for (const char* left : {"'a' % 1", "'a' % 'b'", "'a' % ({},)", "'a' % (missing,)",
                           "'a%s' % (1, {})", "'a'|format({})", "'%(k)s' % ({'k': 1},)"})
    EXPECT_TRUE(printed(left).starts_with("error: ")) << left;
}

TEST(Template, BraceFormatsPadAsInPython) {
  EXPECT_EQ(printed("'{:05}'.format('ab')"), "|ab000|");
  EXPECT_EQ(printed("'{:<05}'.format(12)"), "|12000|");
  EXPECT_EQ(printed("'{:#06x}'.format(255)"), "|0x00ff|");
  EXPECT_EQ(printed("'{:08,}'.format(12345)"), "|0,012,345|");
  EXPECT_EQ(printed("'{:_x}'.format(1048575)"), "|f_ffff|");
  EXPECT_EQ(printed("'{:4}'.format(true)"), "|   1|");
  EXPECT_EQ(printed("'{:.3}'.format(100.0)"), "|1e+02|");
  EXPECT_EQ(printed("'{:.4}'.format(100.0)"), "|100.0|");
  EXPECT_EQ(printed("'{:.1}'.format(0.0)"), "|0e+00|");
  EXPECT_TRUE(printed("'{:=5}'.format('ab')").starts_with("error: "));
  EXPECT_TRUE(printed("'{:,x}'.format(255)").starts_with("error: "));
}

TEST(Template, SortAsksNoOrderOfEqualKeys) {
  EXPECT_EQ(printed("[none, none]|sort"), "|[None, None]|");
  EXPECT_EQ(printed("[missing, missing]|sort(reverse=true)"), "|[Undefined, Undefined]|");
  EXPECT_EQ(printed("[{'a': 1}, {'a': 1}]|sort"), "|[{'a': 1}, {'a': 1}]|");
  EXPECT_TRUE(printed("[1, none]|sort").starts_with("error: "));
  EXPECT_TRUE(printed("[none, none]|min").starts_with("error: "));
}

TEST(Template, SortTakesSeveralAttributes) {
  EXPECT_EQ(printed("[{'a': 'B', 'b': 1}, {'a': 'c', 'b': 0}, {'a': 'b', 'b': 0}]"
                    "|sort(attribute='a,b')|map(attribute='b')|join"),
            "|010|");
}

TEST(Template, NoneAsADefaultOfAttributesIsNone) {
  EXPECT_EQ(printed("[{}]|map(attribute='a', default=none)|first"), "||");
  EXPECT_EQ(printed("[{}]|map(attribute='a', default=0)|first"), "|0|");
}

TEST(Template, DividesFloatsAsPythonDoes) {
  EXPECT_EQ(printed("0.5 // 0.1"), "|4.0|");
  EXPECT_EQ(printed("0.0 % -2"), "|-0.0|");
  EXPECT_EQ(printed("10.0 % -1"), "|-0.0|");
  EXPECT_EQ(printed("-7.5 // 2"), "|-4.0|");
  EXPECT_EQ(printed("-7.5 % 2"), "|0.5|");
}

TEST(Template, FloatsAreOddAndEvenAndDivisible) {
  EXPECT_EQ(printed("[3.0 is odd, 4.0 is even, 2.5 is even, 2.5 is odd, 7.5 is divisibleby 2.5]"),
            "|[True, True, False, False, True]|");
  EXPECT_EQ(printed("[-3 is odd, -4 is even, -3 is divisibleby(-1), 6 is divisibleby(-3)]"),
            "|[True, True, True, True]|");
  EXPECT_EQ(printed("(10.0 % -2)|round(1, 'ceil')"), "|0.0|");
  EXPECT_EQ(printed("(-0.5)|round(0, 'ceil')"), "|0.0|");
  for (const char* wrong : {"'x' is even", "1 is divisibleby 0", "none is odd"})
    EXPECT_TRUE(printed(wrong).starts_with("error: ")) << wrong;
}

TEST(Template, GeneratorsMeetAnErrorWhereTheyAreLeftOnlyWhenTheyGoOn) {
  const std::string loop = "{% for i in ";
  const std::string left = " %}{{ i }}{% break %}{% endfor %}";
  const std::string all = " %}{{ i }}{% endfor %}";
  for (const std::string items :
       {"[1, []]|unique", "[1, 'x']|map('round')",
        "[1, none]|map(attribute='a.b')|select('undefined')", "[2, 'x']|select('divisibleby', 2)",
        "[1, 'x']|map('abs')|list|map('abs')"}) {
    EXPECT_TRUE(rendered(loop + items + all).starts_with("error: ")) << items;
  }
  EXPECT_EQ(rendered(loop + "[1, []]|unique" + left), "1");
  EXPECT_EQ(rendered(loop + "[1, 'x']|map('round')" + left), "1");
  EXPECT_EQ(rendered(loop + "[2, 'x']|select('divisibleby', 2)|map('abs')" + left), "2");
  EXPECT_EQ(rendered(loop + "[1, 'x'] if i > 0" + left), "1");
  EXPECT_EQ(printed("[1, []]|unique|first"), "|1|");
  EXPECT_EQ(printed("1 in [1, []]|unique"), "|True|");
  EXPECT_TRUE(printed("2 in [1, []]|unique").starts_with("error: "));
  EXPECT_TRUE(printed("[[]]|unique|first").starts_with("error: "));
  EXPECT_TRUE(rendered(loop + "[[]]|unique" + left).starts_with("error: "));
}

TEST(Template, FromJsonReadsATextAndKeepsOtherValues) {
  for (const std::string name : {"from_json", "fromjson"}) {
    EXPECT_EQ(printed(R"('{"a": [1, 2.5, null, true, "x"]}'|)" + name),
              "|{'a': [1, 2.5, None, True, 'x']}|");
    EXPECT_EQ(printed(R"(('{"b": 1, "a": 2}'|)" + name + ").items()|list"),
              "|[('b', 1), ('a', 2)]|");
    EXPECT_EQ(printed("{'a': 1}|" + name), "|{'a': 1}|");
    EXPECT_EQ(printed("none|" + name), "|None|");
    for (const std::string bad : {"'{'", "''", "'{} {}'", "missing"})
      EXPECT_TRUE(printed(bad + "|" + name).starts_with("error: ")) << bad;
  }
  EXPECT_EQ(rendered(R"({% for k, v in '{"city": "Rome"}'|from_json|items %}{{ k }}={{ v }})"
                     "{% endfor %}"),
            "city=Rome");
}

TEST(Template, NoneHasNoItemsForFiltersThatChoose) {
  for (const std::string chain :
       {"map('upper')", "map(attribute='a')", "select", "reject('none')", "selectattr('a')",
        "rejectattr('a', 'in', [1])", "map", "selectattr"})
    for (const std::string nothing : {"none", "0", "false", "missing", "''", "[]"})
      EXPECT_EQ(printed(nothing + "|" + chain + "|list"), "|[]|") << nothing << chain;
  EXPECT_EQ(rendered("{% for i in none|selectattr('a') %}{{ i }}{% else %}none{% endfor %}"),
            "none");
  for (const std::string expression :
       {"none|list", "none|first", "none|join", "none|items|list", "none|unique|list", "none|sum",
        "none|reverse", "5|map('abs')|list"})
    EXPECT_TRUE(printed(expression).starts_with("error: ")) << expression;
  EXPECT_TRUE(rendered("{% for i in none %}{% endfor %}").starts_with("error: "));
  EXPECT_TRUE(rendered("{% for i in none if i %}{% endfor %}").starts_with("error: "));
  // A generator fails where its first item is asked for.
  EXPECT_EQ(rendered("{% set g = 5|map('abs') %}{% set h = [1]|map %}x"), "x");
  for (const std::string chain : {"unique", "items", "batch(2)"})
    EXPECT_EQ(rendered("{% set g = 5|" + chain + " %}x"), "x") << chain;
  EXPECT_EQ(printed("['a']|map(attribute=none)|list"), "|['a']|");
}

TEST(Template, AGeneratorGivesEachItemOnce) {
  const std::string set = "{% set g = [1, 2, 3, 4]|map('string') %}";
  EXPECT_EQ(rendered(set + "{{ g|list }}{{ g|list }}"), "['1', '2', '3', '4'][]");
  EXPECT_EQ(rendered(set + "{{ g|first }}{{ g|first }}{{ g|join }}{{ g|first }}"), "1234");
  EXPECT_EQ(rendered(set + "{{ '2' in g }}{{ g|join }}{{ '2' in g }}"), "True34False");
  EXPECT_EQ(rendered(set + "{% for i in g %}{{ i }}{% if i == '2' %}{% break %}{% endif %}"
                           "{% endfor %}|{% for i in g %}{{ i }}{% endfor %}|{{ g|list }}"),
            "12|34|[]");
  EXPECT_EQ(rendered(set + "{% for i in g %}{{ i }}{{ g|first }},{% endfor %}"), "12,34,");
  EXPECT_EQ(rendered(set + "{% for i in g %}{{ loop.last }}{% break %}{% endfor %}{{ g|list }}"),
            "False['3', '4']");
  EXPECT_EQ(printed("[1, 2]|map('string')|reverse"), "|['2', '1']|");
}

TEST(Template, ConditionsOfALoopAreEvaluatedAsItGoesOn) {
  const std::string begin =
      "{% set n = namespace(k=0) %}{% for i in [1, 2, 3, 4] if n.k < 2 %}{{ i }}";
  const std::string end = "{% set n.k = n.k + 1 %}{% endfor %}";
  EXPECT_EQ(rendered(begin + end), "12");
  EXPECT_EQ(rendered(begin + "{{ loop.index }}" + end), "1122");
  // What asks for later items evaluates their conditions then.
  EXPECT_EQ(rendered(begin + "{{ loop.last }}" + end), "1False2False3True");
  EXPECT_EQ(rendered(begin + "({{ loop.nextitem }})" + end), "1(2)2(3)3()");
  EXPECT_EQ(rendered(begin + "/{{ loop.length }} " + end), "1/4 2/4 3/4 4/4 ");
  EXPECT_EQ(rendered(begin + "/{{ loop.revindex }}{{ loop.revindex0 }} " + end),
            "1/43 2/32 3/21 4/10 ");
  EXPECT_EQ(
      rendered(begin + end + "{% for i in [5, 6] if n.k > 2 %}{{ i }}{% else %}none{% endfor %}"),
      "12none");
  EXPECT_EQ(rendered("{% for i in [1, 'x'] if i > 0 %}{{ i }}{% break %}{% endfor %}"), "1");
  EXPECT_TRUE(rendered("{% for i in [1, 'x'] if i > 0 %}{{ loop.length }}{% break %}{% endfor %}")
                  .starts_with("error: "));
  // A condition that asks its own loop for more.
  EXPECT_TRUE(
      rendered("{% set n = namespace(l=none) %}{% for i in [1, 2] if n.l is none or n.l.length %}"
               "{% set n.l = loop %}{% endfor %}")
          .starts_with("error: "));
}

// Jinja2 goes on with such a loop, in the scope of a block that is done.
TEST(Template, ALoopThatOutlivesItsStatementHasNoScope) {
  const std::string begin = "{% set n = namespace() %}{% with a = 1 %}{% for i in [1, 2, 3]";
  const std::string end = "{% set n.l = loop %}{% break %}{% endfor %}{% endwith %}";
  EXPECT_TRUE(rendered(begin + " recursive %}" + end + "{{ n.l([4]) }}").starts_with("error: "));
  EXPECT_EQ(rendered(begin + " if i > a - 1 %}" + end + "{{ n.l.length }}{{ n.l.last }}"), "1True");
}

TEST(Template, CommentsAndRawBlocksNeedNoEndWhereTheTemplateEnds) {
  for (const std::string end : {"{#", "{#-", "{#+", "{#\n", "{% raw %}", "{% raw -%}  "})
    EXPECT_EQ(rendered("a" + end), "a") << end;
  for (const std::string end : {"{# ", "{#\n\n", "{#-}", "{% raw %} ", "{{", "{%"})
    EXPECT_TRUE(rendered("a" + end).starts_with("error: ")) << end;
}

TEST(Template, RefusesNumbersOfManyDigits) {
  EXPECT_TRUE(printed("'%.101f' % 1").starts_with("error: "));
  EXPECT_TRUE(printed("'{:.101f}'.format(1)").starts_with("error: "));
}

}  // namespace
}  // namespace anemone::text
