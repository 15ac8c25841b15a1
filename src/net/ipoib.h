/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memkv net ipoib (MK-L3): mode and MTU of an IPoIB interface, planned, applied and made to last.
 */
#ifndef SRC_NET_IPOIB_H
#define SRC_NET_IPOIB_H

#include "src/net/output.h"
#include "src/rail/ipoib.h"

#define NET_UDEV_PREFIX "/etc/udev/rules.d/70-memkv-ipoib-" /* NAME.rules */
#define NET_UDEV_PATH 128                                   /* bytes, with the NUL */

/* Where rules are installed; a file of the same name is replaced. */
struct net_installer {
    void *context;
    enum fabric_error (*write)(void *context, const char *path, const void *data, size_t length);
};

struct net_ipoib_options {
    const char *interface; /* by the name it has now */
    bool connected;        /* the mode that is asked for; otherwise the present one stays */
    uint32_t mtu;          /* bytes; 0: what the mode brings */
    bool apply;            /* do it; otherwise show what would be done */
    bool persist;          /* print udev rules for what is asked for */
    const struct net_installer *installer; /* installs them after `apply`; null: nobody does */
    bool json, pretty;
};

/* What is to be done to an interface, in this order: the mode sets the MTU, too. */
struct net_ipoib_plan {
    bool write_mode;
    bool connected; /* the mode afterwards */
    bool want_mtu;
    uint32_t mtu; /* bytes, wanted; where want_mtu is false what the mode brings */
};

#define NET_IPOIB_DETAIL 512

/* Plans without touching anything. Refusals, with the reason in `detail` (NET_IPOIB_DETAIL bytes)
 * and *plan untouched: not_supported (connected mode on enhanced IPoIB), invalid_argument (an MTU
 * that the mode cannot have). */
enum fabric_error net_ipoib_plan(const struct ipoib_interface *interface,
                                 const struct net_ipoib_options *options,
                                 struct net_ipoib_plan *plan, char *detail);

/* Carries the plan out and fills *after with what is read back: the mode if it differs, then the
 * MTU if it still differs (*mtu_written tells). Errors: those of sysfile_write and ipoib_read,
 * invalid_argument (the value did not stay); what was done before stays done. */
enum fabric_error net_ipoib_apply(struct fabric *f, const struct net_ipoib_plan *plan,
                                  const struct ipoib_interface *before,
                                  struct ipoib_interface *after, bool *mtu_written, char *detail);

/* The two udev rules, each a line without a newline in NET_IPOIB_RULE bytes: one that sets
 * attributes, and one that runs a command, for systems where the first does not take. Both name the
 * port by its GUID, the last 8 bytes of the hardware address; the command needs the name that the
 * interface ends up with. False, for the second, where the name is unfit for a shell. */
#define NET_IPOIB_RULE 512
void net_ipoib_attribute_rule(const struct ipoib_interface *interface,
                              const struct net_ipoib_plan *plan, char *out);
bool net_ipoib_command_rule(const struct ipoib_interface *interface,
                            const struct net_ipoib_plan *plan, char *out);

/* The file that the rules of an interface belong into: NET_UDEV_PATH bytes. */
void net_ipoib_rule_file(const struct ipoib_interface *interface, char *out);

/* An interface in JSON; a new reference. */
json_t *net_ipoib_object(const struct ipoib_interface *interface);

/* Runs the command. Errors, with their exit codes: invalid_argument (an MTU out of range; --apply
 * with nothing to apply), not_found (no such interface), not_supported (one of another kind; the
 * driver refuses), access_denied, sysfile_invalid. */
enum cli_exit net_ipoib_run(struct fabric *f, const struct net_ipoib_options *options,
                            const struct net_output *out, const struct net_output *talk);

#endif
