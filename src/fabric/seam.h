/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The checked seam: the only way to the table of a fabric. Each function checks its arguments,
 * counts the call, dispatches it and checks what came back. What each one means stands at the
 * member of the same name in fabric.h.
 */
#ifndef SRC_FABRIC_SEAM_H
#define SRC_FABRIC_SEAM_H

#include "src/fabric/fabric.h"

/* For backends and layers: makes the head of an instance. Every member of `ops` must be there; the
 * table must outlive the instance. */
void fabric_init(struct fabric *f, const struct fabric_ops *ops);

enum fabric_error fabric_guarantees(struct fabric *f, struct fabric_guarantees *out);
enum fabric_error fabric_destroy(struct fabric *f);
/* For who ends while storage still has a buffer of his: I/O cannot be taken back, and no program
 * waits. release(memory) is called by fabric_destroy, once nothing can touch the memory any more.
 * The memory is no longer the caller's. Aborts when memory is out. */
void fabric_leave(struct fabric *f, void *memory, void (*release)(void *memory));
enum fabric_error fabric_poll(struct fabric *f, struct fabric_event *events, size_t capacity,
                              uint64_t deadline, size_t *count);
enum fabric_error fabric_wake(struct fabric *f);
enum fabric_error fabric_now(struct fabric *f, uint64_t *out);
enum fabric_error fabric_realtime(struct fabric *f, uint64_t *out);
enum fabric_error fabric_entropy(struct fabric *f, void *buf, size_t length);
enum fabric_error fabric_log(struct fabric *f, enum fabric_log_level level, const char *line);
enum fabric_error fabric_timer_set(struct fabric *f, uint64_t deadline, uint64_t cookie,
                                   fabric_timer *out);
enum fabric_error fabric_timer_cancel(struct fabric *f, fabric_timer timer, bool *was_pending);
enum fabric_error fabric_device_list(struct fabric *f, char (*names)[FABRIC_NAME_MAX],
                                     size_t capacity, size_t *count);
enum fabric_error fabric_device_open(struct fabric *f, const char *name, fabric_device *out);
enum fabric_error fabric_device_close(struct fabric *f, fabric_device device);
enum fabric_error fabric_device_query(struct fabric *f, fabric_device device,
                                      struct fabric_device_attr *out);
enum fabric_error fabric_port_query(struct fabric *f, fabric_device device, uint8_t port_num,
                                    struct fabric_port_attr *out);
enum fabric_error fabric_gid_query(struct fabric *f, fabric_device device, uint8_t port_num,
                                   uint32_t index, struct fabric_gid_entry *out);
enum fabric_error fabric_pkey_query(struct fabric *f, fabric_device device, uint8_t port_num,
                                    uint32_t index, uint16_t *out);
enum fabric_error fabric_counters_query(struct fabric *f, fabric_device device, uint8_t port_num,
                                        struct fabric_port_counters *out);
enum fabric_error fabric_dcb_query(struct fabric *f, const char *netdev, struct fabric_dcb *out);
enum fabric_error fabric_mr_register(struct fabric *f, fabric_device device,
                                     const struct fabric_mr_init *init, fabric_mr *out,
                                     struct fabric_mr_keys *keys);
enum fabric_error fabric_mr_deregister(struct fabric *f, fabric_mr mr);
enum fabric_error fabric_window_open(struct fabric *f, fabric_mr mr, uint64_t iova, uint64_t length,
                                     uint32_t access, uint64_t cookie, fabric_window *out);
enum fabric_error fabric_window_revoke(struct fabric *f, fabric_window window);
enum fabric_error fabric_cq_create(struct fabric *f, fabric_device device, uint32_t depth,
                                   fabric_cq *out);
enum fabric_error fabric_cq_destroy(struct fabric *f, fabric_cq cq);
enum fabric_error fabric_srq_create(struct fabric *f, fabric_device device, uint32_t max_wr,
                                    uint32_t max_sge, fabric_srq *out);
enum fabric_error fabric_srq_destroy(struct fabric *f, fabric_srq srq);
enum fabric_error fabric_srq_post_recv(struct fabric *f, fabric_srq srq,
                                       const struct fabric_recv_wr *wr);
enum fabric_error fabric_qp_create(struct fabric *f, fabric_device device,
                                   const struct fabric_qp_init *init, fabric_qp *out);
