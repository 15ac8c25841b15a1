/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What net show knows of a node: read from system files, and from the verbs where the fabric has
 * them, then judged. Both renderers print from here and find out nothing of their own.
 */
#ifndef SRC_NET_MODEL_H
#define SRC_NET_MODEL_H

#include "src/config/options.h"
#include "src/fabric/fabric.h"
#include "src/fabric/gid.h"
#include "src/fabric/sysfile.h"
#include "src/rail/dcb.h"
#include "src/rail/ipoib.h"

#define NET_MAX_DEVICES 64
#define NET_MAX_PORTS 8
#define NET_MAX_GIDS 256 /* an address vector holds an index of 8 bits */
#define NET_MAX_PKEYS 512
#define NET_MAX_INTERFACES 8 /* of one port */
#define NET_MAX_FAULTS 32
#define NET_MAX_NOTES 12
#define NET_DETAIL 256

enum net_gid_verdict {
    NET_GID_CHOSEN,   /* first of what peers are told */
    NET_GID_USABLE,   /* told to peers, or would be if there were room */
    NET_GID_UNUSABLE, /* never */
};

struct net_gid {
    struct fabric_gid_entry entry;
    enum net_gid_verdict verdict;
    char reason[NET_DETAIL];
};

struct net_pkey {
    uint32_t index;
    uint16_t pkey;
};

/* A sentence under a heading: "ignored", "notice", "advice". */
struct net_note {
    const char *kind;
    char text[IPOIB_ADVICE];
};

struct net_port {
    uint8_t port_num;
    /* the system files */
    enum fabric_port_state state;
    uint8_t phys_state;
    char phys_text[SYSFILE_LINE]; /* "LinkUp" */
    char rate[SYSFILE_LINE];      /* "100" of "100 Gb/sec (4X EDR)" */
    char rate_detail[SYSFILE_LINE];
    enum fabric_link_layer link_layer;
    uint32_t lid, sm_lid; /* wider than 16 bits on Omni-Path */
    uint8_t lmc, sm_sl;
    uint32_t capability_mask;
    uint64_t port_guid; /* the second half of GID 0; 0 where that is empty */
    uint32_t gid_tbl_len, pkey_tbl_len;
    struct net_gid *gids; /* of gid_count entries, holes left out */
    uint32_t gid_count;
    struct net_pkey pkeys[NET_MAX_PKEYS]; /* empty entries left out */
    uint32_t pkey_count;
    bool constraint_errors_known;
    uint64_t constraint_errors; /* port_rcv_constraint_errors */
    /* the verbs */
    bool asked;                 /* the port answered there */
    enum fabric_mtu max_mtu;    /* 0: unknown */
    enum fabric_mtu active_mtu; /* 0: unknown; on Ethernet also from the interface */
    bool grh_required;
    bool violations_known, growth_known;
    uint32_t violations; /* bad_pkey_cntr */
    uint32_t growth;     /* since the first of two looks */
    /* the interfaces */
    char netdev[FABRIC_NAME_MAX];   /* Ethernet: the one of the chosen GID, else the port's own */
    char physical[FABRIC_NAME_MAX]; /* Ethernet: the port's own, which has the DCB settings */
    struct ipoib_interface ipoib[NET_MAX_INTERFACES];
    uint32_t ipoib_count;
    struct fabric_dcb dcb; /* Ethernet with an interface; else not known */
    /* the judgement */
    enum fabric_error error; /* why RDMA cannot serve here; FABRIC_OK when it can */
    char detail[NET_DETAIL]; /* found and expected */
    uint32_t pkey_index;
    uint16_t pkey;                /* 0 with an error */
    enum fabric_error pkey_error; /* of the entry alone */
    char pkey_detail[NET_DETAIL];
    uint32_t mtu;       /* bytes that would be used; 0: unknown */
    int32_t chosen_gid; /* position in gids; -1: none */
    uint8_t service_level, traffic_class;
    struct rail_dcb_choice lossless; /* what the port offers */
    struct net_note notes[NET_MAX_NOTES];
    uint32_t note_count;
};

