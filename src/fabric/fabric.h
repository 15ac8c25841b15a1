/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fabric contract: all that one node sees of the world.
 *
 * Everything in src/ reaches devices, peers, time, randomness, disks and system files through the
 * functions declared here and in no other way. Four fabrics carry the contract; a program cannot
 * tell which one it runs on except by the capability bits.
 *
 * Rules that hold for every member unless its comment says otherwise:
 *  - One instance belongs to one thread. Only fabric_wake may be called from elsewhere.
 *  - Nothing calls back. What happens later is reported by fabric_poll, with its time.
 *  - A member never waits for the network or for a disk, but for poll and the one case that
 *    qp_modify names. A constructor may take a system call.
 *  - A failed constructor leaves nothing to destroy and leaves *out untouched.
 *  - Programmer errors (a null pointer, a handle that was never given out or was destroyed, an
 *    argument that is out of its documented range) abort in the seam. Whatever the network, the
 *    device or the operator can cause is a returned error, a completion status or an event.
 *  - Strings and structures passed in are copied before the call returns; data buffers of accepted
 *    posts and I/O requests stay lent to the fabric until their completion was polled.
 *  - Times are nanoseconds of the monotonic clock. Sizes are bytes. GIDs are in network order, all
 *    integers in host order.
 */
#ifndef SRC_FABRIC_FABRIC_H
#define SRC_FABRIC_FABRIC_H

#include "src/fabric/types.h"

struct fabric;

/* What a backend (or a layer over one) provides. Callers use the functions of the same name with
 * the prefix fabric_ (seam.h), which check, count, trace and dispatch; nobody else reads this. */
struct fabric_ops {
    /* guarantees: what this fabric promises; constant for the life of the instance. */
    enum fabric_error (*guarantees)(struct fabric *f, struct fabric_guarantees *out);
    /* destroy: ends the instance. Everything still open is destroyed in the right order; nothing
     * is reported any more. Buffers lent to it are the caller's again when it returns. May block
     * for as long as the operating system takes to tear down. Never fails. */
    enum fabric_error (*destroy)(struct fabric *f);
    /* poll: waits until something happened or `deadline` (ns, monotonic) has passed, then gives up
     * to `capacity` (1 or more) events and their number; their times do not decrease, and events of
     * one object come in the order in which they happened. A deadline in the past never waits. In
     * the simulator it never waits: virtual time passes between calls. Events own nothing. */
    enum fabric_error (*poll)(struct fabric *f, struct fabric_event *events, size_t capacity,
                              uint64_t deadline, size_t *count);
    /* wake: makes a waiting or the next poll return a WOKEN event. Any thread, any signal handler.
     */
    enum fabric_error (*wake)(struct fabric *f);
    /* now: monotonic time in ns, never decreasing. */
    enum fabric_error (*now)(struct fabric *f, uint64_t *out);
    /* realtime: wall clock in ns since 1970, for people only; it may jump either way. */
    enum fabric_error (*realtime)(struct fabric *f, uint64_t *out);
    /* entropy: `length` bytes that a stranger cannot predict (seeded in the simulator). */
    enum fabric_error (*entropy)(struct fabric *f, void *buf, size_t length);
    /* log: one line without a newline, at most 1,000 bytes, no secrets. Never fails, may drop. */
    enum fabric_error (*log)(struct fabric *f, enum fabric_log_level level, const char *line);

    /* timer_set: a TIMER event with `cookie` at or after `deadline`, in order of their deadlines
     * and among equals in order of setting; one event, then it is gone. Errors:
     * resources_exhausted. */
    enum fabric_error (*timer_set)(struct fabric *f, uint64_t deadline, uint64_t cookie,
                                   fabric_timer *out);
    /* timer_cancel: after it no event of this timer is returned; false in *was_pending means that
     * the event was polled before, which is no error. The handle is gone either way. Never fails.
     */
    enum fabric_error (*timer_cancel)(struct fabric *f, fabric_timer timer, bool *was_pending);