enum fabric_error fabric_qp_modify(struct fabric *f, fabric_qp qp,
                                   const struct fabric_qp_attr *attr);
enum fabric_error fabric_qp_query(struct fabric *f, fabric_qp qp, struct fabric_qp_info *out);
enum fabric_error fabric_qp_destroy(struct fabric *f, fabric_qp qp);
enum fabric_error fabric_qp_post_send(struct fabric *f, fabric_qp qp,
                                      const struct fabric_send_wr *wr);
enum fabric_error fabric_qp_post_recv(struct fabric *f, fabric_qp qp,
                                      const struct fabric_recv_wr *wr);
enum fabric_error fabric_resolve(struct fabric *f, fabric_device device, const struct fabric_av *av,
                                 uint64_t cookie);
enum fabric_error fabric_ah_create(struct fabric *f, fabric_device device,
                                   const struct fabric_av *av, fabric_ah *out);
enum fabric_error fabric_ah_destroy(struct fabric *f, fabric_ah ah);
enum fabric_error fabric_listen(struct fabric *f, const char *address, uint64_t cookie,
                                fabric_listener *out, char *bound);
enum fabric_error fabric_listener_close(struct fabric *f, fabric_listener listener);
enum fabric_error fabric_connect(struct fabric *f, const char *address, uint64_t cookie,
                                 fabric_stream *out);
enum fabric_error fabric_stream_peer(struct fabric *f, fabric_stream stream, char *out);
enum fabric_error fabric_stream_local(struct fabric *f, fabric_stream stream, char *address,
                                      char *netdev);
enum fabric_error fabric_stream_set_cookie(struct fabric *f, fabric_stream stream, uint64_t cookie);
enum fabric_error fabric_stream_send(struct fabric *f, fabric_stream stream, const void *data,
                                     size_t length, size_t *accepted);
enum fabric_error fabric_stream_recv(struct fabric *f, fabric_stream stream, void *buf,
                                     size_t capacity, size_t *received, bool *end);
enum fabric_error fabric_stream_shutdown(struct fabric *f, fabric_stream stream);
enum fabric_error fabric_stream_close(struct fabric *f, fabric_stream stream, bool reset);
enum fabric_error fabric_http_listen(struct fabric *f, const struct fabric_http_init *init,
                                     fabric_http *out, char *bound);
enum fabric_error fabric_http_reply(struct fabric *f, fabric_http_request request,
                                    const struct fabric_http_answer *answer);
enum fabric_error fabric_http_close(struct fabric *f, fabric_http http);
enum fabric_error fabric_io_submit(struct fabric *f, const struct fabric_io *io);
enum fabric_error fabric_sysfile_read(struct fabric *f, const char *path, void *buf,
                                      size_t capacity, size_t *length);
enum fabric_error fabric_sysfile_list(struct fabric *f, const char *path, void *buf,
                                      size_t capacity, size_t *length);
enum fabric_error fabric_sysfile_link(struct fabric *f, const char *path, char *buf,
                                      size_t capacity);
enum fabric_error fabric_sysfile_write(struct fabric *f, const char *path, const void *data,
                                       size_t length);

/* The name of an operation, "qp_post_send", and the operation of a name; false when there is none.
 */
const char *fabric_op_name(enum fabric_op op);
bool fabric_op_by_name(const char *name, enum fabric_op *out);

/* An error that the operation may return, FABRIC_OK for one that never fails. */
enum fabric_error fabric_op_fault(enum fabric_op op);

/* Bytes of an MTU code, 0 for what is no code; and the code of a number of bytes, 0 for none. */
uint32_t fabric_mtu_bytes(enum fabric_mtu mtu);
enum fabric_mtu fabric_mtu_code(uint32_t bytes);

/* The error name of a failed completion (retry_exceeded, remote_access, flushed, ...). */
enum fabric_error fabric_wc_error(enum fabric_wc_status status);
const char *fabric_wc_status_name(enum fabric_wc_status status);  /* "RETRY_EXC_ERR" */
const char *fabric_async_name(enum fabric_async_type type);       /* "PORT_ACTIVE" */
const char *fabric_cap_name(enum fabric_cap_bit bit);             /* "grh_required" */
const char *fabric_event_name(enum fabric_event_type type);       /* "completion" */
const char *fabric_qp_state_name(enum fabric_qp_state state);     /* "RTS" */
const char *fabric_port_state_name(enum fabric_port_state state); /* "ACTIVE" */

#endif