struct net_device {
    char name[FABRIC_NAME_MAX];
    char driver[32];                /* "mlx5"; empty: unknown */
    char function[FABRIC_NAME_MAX]; /* "0000:3b:00.0"; empty: no PCI function */
    char node_type[SYSFILE_LINE];
    char hca_type[SYSFILE_LINE], fw_ver[SYSFILE_LINE], hw_rev[SYSFILE_LINE];
    char board_id[SYSFILE_LINE];
    uint64_t node_guid, sys_image_guid;
    bool iwarp;
    bool dc, rc;            /* transports */
    uint8_t port_count;     /* that exist */
    struct net_port *ports; /* of `shown` entries */
    uint8_t shown;
};

/* A system file that could not be used. */
struct net_fault {
    enum fabric_error error;
    char path[FABRIC_PATH_MAX];
};

/* A place that was looked at for a device, and what was there. */
struct net_place {
    char what[FABRIC_PATH_MAX];
    char found[NET_DETAIL];
};

#define NET_MAX_PLACES 16

struct net_model {
    struct fabric *fabric;
    const struct config_rdma *config; /* never null */
    struct net_device *devices;
    uint32_t device_count;
    enum ipoib_module module;
    struct net_fault faults[NET_MAX_FAULTS];
    uint32_t fault_count; /* also those that found no room */
    /* when nothing can be shown */
    enum fabric_error error; /* not_found, or what the class folder answered */
    char detail[NET_DETAIL]; /* found and expected */
    const char *fix;         /* what to do; null: as the error table says */
    struct net_place places[NET_MAX_PLACES];
    uint32_t place_count;
};

/* Reads the devices of the node, or `device` and of it `port` alone (null, 0: all), and judges them
 * by `config` (null: the defaults), which must outlive the model. Never fails: what could not be
 * read stands in `faults`, and where there is nothing to show `error` says why. net_model_free
 * releases what it holds. */
void net_model_read(struct fabric *f, const struct config_rdma *config, const char *device,
                    uint8_t port, struct net_model *out);
void net_model_free(struct net_model *model);

/* Reads the P_Key violation counters a second time and notes their growth (MK-D6). */
void net_model_watch(struct net_model *model);

/* ---- between the files of this room ---- */

void net_fault(struct net_model *model, enum fabric_error error, const char *path);

/* Judges a port that was read: error, P_Key, MTU, GIDs, notes. */
void net_judge(const struct net_model *model, const struct net_device *device,
               struct net_port *port);
/* The verdict and the reason of every GID (MK-B2). */
void net_judge_gids(const struct config_rdma *config, struct net_port *port);
/* The settings that mean nothing here, and the notices on those that do (MK-G1 to G3, L2). */
void net_judge_settings(const struct net_model *model, const struct net_device *device,
                        struct net_port *port);
void net_note(struct net_port *port, const char *kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Fills `places`: what was looked for when there is no device. */
void net_look_around(struct net_model *model);

/* Reads one device and its ports (`port` 0: all of them). */
void net_read_device(struct net_model *model, const char *name, uint8_t port,
                     struct net_device *out);
/* Reads one port, without the verbs' part. */
void net_read_port(struct net_model *model, const struct net_device *device, struct net_port *port);
/* Reads the interface of a RoCE port whose GIDs were judged: its MTU and its DCB settings. */
void net_read_ethernet(struct net_model *model, struct net_port *port);
/* Adds what the verbs know of a device and its ports, where the fabric has it. */
void net_read_verbs(struct net_model *model, struct net_device *device);

/* A file of /sys/class/infiniband/DEVICE: its line (SYSFILE_LINE bytes) or its number. What is
 * there and cannot be used is a fault; what is missing is one where `needed`. False, with *out
 * untouched, after either. */
struct net_reader {
    struct net_model *model;
    const char *device;
    uint8_t port_num; /* 0: files of the device */
};
bool net_line(struct net_reader *r, bool needed, const char *file, char *out);
bool net_number(struct net_reader *r, bool needed, const char *file, uint64_t most, uint64_t *out);
/* The numbers that are names in a folder, ascending, at most `most` of them and each below
 * `limit`; *count of them in `out`, and in *length one more than the largest. */
bool net_indexes(struct net_reader *r, const char *folder, uint32_t limit, uint32_t *out,
                 uint32_t most, uint32_t *count, uint32_t *length);

#endif