    /* device_list: names of the RDMA devices present now, sorted, up to `capacity`; *count is the
     * number that exist. No device is no error. */
    enum fabric_error (*device_list)(struct fabric *f, char (*names)[FABRIC_NAME_MAX],
                                     size_t capacity, size_t *count);
    /* device_open: from now on its asynchronous events are reported. Errors: not_found,
     * device_removed, access_denied, resources_exhausted. */
    enum fabric_error (*device_open)(struct fabric *f, const char *name, fabric_device *out);
    /* device_close: destroys what was made on it; what its posts, revocations and openings still
     * owe is reported by later polls (WR_FLUSH_ERR, WINDOW_REVOKED, WINDOW_OPENED with
     * device_removed) under the old handles, and no asynchronous event. Also the way to give up a
     * removed device. Never fails. */
    enum fabric_error (*device_close)(struct fabric *f, fabric_device device);
    /* device_query: errors: device_removed. */
    enum fabric_error (*device_query)(struct fabric *f, fabric_device device,
                                      struct fabric_device_attr *out);
    /* port_query: what the device believes now; see `state` for what counts. port_num from 1 to
     * num_ports, else invalid_argument. Errors: device_removed. */
    enum fabric_error (*port_query)(struct fabric *f, fabric_device device, uint8_t port_num,
                                    struct fabric_port_attr *out);
    /* gid_query: entry `index` of the port's GID table. Errors: not_found (a hole, or past the
     * end), device_removed. Holes do not end the table. */
    enum fabric_error (*gid_query)(struct fabric *f, fabric_device device, uint8_t port_num,
                                   uint32_t index, struct fabric_gid_entry *out);
    /* pkey_query: entry `index` of the port's P_Key table, 0x0000 where empty. Errors:
     * pkey_index_range (past the end), device_removed. */
    enum fabric_error (*pkey_query)(struct fabric *f, fabric_device device, uint8_t port_num,
                                    uint32_t index, uint16_t *out);
    /* counters_query: errors: device_removed, not_supported. */
    enum fabric_error (*counters_query)(struct fabric *f, fabric_device device, uint8_t port_num,
                                        struct fabric_port_counters *out);
    /* dcb_query: of the Ethernet interface `netdev`; never fails for want of DCB (see present). */
    enum fabric_error (*dcb_query)(struct fabric *f, const char *netdev, struct fabric_dcb *out);

    /* mr_register: after success the memory is the caller's still, but stays mapped until
     * mr_deregister. Key values are as the device makes them (some: an index and 8 bits that
     * change); what a stranger cannot predict is the iova, which the caller takes from entropy.
     * Errors: memlock_limit, registration_failed,
     * not_supported (kind), invalid_argument (iova_align), device_removed, resources_exhausted. */
    enum fabric_error (*mr_register)(struct fabric *f, fabric_device device,
                                     const struct fabric_mr_init *init, fabric_mr *out,
                                     struct fabric_mr_keys *keys);
    /* mr_deregister: when it returns, no remote access through its rkey can happen any more, and
     * posts that still name its lkey fail with LOC_PROT_ERR. Its windows must be gone (programmer
     * error otherwise). Never fails. The key values may be given out again at once: hand out only
     * keys of windows. */
    enum fabric_error (*mr_deregister)(struct fabric *f, fabric_mr mr);
    /* window_open: begins to lend [iova, iova + length) of `mr` to peers under a fresh key, for one
     * operation or one peer. WINDOW_OPENED follows exactly once and brings the key, which grants
     * nothing before it; with an error the handle is gone. `access` is REMOTE_READ and/or
     * REMOTE_WRITE; the latter needs LOCAL_WRITE of the region. The region itself needs no REMOTE_
     * bit, so that its own rkey can grant nothing (vol. 1, chapter 10.6.6.2). Several windows may
     * overlap. Errors at once: invalid_argument (outside the region, access, longer than the
     * device's max_window_size), not_supported (no windows), resources_exhausted, device_removed.
     */
    enum fabric_error (*window_open)(struct fabric *f, fabric_mr mr, uint64_t iova, uint64_t length,
                                     uint32_t access, uint64_t cookie, fabric_window *out);
    /* window_revoke: starts taking the key back and never fails; exactly one WINDOW_REVOKED event
     * follows, also when the device is removed or closed meanwhile. Until then a peer may still
     * touch the memory; afterwards nothing can, every byte that landed through it is visible here,
     * and the handle is gone. Also allowed before WINDOW_OPENED was polled, which then does not
     * come. The key's value is not given out again for at least FABRIC_KEY_QUARANTINE ns, so that
     * an old request that is still under way meets no new window. */
    enum fabric_error (*window_revoke)(struct fabric *f, fabric_window window);

