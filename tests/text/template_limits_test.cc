// SPDX-License-Identifier: Apache-2.0
// Templates and their variables are data from strangers: each render ends soon, with little memory.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/work_budget.h"
#include "tests/support/cpu_time_bound.h"
#include "tests/support/sanitized.h"
#include "text/chat/chat_template.h"

namespace anemone::text {
namespace {

Result<std::string> render(const std::string& source, const Json& context = Json::object(),
                           const RenderOptions& options = {}) {
  const auto parsed = ChatTemplate::parse(source);
  if (!parsed.ok()) return parsed.status();
  return parsed->render(context, options);
}

// A loop that would run its body 10^10 times: only a limit of the renderer ends it.
std::string repeated(const std::string& body) {
  return "{% for i in range(99999) %}{% for j in range(99999) %}" + body +
         "{% endfor %}{% endfor %}";
}

class TemplateLimits : public ::testing::TestWithParam<std::string> {};

TEST_P(TemplateLimits, StopTheRender) {
  const testing::CpuTimeBound bound;
  // The renderer counts units of work by default. A sanitizer makes each unit many times slower,
  // and looks for errors of memory, not at this limit: there a limit of processor time ends the
  // render.
  WorkBudget::Limits limits;
  if (testing::kIsSanitized) limits.cpu_time = std::chrono::seconds(2);
  WorkBudget budget("request", limits);
  RenderOptions options;
  if (testing::kIsSanitized) options.budget = &budget;
  const auto text = render(GetParam(), Json{{"messages", Json::array()}}, options);
  ASSERT_FALSE(text.ok());
  EXPECT_EQ(text.status().code(), Code::kInvalidArgument) << text.status().message();
}

// Each round puts the list of the round before twice into a new one: 40 objects, but 2^40 paths.
const std::string kShared =
    "{% set n = namespace(a=[], b=[]) %}{% for i in range(40) %}{% set n.a = [n.a, n.a] %}"
    "{% set n.b = [n.b, n.b] %}{% endfor %}";
const std::string kLongText = "{% set s = 'a' * 10000000 %}";
const std::string kManyItems = "{% set l = range(99999)|list %}";
// A list that holds itself a thousand times, and a path of half a million indices through it.
const std::string kLongPath =
    "{% set x = [] %}{% for i in range(1000) %}{% set _ = x.append(x) %}{% endfor %}"
    "{% set p = '0.' * 500000 ~ '0' %}";

INSTANTIATE_TEST_SUITE_P(
    Work, TemplateLimits,
    ::testing::Values(
        kLongPath + "{{ (x|map(attribute=p)|list)|length }}",
        kLongPath + "{{ (x|sum(attribute=p, start=[]))|length }}",
        kLongPath + "{{ x|join(attribute=p) }}",
        kLongPath + repeated("{% set _ = []|map(attribute=p) %}"),
        kLongText + repeated("{% set _ = ''|trim(s) %}"),
        kLongText + repeated("{% set _ = ''.strip(s) %}"),
        kLongText + repeated("{% set _ = ''|indent(s) %}"),
        kLongText + repeated("{% set _ = ''|tojson(indent=s) %}"),
        kLongText + repeated("{% set _ = ''|tojson(separators=(s, s)) %}"),
        repeated("{% set _ = 1e300|round(20) %}"), repeated("{% set _ = '%.6f' % 1e300 %}"),
        "{% set s = '[' ~ '1,' * 4000000 ~ '1]' %}" + repeated("{% set _ = s|from_json %}"),
        "{% set s = '[' ~ '[],' * 1000000 ~ '1]' %}" + repeated("{% set _ = s|from_json %}"),
        "{{ ('[' * 9000000)|from_json }}",
        repeated("{% for k in [1, 2, 3] if k > 1 %}{% set _ = loop.length %}{% endfor %}"),
        repeated(
            "{% set g = [1, 2]|map('abs') %}{% for k in g %}{% set _ = g|first %}{% endfor %}"),
        repeated("{{ i }}"), "{% macro f(x) %}{{ f(x) }}{% endmacro %}{{ f(1) }}",
        "{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}",
        kLongText + repeated("{{ '' if 'a' * 1000 ~ 'b' in s }}"),
        kLongText + repeated("{{ s.find('a' * 1000 ~ 'b') }}"),
        "{% set s = 'z' * 1000000 %}{% set c = 'a' * 1000000 ~ 'z' %}" +
            repeated("{% set x = s.strip(c) %}"),
        "{% set s = 'a,' * 500000 %}" + repeated("{% set x = s.split(',') %}"),
        kLongText + repeated("{% set x = s is lower %}"),
        kLongText + repeated("{% set x = s is upper %}"),
        kLongText + repeated("{% set x = s.isupper() %}"),
        kLongText + repeated("{% set x = s|wordcount %}"),
        kLongText + repeated("{% set x = (s|title)[0] %}"),
        kLongText + repeated("{% set x = s|upper|length %}"),
        kLongText + repeated("{% set x = s.zfill(10000001)|length %}"),
        kLongText + repeated("{% set x = s == s ~ '' %}"),
        kLongText + repeated("{% set x = {s: 1} %}"),
        kLongText + repeated("{% set x = s|tojson %}"),
        kLongText + repeated("{% set x = s[::2] %}"),
        kLongText + repeated("{% set x = s[5000000] %}"),
        kLongText + repeated("{% set x = s|int %}"),
        kLongText + repeated("{% set x = s.count('ab') %}"),
        kLongText + repeated("{% set x = s|replace('a', 'b') %}"),
        kLongText + repeated("{% set x = s.splitlines() %}"),
        kLongText + repeated("{% set x = 'b'.startswith(s) %}"),
        kLongText + repeated("{% set x = s|trim('abc') %}"),
        kManyItems + repeated("{% set x = l|min %}"), kManyItems + repeated("{% set x = l|sort %}"),
        kManyItems + repeated("{% set x = l|unique|list %}"),
        kManyItems + repeated("{% set x = l|batch(2)|list %}"),
        kManyItems + repeated("{% set x = l + l %}"), kManyItems + repeated("{% set x = l * 2 %}"),
        kManyItems + repeated("{% set x = l[::-1] %}"),
        kManyItems + repeated("{% set x = -1 in l %}"),
        kManyItems + repeated("{% set x = l.count(-1) %}"),
        kManyItems + repeated("{% set x = l|sum %}"),
        kManyItems + repeated("{% set x = l|map('string')|join %}"),
        kManyItems + repeated("{% set x = l|map(attribute='a.b.c')|list %}"),
        kManyItems + repeated("{% set x = l|groupby(0) %}"),
        kManyItems + repeated("{% for k in l %}{% endfor %}"),
        kManyItems + repeated("{% set x = l|select('odd')|list %}"),
        repeated("{{ '%09999d' % 1 }}"), repeated("{% set x = '{:9999}'.format('a') %}"),
        repeated("{% set x = (1e300)|round(300) %}"), repeated("{% set x = 3 ** 70 %}"),
        repeated("{% set x = missing %}"), repeated("{% set x = missing|attr('a') %}"),
        // Shared values: as many paths as 2^40.
        kShared + "{{ n.a == n.b }}", kShared + "{{ n.a < n.b }}", kShared + "{{ n.a in [n.b] }}",
        kShared + "{{ [n.b].index(n.a) }}", kShared + "{{ n.a|string|length }}",
        kShared + "{{ n.a|tojson|length }}",
        "{% set n = namespace(a=(), b=()) %}{% for i in range(40) %}{% set n.a = (n.a, n.a) %}"
        "{% endfor %}{{ {n.a: 1} }}"));

INSTANTIATE_TEST_SUITE_P(
    Memory, TemplateLimits,
    ::testing::Values(
        "{{ 'a' * 999999999999 }}", "{{ 9 ** 9 ** 9 }}", "{{ [1] * 999999999 }}",
        "{% set n = namespace(x='ab') %}{% for i in range(99) %}{% set n.x = n.x ~ n.x %}{% endfor "
        "%}",
        "{% set x = range(99999)|batch(100000, 0)|list %}"
        "{% set l = range(99999)|list %}{% for i in l %}{% set x = l|batch(1000, 0)|list %}"
        "{% endfor %}",
        "{% set x = ('a' * 100000)|batch(100000, 0)|list %}{{ range(99999)|batch(1, "
        "0)|map('batch', "
        "100000, 0)|map('list')|list }}",
        "{% set n = namespace(l=[]) %}{% for i in range(99999) %}{% set n.l = [n.l, 'a' * 1000000] "
        "%}{% endfor %}",
        "{% macro f(n) %}{{ 'a' * 16000000 }}{{ f(n) }}{% endmacro %}{{ f(1) }}",
        "{{ [[1]]|tojson(indent='a' * 16000000) }}", "{{ ('a' * 16000000)|list|length }}",
        "{{ ('a' * 16000000)|escape|replace('a', 'bbbb')|length }}",
        "{{ ('a,' * 8000000).split(',')|length }}", "{{ ('a\\n' * 8000000).splitlines()|length }}",
        "{{ ('a ' * 8000000).split()|length }}",
        "{% set l = [] %}{% for i in range(99999) %}{% for j in range(99999) %}"
        "{% set x = l.append(l) %}{% endfor %}{% endfor %}",
        "{% set d = {} %}{% for i in range(99999) %}{% for j in range(99) %}"
        "{% set x = d.update({i * 99 + j: 'x' ~ i}) %}{% endfor %}{% endfor %}"));

// A loop with a filter holds the list of its items while it evaluates the filter. One such list
// fits into 10 MB; those of 20 nested loops do not.
TEST(TemplateMemory, FilteringLoopsHoldTheirItems) {
  RenderOptions options;
  options.limits.memory = 10 << 20;
  const std::string source =
      "{% set l = [0] * 100000 %}{% macro r(n) %}{% if n %}{% for x in l if r(n - 1) %}"
      "{% endfor %}{% endif %}{% endmacro %}";
  EXPECT_TRUE(
      render(source + "{% for x in l if false %}{% endfor %}", Json::object(), options).ok());
  const auto text = render(source + "{{ r(20) }}", Json::object(), options);
  ASSERT_FALSE(text.ok());
  EXPECT_NE(text.status().message().find("10 MB"), std::string::npos) << text.status().message();
}

// map() and select() are lazy: the error of an item that is never read does not end the render. To
// make and keep such an error still counts as work and memory. Some of these renders end with a
// limit and some with a text; each ends soon, and an error message stays short.
TEST(TemplateErrors, OfItemsThatAreNeverReadCountAgainstTheLimits) {
  std::string arguments;
  for (int i = 0; i < 20000; ++i) arguments += ",1";
  std::string maps;
  for (int i = 0; i < 15000; ++i) maps += ",'map'";
  for (const std::string& source : {
           kLongText + repeated("{% set g = [s]|map('list') %}"),
           kLongText + repeated("{% set g = [s]|map('sort') %}"),
           kLongText + repeated("{% set g = [0]|map(s) %}"),
           kLongText + repeated("{% set g = [0]|select(s) %}"),
           kLongText + "{% set u = {}[s] %}" + repeated("{% set g = [u]|map('upper') %}"),
           "{% set l = [] %}{% set s = 'y' * 160000 %}" +
               repeated("{% set _ = l.append([0]|map(s)) %}"),
           "{% set x = ([[]] * 100000)|map('map','string'" + arguments + ") %}",
           "{% set n = namespace(l=[1]) %}{% for i in range(15000) %}{% set n.l = [n.l] %}"
           "{% endfor %}{% set x = n.l|map('map'" +
               maps + ") %}",
       }) {
    SCOPED_TRACE(source.substr(0, 200));
    const testing::CpuTimeBound bound;
    const auto text = render(source, Json{{"messages", Json::array()}});
    if (!text.ok()) {
      EXPECT_EQ(text.status().code(), Code::kInvalidArgument) << text.status().message();
      EXPECT_LT(text.status().message().size(), 400U);
    }
  }
}

TEST(TemplateWork, DictsFindKeysOfEveryKindWithoutASearch) {
  const testing::CpuTimeBound bound;
  // 50,000 keys, twice: a search over all would be 5 billion comparisons.
  const auto text = render(
      "{% set d = {} %}{% for i in range(50000) %}{% set x = d.update({i: i}) %}"
      "{% endfor %}{% for i in range(50000) %}{% if d[i] != i %}wrong{% endif %}{% endfor %}"
      "{{ d|length }} {{ {1: 'a', 1.0: 'b', true: 'c', (1, 2): 'd'}[(1.0, 2)] }} "
      "{{ {1: 'a', 1.0: 'b', true: 'c'} }}");
  ASSERT_TRUE(text.ok()) << text.status().message();
  EXPECT_EQ(*text, "50000 d {1: 'c'}");
}

TEST(TemplateWork, ListsAreNoKeys) {
  EXPECT_EQ(render("{{ {[1]: 2} }}").status().message(), "[chat template] unhashable type: 'list'");
  EXPECT_FALSE(render("{{ [] in {} }}").ok());
}

TEST(TemplateWork, ManyVariablesAndItemsTakeLinearTime) {
  const testing::CpuTimeBound bound;
  Json context = Json::object();
  Json::object_t& members = context.get_ref<Json::object_t&>();
  for (int i = 0; i < 100'000; ++i) members.push_back({"k" + std::to_string(i), i});
  Json inner = context;
  context["inner"] = std::move(inner);
  context["list"] = Json(std::vector<int>(400'000, 1));
  const auto text = render("{{ inner|length }} {{ list|length }} {{ k99999 }}", context);
  ASSERT_TRUE(text.ok()) << text.status().message();
  EXPECT_EQ(*text, "100000 400000 99999");
}

TEST(TemplateWork, ValuesThatContainThemselvesEnd) {
  EXPECT_EQ(*render("{% set n = namespace() %}{% set n.x = [n] %}{{ n.x == [n] }}"), "True");
  EXPECT_EQ(*render("{% set l = [] %}{% set x = l.append(l) %}{{ l|length }}{{ l == l }}"),
            "1True");
  EXPECT_FALSE(render("{% set l = [] %}{% set x = l.append(l) %}{{ l }}").ok());
  EXPECT_FALSE(render("{% set l = [] %}{% set x = l.append(l) %}{{ l|tojson }}").ok());
  EXPECT_EQ(*render("{% for i in [1, 2] %}{% set x = loop.changed(loop) %}{{ x }}{% endfor %}"),
            "TrueFalse");
}

// Freeing 200,000 nested lists must not overflow the stack.
TEST(TemplateWork, ValuesOfAnyDepthAreFreed) {
  const testing::CpuTimeBound bound;
  const auto text = render(
      "{% set n = namespace(x=[]) %}{% for i in range(99999) %}{% for j in range(2) %}"
      "{% set n.x = [n.x] %}{% endfor %}{% endfor %}{% set n.x = 0 %}{{ n.x }}");
  ASSERT_TRUE(text.ok()) << text.status().message();
  EXPECT_EQ(*text, "0");
}

TEST(TemplateWork, HostileSourcesAreRefusedSoon) {
  const testing::CpuTimeBound bound;
  const auto times = [](const std::string& part, int count) {
    std::string out;
    for (int i = 0; i < count; ++i) out += part;
    return out;
  };
  constexpr int kMany = 300'000;
  for (const std::string& source :
       {times("{{", kMany), times("{{(", kMany), "{{" + times("(", kMany), times("{%", kMany),
        times("{% if a %}", kMany), times("{% for a in b %}", kMany), times("{% raw %}", kMany),
        times("{#", kMany), "{{" + times("[", kMany), "{{" + times("not ", kMany) + "a }}",
        "{{" + times("-", kMany) + "1 }}", "{{ a" + times(".b", kMany) + "}}",
        "{{ a" + times("|e", kMany) + "}}", "{{ a" + times(" if a else a", kMany) + "}}",
        "{{ " + times("'a' ", kMany) + "'", "{% raw %}" + times("{% ", kMany),
        std::string(3'000'000, 'a')})
    EXPECT_FALSE(ChatTemplate::parse(source).ok()) << source.substr(0, 20);
  EXPECT_TRUE(ChatTemplate::parse(times("{% if a %}{% endif %}", 50'000)).ok());
  EXPECT_TRUE(ChatTemplate::parse("{{ [" + times("1,", 200'000) + "] }}").ok());
  EXPECT_TRUE(ChatTemplate::parse(times("{ % }", 300'000)).ok());
}

TEST(TemplateBudget, TheRequestPaysForItsRender) {
  WorkBudget::Limits limits;
  limits.cpu_time = std::chrono::milliseconds(20);
  WorkBudget budget("request", limits);
  RenderOptions options;
  options.budget = &budget;
  const auto text = render(repeated("{{ i }}"), Json::object(), options);
  ASSERT_FALSE(text.ok());
  EXPECT_NE(text.status().message().find("[request]"), std::string::npos)
      << text.status().message();
}

TEST(TemplateBudget, TheRequestHoldsWhatItsRenderHolds) {
  WorkBudget::Limits limits;
  limits.bytes = 1'000'000;
  WorkBudget budget("request", limits);
  RenderOptions options;
  options.budget = &budget;
  // A render gives its bytes back when it ends: a hundred renders of 400 kB, one after the other,
  // fit into the budget of 1 MB; a single one of 2 MB does not.
  for (int i = 0; i < 100; ++i)
    EXPECT_TRUE(render("{% set x = 'a' * 400000 %}", Json::object(), options).ok());
  EXPECT_FALSE(render("{% set x = 'a' * 2000000 %}", Json::object(), options).ok());
}

}  // namespace
}  // namespace anemone::text
