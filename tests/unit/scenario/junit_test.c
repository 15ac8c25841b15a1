/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <libxml/parser.h>
#include <string.h>

#include "src/scenario/junit.h"

/* The document about reports that are written as JSON, read back by the library's parser. */
static xmlDoc *document(const char *reports, struct text *out)
{
    json_t *all = json_loads(reports, 0, NULL);
    assert_non_null(all);
    junit_text(all, "sim", out);
    json_decref(all);
    xmlDoc *doc = xmlReadMemory(text_data(out), (int)out->length, "x", NULL, XML_PARSE_NOERROR);
    assert_non_null(doc);
    return doc;
}

static void is(xmlNode *node, const char *name, const char *value)
{
    xmlChar *found = xmlGetProp(node, BAD_CAST name);
    assert_non_null(found);
    assert_string_equal((const char *)found, value);
    xmlFree(found);
}

static const char mixed[] =
    "[{\"file\":\"a.yaml\",\"cell\":\"x=1\",\"name\":\"first\",\"status\":\"passed\","
    "\"wall\":1500000000},"
    "{\"file\":\"a.yaml\",\"cell\":\"x=2\",\"name\":\"first\",\"status\":\"failed\",\"wall\":2000,"
    "\"failures\":[{\"line\":3,\"column\":4,\"time\":5,\"expected\":\"a < b\",\"found\":\"c\"}]},"
    "{\"file\":\"b.yaml\",\"cell\":\"\",\"name\":\"\",\"status\":\"invalid\","
    "\"errors\":[{\"text\":\"b.yaml:1:1: wrong\"}]},"
    "{\"file\":\"c.yaml\",\"cell\":\"\",\"name\":\"third\",\"status\":\"skipped\","
    "\"reason\":\"fabric sim lacks: dc\"},"
    "{\"file\":\"d.yaml\",\"cell\":\"\",\"name\":\"fourth\",\"status\":\"broken\"}]";

static void totals_stand_at_the_root_and_at_each_file(void **state)
{
    (void)state;
    struct text out = {0};
    xmlDoc *doc = document(mixed, &out);
    xmlNode *root = xmlDocGetRootElement(doc);
    assert_string_equal((const char *)root->name, "testsuites");
    is(root, "tests", "5");
    is(root, "failures", "1");
    is(root, "errors", "2");
    is(root, "skipped", "1");
    is(root, "time", "1.500002");
    xmlNode *suite = xmlFirstElementChild(root);
    is(suite, "name", "a.yaml");
    is(suite, "tests", "2");
    is(suite, "failures", "1");
    assert_int_equal(xmlChildElementCount(root), 4);
    xmlFreeDoc(doc);
    text_free(&out);
}

static void each_case_has_a_name_of_its_own_and_one_verdict(void **state)
{
    (void)state;
    static const char *const verdicts[] = {"failure", "error", "skipped", "error"};
    static const char *const messages[] = {"expected: a < b; found: c", "b.yaml:1:1: wrong",
                                           "fabric sim lacks: dc", "broken"};
    struct text out = {0};
    xmlDoc *doc = document(mixed, &out);
    xmlNode *suite = xmlFirstElementChild(xmlDocGetRootElement(doc));
    xmlNode *one = xmlFirstElementChild(suite);
    is(one, "classname", "a.yaml");
    is(one, "name", "first [x=1] (sim)");
    assert_int_equal(xmlChildElementCount(one), 0);
    one = one->next->next;
    for (size_t i = 0; i < 4; i++) {
        xmlNode *verdict = xmlFirstElementChild(one);
        assert_int_equal(xmlChildElementCount(one), 1);
        assert_string_equal((const char *)verdict->name, verdicts[i]);
        is(verdict, "message", messages[i]);
        xmlChar *body = xmlNodeGetContent(verdict);
        assert_ptr_equal(strstr((const char *)body, messages[i]), body);
        xmlFree(body);
        suite = xmlNextElementSibling(suite);
        one = suite ? xmlFirstElementChild(suite) : NULL;
    }
    xmlFreeDoc(doc);
    text_free(&out);
}

static void whatever_stands_in_a_text_the_document_parses(void **state)
{
    (void)state;
    struct text out = {0};
    xmlDoc *doc =
        document("[{\"file\":\"a&<>\\\"'.yaml\",\"cell\":\"\",\"name\":\"]]> \\u0001 \\u00e4\","
                 "\"status\":\"broken\",\"reason\":\"\\u001b[31m <![CDATA[\"}]",
                 &out);
    xmlNode *suite = xmlFirstElementChild(xmlDocGetRootElement(doc));
    is(suite, "name", "a&<>\"'.yaml");
    is(xmlFirstElementChild(suite), "name", "]]> ? \xc3\xa4 (sim)");
    is(xmlFirstElementChild(xmlFirstElementChild(suite)), "message", "?[31m <![CDATA[");
    xmlFreeDoc(doc);
    text_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(totals_stand_at_the_root_and_at_each_file),
        cmocka_unit_test(each_case_has_a_name_of_its_own_and_one_verdict),
        cmocka_unit_test(whatever_stands_in_a_text_the_document_parses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