    /* cq_create: room for `depth` completions. Overrun raises CQ_ERR and ends its queue pairs;
     * what it lost is flushed when they are reset or destroyed. So `depth` must cover the posts
     * that can be outstanding. Errors: resources_exhausted, device_removed. */
    enum fabric_error (*cq_create)(struct fabric *f, fabric_device device, uint32_t depth,
                                   fabric_cq *out);
    /* cq_destroy: no queue pair may use it any more (programmer error). Completions not yet polled
     * are still reported. Never fails. */
    enum fabric_error (*cq_destroy)(struct fabric *f, fabric_cq cq);
    /* srq_create: a shared receive queue of `max_wr` receives with `max_sge` entries each. Errors:
     * resources_exhausted, device_removed. */
    enum fabric_error (*srq_create)(struct fabric *f, fabric_device device, uint32_t max_wr,
                                    uint32_t max_sge, fabric_srq *out);
    /* srq_destroy: no queue pair may use it any more. Receives not consumed never complete: a
     * receive on an SRQ is lent to the queue, not to a queue pair (vol. 1, chapter 10.2.9), and is
     * the caller's again when this returns. Never fails. */
    enum fabric_error (*srq_destroy)(struct fabric *f, fabric_srq srq);
    /* srq_post_recv: as qp_post_recv, but a completion is not promised (see srq_destroy). */
    enum fabric_error (*srq_post_recv)(struct fabric *f, fabric_srq srq,
                                       const struct fabric_recv_wr *wr);

    /* qp_create: in RESET. Errors: dc_unsupported, not_supported (without RC), invalid_argument
     * (more than the device's limits), resources_exhausted, device_removed. */
    enum fabric_error (*qp_create)(struct fabric *f, fabric_device device,
                                   const struct fabric_qp_init *init, fabric_qp *out);
    /* qp_modify: one transition of vol. 1, chapter 10.3.1. On an error the state is unchanged,
     * where the backend can tell; else the queue pair is only good for ERR, RESET or destruction.
     * On RoCE the kernel resolves the peer's link address inside the move to RTR: unless `resolve`
     * has just told success it may take up to a second there and return unreachable. Errors:
     * invalid_argument (transition or value), grh_unavailable (the port demands a GRH and the
     * vector has none), mtu_above_active (only with RTR_MTU_CHECKED), pkey_index_range, pkey_empty,
     * unreachable, device_removed. To ERR: everything accepted completes as WR_FLUSH_ERR, in order.
     * To RESET: the same (verbs would drop them; the fabric reports them all the same). */
    enum fabric_error (*qp_modify)(struct fabric *f, fabric_qp qp,
                                   const struct fabric_qp_attr *attr);
    /* qp_query: state and number, by what calls and polled events left; it asks no device. Errors:
     * device_removed. */
    enum fabric_error (*qp_query)(struct fabric *f, fabric_qp qp, struct fabric_qp_info *out);
    /* qp_destroy: when it returns, no peer can reach memory through this queue pair. What was
     * accepted and not yet completed is reported as WR_FLUSH_ERR by later polls, under the old
     * handle. Never fails. */
    enum fabric_error (*qp_destroy)(struct fabric *f, fabric_qp qp);
    /* qp_post_send: an accepted post completes exactly once, whatever happens, also across
     * teardown and device loss (an unsignaled one that succeeds is covered by the next completion
     * of its queue, and holds its place in the queue until that was polled; one that fails or is
     * flushed has a completion of its own). Buffers are lent until then; with INLINE only during
     * the call. A refused post never left. Send completions of one queue pair come in the order of
     * posting. A write that failed may have landed wholly, partly or not at all. SUCCESS of a WRITE
     * does not mean that the peer's CPU sees the bytes: that is told by the peer's own events, a
     * receive completion (bytes of earlier WRITEs of that queue pair are visible) or
     * WINDOW_REVOKED. Errors:
     * queue_full, invalid_argument (state: below RTS; a DCT; opcode; too many entries; inline too
     * long), device_removed. In ERR posts are accepted and flushed. */
    enum fabric_error (*qp_post_send)(struct fabric *f, fabric_qp qp,
                                      const struct fabric_send_wr *wr);
    /* qp_post_recv: from INIT on. The same promises; receives of one queue pair complete in order.
     * Errors: queue_full, invalid_argument (in RESET, a DCI, a queue pair with an SRQ, too many
     * entries), device_removed. */
    enum fabric_error (*qp_post_recv)(struct fabric *f, fabric_qp qp,
                                      const struct fabric_recv_wr *wr);
    /* resolve: looks up the link-layer address behind `av`; RESOLVED follows exactly once, unless
     * the device is closed before. On InfiniBand there is nothing to look up and it says success at
     * once, whether or not anybody has the LID; on RoCE it is the neighbour of dgid, and
     * unreachable when nobody answered. The move to RTR and ah_create do not wait when it told
     * success for the same vector within the last second. Errors at once: invalid_argument
     * (port_num), resources_exhausted, device_removed. */
    enum fabric_error (*resolve)(struct fabric *f, fabric_device device, const struct fabric_av *av,
                                 uint64_t cookie);
    /* ah_create: an address handle for DC sends from `av`; on RoCE as slow as the move to RTR.
     * Errors: invalid_argument, grh_unavailable, unreachable, resources_exhausted, device_removed.
     */
    enum fabric_error (*ah_create)(struct fabric *f, fabric_device device,
                                   const struct fabric_av *av, fabric_ah *out);
    /* ah_destroy: posts that were accepted with it are not affected. Never fails. */
    enum fabric_error (*ah_destroy)(struct fabric *f, fabric_ah ah);

