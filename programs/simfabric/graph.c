/* SPDX-License-Identifier: Apache-2.0 */
/* simfabric graph: a picture of the fabric as it is: who is cabled to whom, rates and states. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "programs/simfabric/report.h"

#define WIDTH 150 /* of the place of one node */
#define HEIGHT 130
#define BOX_WIDTH 110
#define BOX_HEIGHT 44

struct picture {
    const json_t *nodes, *links;
    size_t count;
    size_t *levels; /* by node: 0 hosts, then switches by their distance from them */
    size_t *places; /* by node: from the left, in its level */
    size_t *widths; /* nodes in each level */
    size_t height;  /* levels */
};

static size_t find(const struct picture *p, const char *name)
{
    size_t i = 0;
    while (i < p->count && strcmp(report_text(json_array_get(p->nodes, i), "name"), name) != 0)
        i++;
    return i;
}

static size_t end_of(const struct picture *p, const json_t *link, const char *which)
{
    return find(p, report_text(json_object_get(link, which), "node"));
}

static bool is_host(const json_t *node)
{
    return strcmp(report_text(node, "kind"), "hca") == 0;
}

static const char *state_of(const json_t *link)
{
    const char *a = report_text(json_object_get(link, "a"), "state");
    const char *b = report_text(json_object_get(link, "b"), "state");
    return strcmp(a, "ACTIVE") == 0 ? b : a;
}

static const char *colour_of(const json_t *link)
{
    const char *state = state_of(link);
    return strcmp(state, "ACTIVE") == 0 ? "#2a7d4f"
           : strcmp(state, "DOWN") == 0 ? "#b3261e"
                                        : "#b26a00";
}

static void name_link(const json_t *link, char *out, size_t size)
{
    long long rate = report_number(link, "rate_mbps");
    snprintf(out, size, "4X %lld.%lld Gb/s%s%s", rate / 1000, rate % 1000 / 100,
             strcmp(state_of(link), "ACTIVE") == 0 ? "" : ", ",
             strcmp(state_of(link), "ACTIVE") == 0 ? "" : state_of(link));
}

/* ------------------------------------------------------------------ for other programs */

static void print_dot(const struct picture *p)
{
    size_t i;
    json_t *node, *link;
    char name[64];
    printf("graph simfabric {\n  node [fontname=\"sans-serif\" style=filled fillcolor=white];\n"
           "  edge [fontname=\"sans-serif\" fontsize=9];\n");
    json_array_foreach(p->nodes, i, node)
        printf("  \"%s\" [shape=%s%s];\n", report_text(node, "name"),
               is_host(node) ? "box" : "ellipse", is_host(node) ? "" : " fillcolor=\"#e8eef7\"");
    json_array_foreach(p->links, i, link)
    {
        name_link(link, name, sizeof(name));
        printf("  \"%s\" -- \"%s\" [label=\"%s\" color=\"%s\"];\n",
               report_text(json_object_get(link, "a"), "node"),
               report_text(json_object_get(link, "b"), "node"), name, colour_of(link));
    }
    printf("}\n");
}

static void print_mermaid(const struct picture *p)
{
    size_t i;
    json_t *node, *link;
    char name[64];
    printf("graph BT\n");
    json_array_foreach(p->nodes, i, node) printf(
        is_host(node) ? "  n%zu[\"%s\"]\n" : "  n%zu([\"%s\"])\n", i, report_text(node, "name"));
    json_array_foreach(p->links, i, link)
    {
        name_link(link, name, sizeof(name));
        printf("  n%zu ---|\"%s\"| n%zu\n", end_of(p, link, "a"), name, end_of(p, link, "b"));
    }
}

/* ------------------------------------------------------------------ our own drawing */

/* Switches next to a host are level 1, those next to these 2, and so on. */
static void find_levels(struct picture *p)
{
    size_t i;
    json_t *link;
    for (i = 0; i < p->count; i++)
        p->levels[i] = is_host(json_array_get(p->nodes, i)) ? 0 : SIZE_MAX;
    for (bool more = true; more;) {
        more = false;
        json_array_foreach(p->links, i, link)
        {
            size_t a = end_of(p, link, "a"), b = end_of(p, link, "b");
            size_t low = p->levels[a] < p->levels[b] ? a : b, high = low == a ? b : a;
            if (p->levels[low] == SIZE_MAX || p->levels[high] <= p->levels[low] + 1)
                continue;
            p->levels[high] = p->levels[low] + 1;
            more = true;
        }
    }
    p->height = 1;
    for (i = 0; i < p->count; i++) {
        if (p->levels[i] == SIZE_MAX) /* cabled to nothing */
            p->levels[i] = 1;
        if (p->levels[i] + 1 > p->height)
            p->height = p->levels[i] + 1;
        p->places[i] = p->widths[p->levels[i]]++;
    }
}

