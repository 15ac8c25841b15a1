/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the configured settings mean on the fabric of a port: what is ignored there (MK-G1), and
 * which service level and traffic class its packets carry (MK-G2, G3).
 */
#ifndef SRC_RAIL_SETTINGS_H
#define SRC_RAIL_SETTINGS_H

#include "src/rail/judge.h"

/* Says, once in the life of the rail, which settings its fabric ignores. */
void rail_notice_ignored(struct rail *rail, const struct rail_verdict *v,
                         const struct fabric_port_attr *attr);

/* Fills sl and traffic_class of v->address, whose GIDs are chosen already. On InfiniBand the
 * configured service level, and no DCB is asked for. On Ethernet what is configured, else what the
 * port's DCB settings make lossless; says which of the two decides, once and again when those
 * settings changed. Without an answer to the question the last one holds. */
void rail_choose_traffic(struct rail *rail, struct rail_verdict *v,
                         const struct fabric_port_attr *attr);

#endif