    /* listen: on "IP:PORT" or "[IPv6]:PORT"; port 0 picks one; `bound` gets the address in use
     * (FABRIC_ADDRESS_MAX bytes). New peers come as ACCEPTED events, each with a stream of its own
     * that the caller must close. Errors: address_in_use, invalid_argument, access_denied (a port
     * that the user may not have), resources_exhausted, not_supported (without TCP). */
    enum fabric_error (*listen)(struct fabric *f, const char *address, uint64_t cookie,
                                fabric_listener *out, char *bound);
    /* listener_close: streams already accepted live on. Never fails. */
    enum fabric_error (*listener_close)(struct fabric *f, fabric_listener listener);
    /* connect: to "HOST:PORT"; CONNECTED or CLOSED follows. A name is looked up behind the call; a
     * failure comes as CLOSED with unreachable. Errors at once: invalid_argument (also: an address
     * of FABRIC_ADDRESS_MAX bytes or more), resources_exhausted, not_supported (without TCP). */
    enum fabric_error (*connect)(struct fabric *f, const char *address, uint64_t cookie,
                                 fabric_stream *out);
    /* stream_peer: address of the other end as "IP:PORT" (FABRIC_ADDRESS_MAX bytes). Errors:
     * peer_gone. */
    enum fabric_error (*stream_peer)(struct fabric *f, fabric_stream stream, char *out);
    /* stream_local: our own end: its "IP:PORT" (FABRIC_ADDRESS_MAX bytes), and in `netdev`
     * (FABRIC_NAME_MAX bytes) the interface that has this IP, empty where there is none or nobody
     * knows. Errors: peer_gone (also before CONNECTED). */
    enum fabric_error (*stream_local)(struct fabric *f, fabric_stream stream, char *address,
                                      char *netdev);
    /* stream_set_cookie: replaces the cookie of later events (an accepted stream starts with its
     * listener's). Never fails. */
    enum fabric_error (*stream_set_cookie)(struct fabric *f, fabric_stream stream, uint64_t cookie);
    /* stream_send: takes a prefix of `data`, *accepted bytes of it, maybe 0; a short one is
     * followed by WRITABLE. Bytes taken are copied; they arrive in order, once, or the stream ends:
     * an end may lose any suffix of them. Boundaries are not kept. Errors: peer_gone. */
    enum fabric_error (*stream_send)(struct fabric *f, fabric_stream stream, const void *data,
                                     size_t length, size_t *accepted);
    /* stream_recv: up to `capacity` bytes that have arrived, *received of them; 0 with *end false
     * means none yet and a READABLE will follow; 0 with *end true: the peer sends no more. After
     * a reset bytes that had arrived may be gone. Errors: peer_gone. */
    enum fabric_error (*stream_recv)(struct fabric *f, fabric_stream stream, void *buf,
                                     size_t capacity, size_t *received, bool *end);
    /* stream_shutdown: sends no more; receiving goes on. Never fails. */
    enum fabric_error (*stream_shutdown)(struct fabric *f, fabric_stream stream);
    /* stream_close: the handle is gone and no event of it follows. `reset` throws away what is
     * still in flight and tells the peer so; otherwise accepted bytes are delivered unless the peer
     * sends more than 64 KiB, or for more than 1 s, after it. */
    enum fabric_error (*stream_close)(struct fabric *f, fabric_stream stream, bool reset);

