/* SPDX-License-Identifier: Apache-2.0 */
#include "src/scenario/junit.h"

#include <assert.h>
#include <libxml/xmlwriter.h>
#include <stdlib.h>
#include <string.h>

#include "src/fabric/planted.h"
#include "src/scenario/report.h"

struct counts {
    unsigned tests, failures, errors, skipped;
    uint64_t wall; /* ns */
};

/* Everything aborts when memory is out: nothing else can fail here. */
static void done(int result)
{
    if (result < 0)
        abort();
}

/* XML has no form for control characters, not even an escaped one. */
static char *printable(const char *text)
{
    char *copy = strdup(text);
    if (!copy)
        abort();
    for (char *at = copy; *at; at++) {
        bool control = (unsigned char)*at < ' ' && !strchr("\t\n\r", *at);
        if ((control || *at == 0x7f) && !PLANTED(scenario_junit_raw))
            *at = '?';
    }
    return copy;
}

static void attribute(xmlTextWriter *w, const char *name, const char *value)
{
    char *text = printable(value);
    assert(w && name);
    done(xmlTextWriterWriteAttribute(w, BAD_CAST name, BAD_CAST text));
    free(text);
}

static void content(xmlTextWriter *w, const char *value)
{
    char *text = printable(value);
    assert(w);
    done(xmlTextWriterWriteString(w, BAD_CAST text));
    free(text);
}

static void seconds(xmlTextWriter *w, uint64_t ns)
{
    done(xmlTextWriterWriteFormatAttribute(w, BAD_CAST "time", "%llu.%06llu",
                                           (unsigned long long)(ns / 1000000000u),
                                           (unsigned long long)(ns / 1000u % 1000000u)));
}

static void number(xmlTextWriter *w, const char *name, unsigned value)
{
    done(xmlTextWriterWriteFormatAttribute(w, BAD_CAST name, "%u", value));
}

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "";
}

/* "failure", "error", "skipped", or null when it passed. */
static const char *verdict(const json_t *report)
{
    const char *status = report_status(report);
    assert(*status);
    if (strcmp(status, "passed") == 0)
        return NULL;
    if (strcmp(status, "skipped") == 0)
        return "skipped";
    return strcmp(status, "failed") == 0 ? "failure" : "error";
}

static void count(struct counts *counts, const json_t *report)
{
    const char *name = verdict(report);
    counts->tests++;
    counts->failures += name && strcmp(name, "failure") == 0;
    counts->errors += name && strcmp(name, "error") == 0;
    counts->skipped += name && strcmp(name, "skipped") == 0;
    counts->wall += (uint64_t)json_integer_value(json_object_get(report, "wall"));
}

static void write_counts(xmlTextWriter *w, const struct counts *counts)
{
    assert(counts->tests >= counts->failures + counts->errors + counts->skipped);
    number(w, "tests", counts->tests);
    number(w, "failures", counts->failures);
    number(w, "errors", counts->errors);
    number(w, "skipped", counts->skipped);
    seconds(w, counts->wall);
}

/* One sentence, never empty. */
static void message_of(const json_t *report, struct text *out)
{
    const json_t *failure = json_array_get(json_object_get(report, "failures"), 0);
    const json_t *error = json_array_get(json_object_get(report, "errors"), 0);
    assert(out->length == 0);
    if (failure)
        text_add(out, "expected: %s; found: %s", text_of(failure, "expected"),
                 text_of(failure, "found"));
    else if (error)
        text_add(out, "%s", text_of(error, "text"));
    else
        text_add(out, "%s", text_of(report, "reason"));
    if (out->length == 0)
        text_add(out, "%s", report_status(report));
}

static void write_verdict(xmlTextWriter *w, const json_t *report, const char *name)
{
    const struct report_style plain = {false, 0};
    struct text message = {0}, body = {0};
    message_of(report, &message);
    report_text(report, &plain, &body);
    done(xmlTextWriterStartElement(w, BAD_CAST name));
    attribute(w, "message", text_data(&message));
    if (strcmp(name, "skipped") != 0)
        attribute(w, "type", report_status(report));
    content(w, text_data(&message));
    content(w, "\n");
    content(w, text_data(&body));
    done(xmlTextWriterEndElement(w));
    text_free(&message);
    text_free(&body);
}

static void write_case(xmlTextWriter *w, const json_t *report, const char *fabric)
{
    struct text name = {0};
    const char *title = text_of(report, "name"), *cell = text_of(report, "cell");
    text_add(&name, "%s", *title ? title : "unreadable");
    if (*cell)
        text_add(&name, " [%s]", cell);
    text_add(&name, " (%s)", fabric);
    done(xmlTextWriterStartElement(w, BAD_CAST "testcase"));
    attribute(w, "classname", text_of(report, "file"));
    attribute(w, "name", text_data(&name));
    seconds(w, (uint64_t)json_integer_value(json_object_get(report, "wall")));
    if (verdict(report))
        write_verdict(w, report, verdict(report));
    done(xmlTextWriterEndElement(w));
    text_free(&name);
}

static bool same_file(const json_t *a, const json_t *b)
{
    return strcmp(text_of(a, "file"), text_of(b, "file")) == 0;
}

/* The cases of one file, which stand together; returns the first of the next. */
static size_t write_suite(xmlTextWriter *w, const json_t *reports, size_t begin, const char *fabric)
{
    const json_t *first = json_array_get(reports, begin);
    struct counts counts = {0};
    size_t end = begin;
    assert(first);
    for (; end < json_array_size(reports) && same_file(first, json_array_get(reports, end)); end++)
        count(&counts, json_array_get(reports, end));
    done(xmlTextWriterStartElement(w, BAD_CAST "testsuite"));
    attribute(w, "name", text_of(first, "file"));
    write_counts(w, &counts);
    for (size_t i = begin; i < end; i++)
        write_case(w, json_array_get(reports, i), fabric);
    done(xmlTextWriterEndElement(w));
    return end;
}

void junit_text(const json_t *reports, const char *fabric, struct text *out)
{
    struct counts counts = {0};
    xmlBuffer *buffer = xmlBufferCreate();
    xmlTextWriter *w = buffer ? xmlNewTextWriterMemory(buffer, 0) : NULL;
    assert(reports && fabric && out);
    if (!w)
        abort();
    for (size_t i = 0; i < json_array_size(reports); i++)
        count(&counts, json_array_get(reports, i));
    done(xmlTextWriterSetIndent(w, 1));
    done(xmlTextWriterStartDocument(w, NULL, "UTF-8", NULL));
    done(xmlTextWriterStartElement(w, BAD_CAST "testsuites"));
    attribute(w, "name", "memkv-scenario");
    write_counts(w, &counts);
    for (size_t i = 0; i < json_array_size(reports);)
        i = write_suite(w, reports, i, fabric);
    done(xmlTextWriterEndDocument(w));
    xmlFreeTextWriter(w);
    text_add_bytes(out, (const char *)xmlBufferContent(buffer), (size_t)xmlBufferLength(buffer));
    xmlBufferFree(buffer);
}
