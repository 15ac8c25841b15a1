/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "src/fabric/planted.h"
#include "src/fabric/sysfile.h"
#include "src/net/ipoib.h"

/* All that the command finds out, for both forms of output. */
struct run {
    struct fabric *fabric;
    const struct net_ipoib_options *options;
    enum ipoib_module module;
    struct ipoib_interface before, after;
    struct net_ipoib_plan plan;
    bool found, asked, planned, applied, mtu_written, installed;
    enum fabric_error error;
    char detail[NET_IPOIB_DETAIL];
    const char *fix; /* null: as the error table says */
};

static void look(struct run *run)
{
    char path[FABRIC_PATH_MAX];
    const char *name = run->options->interface;
    assert(!run->found && !run->planned);
    bool shown = sysfile_name_ok(name);
    run->error = ipoib_read(run->fabric, name, &run->before, path);
    run->found = run->error == FABRIC_OK;
    run->module = ipoib_module(run->fabric, run->found);
    run->after = run->before;
    if (run->error == ERR_NOT_FOUND)
        snprintf(run->detail, sizeof(run->detail), "found no interface %s (looked for %s)%s",
                 shown ? name : "of this name", path,
                 run->module == IPOIB_MODULE_MISSING
                     ? "; the module ib_ipoib is not loaded: modprobe ib_ipoib"
                     : "; memkv net show lists the IPoIB interfaces");
    else if (run->error == ERR_NOT_SUPPORTED)
        snprintf(run->detail, sizeof(run->detail),
                 "found an interface of another kind; %s holds not %d (InfiniBand)", path,
                 IPOIB_TYPE);
    else if (run->error)
        snprintf(run->detail, sizeof(run->detail), "%s cannot be used", path);
    if (run->error == ERR_NOT_FOUND)
        run->fix = "Use a name that memkv net show lists; where it lists none, load ib_ipoib.";
    if (run->error == ERR_TOO_LARGE)
        run->error = ERR_SYSFILE_INVALID;
}

/* One form holds; the other one stands by as a remark. */
static void install(struct run *run)
{
    char attribute[NET_IPOIB_RULE], command[NET_IPOIB_RULE] = "", path[NET_UDEV_PATH];
    char text[2 * NET_IPOIB_RULE + 256];
    const char *remark = PLANTED(net_ipoib_both_forms_hold)
                             ? ""
                             : "# Where that does not take, this in its place:\n# ";
    const struct net_installer *installer = run->options->installer;
    assert(run->applied && !run->error);
    net_ipoib_rule_file(&run->before, path);
    net_ipoib_attribute_rule(&run->before, &run->plan, attribute);
    bool fit = net_ipoib_command_rule(&run->before, &run->plan, command);
    int length = snprintf(text, sizeof(text), "# Made by memkv net ipoib for %s.\n%s\n%s%s%s",
                          path + sizeof(NET_UDEV_PREFIX) - 1, attribute, fit ? remark : "",
                          fit ? command : "", fit ? "\n" : "");
    assert(length > 0 && (size_t)length < sizeof(text));
    run->error = installer->write(installer->context, path, text, (size_t)length);
    run->installed = !run->error;
    if (run->error)
        snprintf(run->detail, sizeof(run->detail),
                 "%s could not be written%s; what --apply does is done", path,
                 run->error == ERR_ACCESS_DENIED ? ": it needs root" : "");
}

static void work(struct run *run)
{
    look(run);
    if (run->error)
        return;
    run->error = net_ipoib_plan(&run->before, run->options, &run->plan, run->detail);
    run->planned = run->error == FABRIC_OK;
    if (run->error || !run->options->apply)
        return;
    run->error = net_ipoib_apply(run->fabric, &run->plan, &run->before, &run->after,
                                 &run->mtu_written, run->detail);
    run->applied = run->error == FABRIC_OK;
    if (run->error == ERR_INVALID_ARGUMENT) /* the plan allows it, the driver does not */
        run->error = ERR_NOT_SUPPORTED;
    if (run->applied && run->options->persist && run->options->installer)
        install(run);
    if (run->error == ERR_READ_ONLY) /* /sys of a container, no store */
        run->error = ERR_ACCESS_DENIED;
}

/* ------------------------------------------------------------------ text */

static void address_text(const struct ipoib_interface *interface, char out[3 * IPOIB_ADDRESS_BYTES])
{
    size_t count = PLANTED(net_ipoib_address_cut) ? 8 : IPOIB_ADDRESS_BYTES;
    for (size_t i = 0; i < count; i++)
        snprintf(out + 3 * i, 4, i + 1 < count ? "%02x:" : "%02x", interface->address[i]);
}

static void say_interface(const struct run *run, const struct net_output *out)
{
    const struct ipoib_interface *i = &run->before;
    char address[3 * IPOIB_ADDRESS_BYTES + 1], advice[IPOIB_ADVICE];
    address_text(i, address);
    net_field(out, "interface", "%s   (port %u, %s)", i->name, i->port_num, i->up ? "up" : "down");
    if (i->pkey)
        net_field(out, "P_Key", "0x%04x", i->pkey);
    net_field(out, "mode", "%s%s", ipoib_mode_name(i->connected),
              i->enhanced ? "   (enhanced IPoIB: no connected mode)" : "");
    net_field(out, "MTU", "%u", i->mtu);
    net_field(out, "hardware address", "%s", address);
    net_field(out, "module", "ib_ipoib %s", ipoib_module_name(run->module));
    if (!run->asked && ipoib_advice(i, advice))
        net_field(out, "advice", "%s", advice);
}

