/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ibv_create_comp_channel asks no provider: it writes a command to the device file and reads a
 * descriptor out of the answer. The slot through which libibverbs calls write() is therefore led
 * here; only writes to the device files of our contexts are answered, all others go on.
 */
#define _GNU_SOURCE /* dl_iterate_phdr */
#include <assert.h>
#include <errno.h>
#include <link.h>
#include <rdma/ib_user_verbs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fabric_sim/verbs/plugin.h"

/* The one place that belongs to the process: write() says nothing but a descriptor. */
static struct {
    pthread_mutex_t lock;
    struct plugin_context *contexts;
    bool tried, hooked;
} registry = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ------------------------------------------------------------------ the answer */

/* Returns the handle of the channel that had this descriptor before, which the program closed
 * without anybody being told; 0: none. */
static uint32_t keep_channel(struct plugin_context *context, int fd, uint32_t handle)
{
    assert(fd >= 0 && handle);
    uint32_t before = 0;
    pthread_mutex_lock(&context->lock);
    struct plugin_channel *channel = context->channels;
    while (channel && channel->fd != fd)
        channel = channel->next;
    if (channel) {
        before = channel->handle;
    } else {
        channel = malloc(sizeof(*channel));
        if (!channel)
            abort();
        channel->next = context->channels;
        context->channels = channel;
    }
    channel->fd = fd;
    channel->handle = handle;
    pthread_mutex_unlock(&context->lock);
    return before;
}

static int create_channel(struct plugin_context *context, uint64_t response)
{
    struct ib_uverbs_create_comp_channel_resp answer;
    uint32_t handle;
    int fd;
    int error = plugin_create_channel(context, false, &handle, &fd);
    if (error)
        return error;
    uint32_t before = keep_channel(context, fd, handle);
    if (before)
        (void)plugin_end(context, PROTOCOL_DESTROY_CHANNEL, before);
    answer.fd = (uint32_t)fd;
    memcpy((void *)(uintptr_t)response, &answer, sizeof(answer));
    return 0;
}

/* A command of libibverbs to the device file; 0 or an errno. */
static int command(struct plugin_context *context, const void *bytes, size_t length)
{
    struct {
        struct ib_uverbs_cmd_hdr head;
        struct ib_uverbs_create_comp_channel body;
    } request;
    if (length < sizeof(request))
        return EINVAL;
    memcpy(&request, bytes, sizeof(request));
    if (request.head.command != IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL)
        return EOPNOTSUPP;
    return create_channel(context, request.body.response);
}

static ssize_t hooked_write(int fd, const void *bytes, size_t length)
{
    pthread_mutex_lock(&registry.lock);
    struct plugin_context *context = registry.contexts;
    while (context && context->verbs.context.cmd_fd != fd)
        context = context->next;
    pthread_mutex_unlock(&registry.lock);
    if (!context)
        return write(fd, bytes, length);
    int error = command(context, bytes, length);
    if (!error)
        return (ssize_t)length;
    errno = error;
    return -1;
}

/* ------------------------------------------------------------------ the slot */

struct relocations {
    const ElfW(Rela) * entries;
    size_t count;
};

struct library {
    uintptr_t base;
    const ElfW(Sym) * symbols;
    const char *names;
    struct relocations tables[2]; /* of calls, of other references */
};

static uintptr_t address_of(const struct library *library, ElfW(Addr) value)
{
    return value < library->base ? library->base + value : value; /* loaders differ in this */
}

static void read_dynamic(struct library *library, const ElfW(Dyn) * entry)
{
    assert(library && entry);
    size_t call_bytes = 0, bytes = 0;
    for (; entry->d_tag != DT_NULL; entry++) {
        uintptr_t address = address_of(library, entry->d_un.d_ptr);
        if (entry->d_tag == DT_SYMTAB)
            library->symbols = (const ElfW(Sym) *)address;
        else if (entry->d_tag == DT_STRTAB)
            library->names = (const char *)address;
        else if (entry->d_tag == DT_JMPREL)
            library->tables[0].entries = (const ElfW(Rela) *)address;
        else if (entry->d_tag == DT_PLTRELSZ)
            call_bytes = entry->d_un.d_val;
        else if (entry->d_tag == DT_RELA)
            library->tables[1].entries = (const ElfW(Rela) *)address;
        else if (entry->d_tag == DT_RELASZ)
            bytes = entry->d_un.d_val;
    }
    library->tables[0].count = call_bytes / sizeof(ElfW(Rela));
    library->tables[1].count = bytes / sizeof(ElfW(Rela));
}

/* The page is read-only after relocation: writable for the moment of the change. */
static bool set_slot(uintptr_t slot)
{
    const uintptr_t value = (uintptr_t)hooked_write;
    uintptr_t page_size = (uintptr_t)sysconf(_SC_PAGESIZE);
    void *page = (void *)(slot & ~(page_size - 1));
    if (mprotect(page, page_size, PROT_READ | PROT_WRITE) != 0)
        return false;
    memcpy((void *)slot, &value, sizeof(value));
    return mprotect(page, page_size, PROT_READ) == 0;
}

/* Every slot of write() in the library. False when there is none. */
static bool set_slots(const struct library *library)
{
    assert(library->base);
    bool set = false;
    if (!library->symbols || !library->names)
        return false;
    for (int i = 0; i < 2; i++) {
        const struct relocations *table = &library->tables[i];
        for (size_t j = 0; table->entries && j < table->count; j++) {
            size_t symbol = ELF64_R_SYM(table->entries[j].r_info);
            const char *name = library->names + library->symbols[symbol].st_name;
            if (symbol && strcmp(name, "write") == 0)
                set = set_slot(library->base + table->entries[j].r_offset) || set;
        }
    }
    return set;
}

static int visit(struct dl_phdr_info *info, size_t size, void *context)
{
    uintptr_t wanted = (uintptr_t)context;
    const ElfW(Dyn) *dynamic = NULL;
    bool inside = false;
    (void)size;
    for (ElfW(Half) i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uintptr_t from = info->dlpi_addr + part->p_vaddr;
        if (part->p_type == PT_LOAD && wanted >= from && wanted - from < part->p_memsz)
            inside = true;
        if (part->p_type == PT_DYNAMIC)
            dynamic = (const ElfW(Dyn) *)from;
    }
    if (!inside || !dynamic)
        return 0;
    struct library library = {.base = info->dlpi_addr};
    read_dynamic(&library, dynamic);
    return set_slots(&library) ? 1 : 0;
}

bool hook_add(struct plugin_context *context)
{
    assert(context->verbs.context.cmd_fd >= 0);
    pthread_mutex_lock(&registry.lock);
    if (!registry.tried)
        registry.hooked = dl_iterate_phdr(visit, (void *)(uintptr_t)verbs_set_ops) == 1;
    registry.tried = true;
    context->next = registry.contexts;
    registry.contexts = context;
    bool hooked = registry.hooked;
    pthread_mutex_unlock(&registry.lock);
    return hooked;
}

void hook_remove(struct plugin_context *context)
{
    assert(context);
    pthread_mutex_lock(&registry.lock);
    struct plugin_context **place = &registry.contexts;
    while (*place && *place != context)
        place = &(*place)->next;
    if (*place)
        *place = context->next;
    pthread_mutex_unlock(&registry.lock);
}