static void centre(const struct picture *p, size_t node, long total, long *x, long *y)
{
    size_t level = p->levels[node], wide = p->widths[level];
    *x = total * (2 * (long)p->places[node] + 1) / (2 * (long)wide);
    *y = (long)(p->height - 1 - level) * HEIGHT + HEIGHT / 2;
}

static void draw_link(const struct picture *p, const json_t *link, long total)
{
    long x1, y1, x2, y2;
    char name[64];
    size_t a = end_of(p, link, "a"), b = end_of(p, link, "b");
    bool down = p->levels[a] >= p->levels[b]; /* from the higher end to the lower one */
    centre(p, down ? a : b, total, &x1, &y1);
    centre(p, down ? b : a, total, &x2, &y2);
    name_link(link, name, sizeof(name));
    printf("<line x1=\"%ld\" y1=\"%ld\" x2=\"%ld\" y2=\"%ld\" stroke=\"%s\" stroke-width=\"2\"%s>"
           "<title>%s</title></line>\n",
           x1, y1, x2, y2, colour_of(link),
           strcmp(state_of(link), "DOWN") == 0 ? " stroke-dasharray=\"6 5\"" : "", name);
    if (p->count <= 40) /* else they lie on each other */
        printf("<text x=\"%ld\" y=\"%ld\" font-size=\"10\" fill=\"%s\" class=\"halo\">%s</text>\n",
               x1 + (x2 - x1) * 3 / 5, y1 + (y2 - y1) * 3 / 5, colour_of(link), name);
}

static void draw_node(const struct picture *p, size_t index, long total)
{
    long x, y;
    const json_t *node = json_array_get(p->nodes, index);
    const char *name = report_text(node, "name");
    const char *device = is_host(node) ? strchr(name, '/') : NULL;
    centre(p, index, total, &x, &y);
    printf("<rect x=\"%ld\" y=\"%ld\" width=\"%d\" height=\"%d\" rx=\"%d\" fill=\"%s\" "
           "stroke=\"#3b4656\"/>\n",
           x - BOX_WIDTH / 2, y - BOX_HEIGHT / 2, BOX_WIDTH, BOX_HEIGHT, is_host(node) ? 4 : 22,
           is_host(node) ? "#ffffff" : "#e8eef7");
    printf("<text x=\"%ld\" y=\"%ld\" font-size=\"13\">%.*s</text>\n", x, device ? y - 2 : y + 5,
           device ? (int)(device - name) : (int)strlen(name), name);
    if (device)
        printf("<text x=\"%ld\" y=\"%ld\" font-size=\"11\" fill=\"#5a6677\">%s</text>\n", x, y + 14,
               device + 1);
}

static void print_svg(const struct picture *p)
{
    size_t i, widest = 1;
    json_t *link;
    for (i = 0; i < p->height; i++)
        widest = p->widths[i] > widest ? p->widths[i] : widest;
    long total = (long)(widest < 4 ? 4 : widest) * WIDTH, high = (long)p->height * HEIGHT;
    printf("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%ld\" height=\"%ld\" "
           "viewBox=\"0 0 %ld %ld\" font-family=\"sans-serif\" text-anchor=\"middle\">\n"
           "<style>.halo{paint-order:stroke;stroke:#fff;stroke-width:4px}</style>\n"
           "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
           total, high, total, high);
    json_array_foreach(p->links, i, link) draw_link(p, link, total);
    for (i = 0; i < p->count; i++)
        draw_node(p, i, total);
    printf("</svg>\n");
}

static void print_html(const struct picture *p)
{
    printf("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
           "<title>simfabric</title></head>\n<body>\n");
    print_svg(p);
    printf("</body></html>\n");
}

/* ------------------------------------------------------------------ the command */

static int draw(const json_t *all, void (*print)(const struct picture *p))
{
    struct picture p = {.nodes = json_object_get(all, "nodes"),
                        .links = json_object_get(all, "links")};
    p.count = json_array_size(p.nodes);
    size_t *room = calloc(3 * p.count + 3, sizeof(*room));
    if (!room) {
        simfabric_complain(ERR_RESOURCES_EXHAUSTED, "there is no memory for the picture");
        return SIMFABRIC_INTERNAL;
    }
    p.levels = room;
    p.places = room + p.count;
    p.widths = room + 2 * p.count;
    find_levels(&p);
    print(&p);
    free(room);
    return SIMFABRIC_DONE;
}

int words_graph(const struct instance *instance, const struct words *words)
{
    static const struct {
        const char *name;
        void (*print)(const struct picture *p);
    } formats[] = {
        {"svg", print_svg}, {"html", print_html}, {"dot", print_dot}, {"mermaid", print_mermaid}};
    const char *wanted = words->format ? words->format : "svg";
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        if (strcmp(formats[i].name, wanted) != 0)
            continue;
        int status;
        json_t *all = report_read(instance, words, &status);
        if (all)
            status = draw(all, formats[i].print);
        json_decref(all);
        return status;
    }
    return words_usage("--format is svg, html, dot or mermaid, not", wanted);
}