    /* http_listen: an HTTP end point for operators. Each request comes as HTTP_REQUEST and wants
     * one http_reply. What is no HTTP, is larger than the FABRIC_HTTP_ sizes, has a body, or comes
     * while FABRIC_HTTP_REQUESTS wait is answered by the fabric itself and is no event. `bound` as
     * for listen. Errors: address_in_use, invalid_argument (address, one of certificate and key
     * without the other), tls_invalid (they cannot be read or do not fit), access_denied,
     * resources_exhausted, not_supported (without HTTP). */
    enum fabric_error (*http_listen)(struct fabric *f, const struct fabric_http_init *init,
                                     fabric_http *out, char *bound);
    /* http_reply: answers and forgets the request; the answer is copied. A client that is gone
     * meanwhile gets nothing, and nobody is told. Replying twice, or after http_close, is a
     * programmer error. Never fails. */
    enum fabric_error (*http_reply)(struct fabric *f, fabric_http_request request,
                                    const struct fabric_http_answer *answer);
    /* http_close: listens no more; requests not yet answered are answered with 503 and are gone,
     * also those whose event was not polled; answers under way may be cut off. Waits at most for
     * work of this process. Never fails. */
    enum fabric_error (*http_close)(struct fabric *f, fabric_http http);

    /* io_submit: storage request; exactly one IO_DONE follows an accepted one. Between two flushes
     * writes may reach the medium in any order unless STORAGE_ORDER, and a power cut may tear a
     * write at storage_tear_unit. Errors: queue_full, invalid_argument (also: a path of
     * FABRIC_PATH_MAX bytes or more); all else in IO_DONE (not_found, exists, access_denied, busy,
     * too_large, store_full, read_only, media_failed). After a FLUSH that failed every later one of
     * that file fails until it is closed: what was written since the last good one may be lost
     * although the system takes it for written. */
    enum fabric_error (*io_submit)(struct fabric *f, const struct fabric_io *io);

    /* sysfile_read: contents of a system file by its usual absolute path (a test's root folder
     * may stand before it), up to `capacity` bytes. Errors: not_found, too_large (more than
     * capacity; nothing is written), invalid_argument (EINVAL of the file), access_denied,
     * not_supported. */
    enum fabric_error (*sysfile_read)(struct fabric *f, const char *path, void *buf,
                                      size_t capacity, size_t *length);
    /* sysfile_list: names in a folder, sorted, each ending in NUL, one after the other. Errors: as
     * sysfile_read. */
    enum fabric_error (*sysfile_list)(struct fabric *f, const char *path, void *buf,
                                      size_t capacity, size_t *length);
    /* sysfile_link: where a symbolic link points, with a final NUL. Errors: not_found (also: no
     * link), too_large, access_denied, not_supported. */
    enum fabric_error (*sysfile_link)(struct fabric *f, const char *path, char *buf,
                                      size_t capacity);
    /* sysfile_write: gives `data` to a system file in one write; it does not make files. What may
     * be written is the mode of an IPoIB interface ("connected\n" or "datagram\n"; without the
     * newline it is refused), which also sets its MTU, and then the MTU itself ("65520", within
     * the limits of ipoib.h): the mode first. Errors: not_found, access_denied,
     * invalid_argument (EINVAL: the driver or the mode has no such value), read_only,
     * not_supported. */
    enum fabric_error (*sysfile_write)(struct fabric *f, const char *path, const void *data,
                                       size_t length);
};

/* Positions in the table. */
enum fabric_op {
#define X(upper, lower, parameters, arguments, fault) FABRIC_OP_##upper,
#include "src/fabric/ops.def"
#undef X
    FABRIC_OP_COUNT
};

/* The head of every instance, first member of a backend's or layer's own structure; made by
 * fabric_init and then kept by the seam. */
struct fabric {
    const struct fabric_ops *ops;
    uint64_t calls[FABRIC_OP_COUNT];  /* by position in the table */
    uint64_t errors[FABRIC_OP_COUNT]; /* calls that returned an error */
    uint64_t last_now, last_event;    /* ns; neither may decrease */
    uint32_t depth;                   /* layers below this one; 0 for a backend */
    struct fabric_left *left;         /* what fabric_leave was given */
};

#include "src/fabric/seam.h"

#endif