static void say_plan(const struct run *run, const struct net_output *out)
{
    const struct net_ipoib_plan *plan = &run->plan;
    const char *key = run->applied ? "done" : "would do";
    bool same = run->before.mtu == plan->mtu && !plan->write_mode;
    assert(run->planned && (run->applied || !run->error));
    if (plan->write_mode)
        net_field(out, key, "write connected to /sys/class/net/%s/mode, which sets the MTU, too",
                  run->before.name);
    if (plan->want_mtu && run->applied && !run->mtu_written)
        net_field(out, key, "MTU %u was there already: not written", plan->mtu);
    else if (plan->want_mtu && !same)
        net_field(out, key, "write %u to /sys/class/net/%s/mtu%s", plan->mtu, run->before.name,
                  plan->write_mode && !run->applied ? " if it differs then" : "");
    if (!plan->write_mode && (!plan->want_mtu || same) && !run->applied)
        net_field(out, key, "nothing: %s mode and MTU %u are there",
                  ipoib_mode_name(run->before.connected), run->before.mtu);
    if (run->applied)
        net_field(out, "now", "%s mode, MTU %u", ipoib_mode_name(run->after.connected),
                  run->after.mtu);
    else
        net_field(out, "to do it", "add --apply");
}

static void say_rules(const struct run *run, const struct net_output *out)
{
    char rule[NET_IPOIB_RULE], path[NET_UDEV_PATH];
    net_ipoib_rule_file(&run->before, path);
    if (run->installed)
        net_field(out, "installed", "%s", path);
    net_ipoib_attribute_rule(&run->before, &run->plan, rule);
    net_print(out, "# %s, the attribute form:\n%s\n", path, rule);
    if (net_ipoib_command_rule(&run->before, &run->plan, rule))
        net_print(out, "# the command form, where the attribute form does not take:\n%s\n", rule);
    else
        net_print(out, "# no command form: a shell would misread the name of the interface\n");
}

static void say(const struct run *run, const struct net_output *out, const struct net_output *talk)
{
    if (run->found)
        say_interface(run, out);
    if (run->planned && run->asked && (!run->error || run->applied))
        say_plan(run, out);
    if (run->planned && run->options->persist && !run->error)
        say_rules(run, out);
    if (run->error)
        net_say_error(talk, run->error, run->detail, run->fix);
}

/* ------------------------------------------------------------------ JSON */

json_t *net_ipoib_object(const struct ipoib_interface *i)
{
    char address[3 * IPOIB_ADDRESS_BYTES + 1];
    json_t *object = json_object();
    address_text(i, address);
    net_set(object, "interface", json_string(i->name));
    net_set(object, "port", json_integer(i->port_num));
    net_set(object, "mode", json_string(ipoib_mode_name(i->connected)));
    net_set(object, "enhanced", json_boolean(i->enhanced));
    net_set(object, "mtu", json_integer(i->mtu));
    net_set(object, "pkey", i->pkey ? json_sprintf("0x%04x", i->pkey) : json_null());
    net_set(object, "up", json_boolean(i->up));
    net_set(object, "address", json_string(address));
    return object;
}

static json_t *plan_object(const struct run *run)
{
    json_t *object = json_object();
    net_set(object, "write_mode", run->plan.write_mode ? json_string("connected") : json_null());
    net_set(object, "mtu", run->plan.want_mtu ? json_integer(run->plan.mtu) : json_null());
    net_set(object, "applied", json_boolean(run->applied));
    net_set(object, "mtu_written", json_boolean(run->mtu_written));
    return object;
}

static json_t *rules_object(const struct run *run)
{
    char rule[NET_IPOIB_RULE], path[NET_UDEV_PATH];
    assert(run->planned);
    json_t *object = json_object();
    net_ipoib_rule_file(&run->before, path);
    net_ipoib_attribute_rule(&run->before, &run->plan, rule);
    net_set(object, "file", json_string(path));
    net_set(object, "installed", json_boolean(run->installed));
    net_set(object, "attribute", json_string(rule));
    bool fit = net_ipoib_command_rule(&run->before, &run->plan, rule);
    net_set(object, "command", fit ? json_string(rule) : json_null());
    return object;
}

static json_t *json_of(const struct run *run)
{
    json_t *object = json_object(), *error = json_null();
    bool rules = run->planned && run->options->persist && !run->error;
    if (run->error)
        error = net_error_object(run->error, run->detail, run->fix);
    net_set(object, "ok", json_boolean(!run->error));
    net_set(object, "module", json_string(ipoib_module_name(run->module)));
    net_set(object, "before", run->found ? net_ipoib_object(&run->before) : json_null());
    net_set(object, "plan", run->planned ? plan_object(run) : json_null());
    net_set(object, "after", run->applied ? net_ipoib_object(&run->after) : json_null());
    net_set(object, "udev", rules ? rules_object(run) : json_null());
    net_set(object, "error", error);
    return object;
}

/* ------------------------------------------------------------------ the command */

enum cli_exit net_ipoib_run(struct fabric *f, const struct net_ipoib_options *options,
                            const struct net_output *out, const struct net_output *talk)
{
    assert(f && options && options->interface && out && talk);
    struct run run = {.fabric = f, .options = options};
    run.asked = options->connected || options->mtu;
    if (options->apply && !run.asked) {
        run.error = ERR_INVALID_ARGUMENT;
        run.fix = "Say what to apply: --connected, --mtu BYTES.";
        snprintf(run.detail, sizeof(run.detail), "--apply needs something to apply");
    } else {
        work(&run);
    }
    if (options->json)
        net_print_json(out, json_of(&run), options->pretty);
    else
        say(&run, out, talk);
    return cli_exit_of(run.error);
}
