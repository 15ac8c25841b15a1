# SPDX-License-Identifier: Apache-2.0
"""Who may know whom: the include graph, and what every object needs from outside itself.

docs/architecture.md draws the same picture. To let a room know another, change MAY_KNOW and say
why there."""

import fnmatch
import re
import subprocess

_LOW = {"src/fabric", "src/wire", "src/store", "src/config"}
_MIDDLE = {"src/server", "src/client", "src/net", "src/admin", "src/scenario"}

MAY_KNOW = {
    "include/memkv": set(),
    "src/fabric": set(),
    "src/wire": {"src/fabric"},
    "src/store": {"src/fabric"},
    "src/config": {"src/fabric"},
    "src/rail": {"src/fabric", "src/config"},
    **{room: _LOW | {"include/memkv"} for room in _MIDDLE},
    **{room: _LOW | {"include/memkv", "src/rail"} for room in ("src/server", "src/client", "src/net")},
    "src/server": _LOW | {"include/memkv", "src/rail", "src/admin"},  # it serves those pages
    "src/cli": _LOW | _MIDDLE,
    "fabric_sim/world": {"src/fabric"},
    "fabric_sim/hca": {"src/fabric", "fabric_sim/world"},
    "fabric_sim": {"src/fabric", "fabric_sim/world", "fabric_sim/hca"},
    # The second front: real time and real processes, on top of the testbed's world; and its plug-in,
    # which knows no more of the world than the state of a device.
    "fabric_sim/simfabric": {"src/fabric", "fabric_sim/world", "fabric_sim/hca", "fabric_sim"},
    "fabric_sim/verbs": {"src/fabric", "fabric_sim/hca", "fabric_sim/simfabric"},
    "fabric_hw/os": {"src/fabric"},
    "fabric_hw/rdma": {"src/fabric"},
    # The client library: the one place but programs/ that puts MemKV and a backend together.
    "lib": {"include/memkv", "src/fabric", "src/config", "src/rail", "src/client", "fabric_hw/os",
            "fabric_hw/rdma"},
    "examples": {"include/memkv"},
}
BUILT = ("src/", "fabric_sim/", "fabric_hw/", "lib/")  # whose objects are looked into
_HOUSE = set(MAY_KNOW)
MAY_KNOW["programs"] = _HOUSE
MAY_KNOW["tests"] = _HOUSE

# Single files that know one thing more: (who, whom).
EXCEPTIONS = [("fabric_sim/testbed*.[ch]", "src/scenario/testbed.[ch]"),
              ("fabric_sim/testbed*.[ch]", "src/scenario/topology.[ch]"),  # testbed.h is made of it
              ("fabric_sim/simfabric/command.h", "src/scenario/topology.h"),  # what `up` is given
              ("fabric_sim/testbed*.[ch]", "src/config/nearest.[ch]"),  # for "did you mean"
              ("fabric_hw/os/children*.[ch]", "src/scenario/remote_host.h"),  # what it carries
              ("src/net/*.[ch]", "src/cli/exit.[ch]"),  # its commands end as all of memkv do
              # A part of an instance knows part.h and what that one promises.
              ("fabric_hw/rdma/*.[ch]", "fabric_hw/os/part.h"),
              ("fabric_hw/rdma/*.[ch]", "fabric_hw/os/fabric.c"),
              ("fabric_hw/rdma/*.[ch]", "fabric_hw/os/loop.c")]

# ---- What src and fabric_sim may need of the system; all else comes through the contract. -------
_PLAIN_HEADERS = {"assert.h", "ctype.h", "errno.h", "inttypes.h", "limits.h", "stdalign.h",
                  "stdarg.h", "stdbool.h", "stddef.h", "stdint.h", "stdio.h", "stdlib.h",
                  "string.h", "xxhash.h"}
_PLAIN = (r"mem(cpy|move|set|cmp|chr|rchr|mem)|str(len|nlen|cmp|ncmp|cpy|ncpy|cat|chr|rchr|str)"
          r"|str(spn|cspn|pbrk|dup|ndup|tok_r|error)|strto(l|ll|ul|ull|imax|umax)|stpcpy"
          r"|v?snprintf|qsort|bsearch"
          r"|malloc|calloc|realloc|free|aligned_alloc|abort|assert_fail|errno_location"
          r"|ctype_(b|tolower|toupper)_loc|is(alnum|alpha|digit|xdigit|space|print|upper|lower)"
          r"|to(lower|upper)|l?labs|abs|stack_chk_fail|_GLOBAL_OFFSET_TABLE_"
          r"|(u?(div|mod)|mul)ti3|popcountdi2|XXH(3|32|64|128)?_\w+|XXH(32|64|128)")
_CRYPTO = r"EVP_(?!RAND)\w+|CRYPTO_\w+|OSSL_PARAM_\w+|OPENSSL_cleanse"
_IPSEC_MB = r"(alloc|free)_mb_mgr|init_mb_mgr_avx512|imb_get_errno"
_JSON = r"json_\w+|jsonp_\w+"
_YAML = r"yaml_\w+"
_XML = r"xml\w+"
_PRINT = r"v?f?printf|putc|fputc|putchar|fputs|puts|fwrite|fflush|ferror|stdout|stderr"
# What the adapter to the operating system is there to call; no ibv_, and nothing that sleeps.
_SOCKETS = (r"socket|bind|connect|listen|accept4|send|recv|shutdown|[gs]etsockopt|getsockname"
            r"|getpeername|getaddrinfo|freeaddrinfo|getifaddrs|freeifaddrs|inet_(ntop|pton)")
_WAITING = r"epoll_(create1|ctl|wait|pwait2)|eventfd|timerfd_(create|settime)|signalfd|poll"
_THREADS = r"pthread_(create|join|detach|sigmask|(mutex|cond)_\w+)|sig(add|empty|fill)set"
_SIGNALS = r"sigismember|sigpending|sigtimedwait"  # to take back a SIGPIPE of our own write
_DISK = (r"open(64)?|close|p?read(64)?|p?write(64)?|f?stat(64)?|f(data)?sync|fallocate(64)?"
         r"|ftruncate(64)?|flock|ioctl|madvise|mkdir|rename|unlink|readlinkat"
         r"|scandir(at)?(64)?|syscall")  # openat2 has no function of its own
# Programs of other machines' nodes and commands that do something to this one.
_PROCESSES = r"fork|execvp|waitpid|kill|pidfd_open|pipe2|dup2|setpgid|prctl|signal|sigprocmask|fcntl(64)?"\
             r"|exit|lseek(64)?|lstat(64)?|rmdir|umask|get(pid|euid)"
_NAMESPACES = r"unshare|getegid"  # a network of its own for whoever runs simulated nodes
_CLOCK = r"clock_gettime|gmtime_r|strftime|getrandom|isatty|explicit_bzero"
_OS_LIBRARIES = r"MHD_\w+|mnl_\w+|(__)?io_uring_\w+"
_RDMA = (r"ibv_\w+|mlx5dv_\w+|fcntl(64)?|getrlimit(64)?|if_indextoname|madvise|sysconf|sigfillset"
         r"|xpg_strerror_r")
# The client library: a thread, the environment, two files to read; no socket and no clock.
_LIBRARY = r"getenv|getpid|fopen(64)?|fread|fclose|ferror|fileno|fstat(64)?|xpg_strerror_r"
_FILES = r"fopen|fread|fclose|ferror|feof|opendir|readdir|closedir|stat|mkdir"

# A daemon and its commands: sockets, shared memory, processes and their memory, namespaces.
_DAEMON = (r"memfd_create|mmap(64)?|munmap|madvise|mount|unshare|setns|dl(open|sym|close)|prctl|syscall|process_vm_(readv|writev)"
           r"|fork|setsid|waitpid|exec(vp|ve)|_?exit|kill|signal|sig(emptyset|addset|procmask)|dup2"
           r"|pipe2|fcntl(64)?|sendmsg|recvmsg|setpriority|sched_yield|getuid|gete[ug]id|getpid"
           r"|l?stat(64)?|access|readlink|link|symlink|rmdir|nftw(64)?|(open|read|close)dir(64)?"
           r"|fgets|fread|fopen(64)?|fclose|[gs]etenv|pthread_mutexattr_\w+")
# What the plug-in patches and asks for: the loader's view of libibverbs.
_PLUGIN = r"_?verbs_\w+|ibv_open_device|dl_iterate_phdr|sysconf|mprotect|poll|dup"

_OS_HEADERS = {"arpa/inet.h", "dirent.h", "fcntl.h", "ifaddrs.h", "jansson.h", "libmnl/libmnl.h",
               "liburing.h", "linux/*", "microhttpd.h", "netdb.h", "netinet/*", "poll.h",
               "pthread.h", "sched.h", "signal.h", "sys/*", "time.h", "unistd.h"}

HEADERS = {
    "src": _PLAIN_HEADERS | {"openssl/*", "jansson.h"},
    "src/wire": {"intel-ipsec-mb.h"},
    "src/config": {"yaml.h"},
    "src/scenario": {"yaml.h", "libxml/*", "dirent.h", "sys/stat.h", "sys/types.h"},
    "fabric_sim": _PLAIN_HEADERS | {"jansson.h"},  # reports of the testbed are JSON
    "fabric_sim/simfabric": {"dirent.h", "dlfcn.h", "elf.h", "fcntl.h", "ftw.h", "linux/*", "poll.h", "pthread.h",
                             "sched.h", "signal.h", "sys/*", "time.h", "unistd.h"},
    "fabric_sim/verbs": {"endian.h", "fcntl.h", "poll.h", "infiniband/mlx5dv.h", "infiniband/verbs.h", "link.h", "pthread.h",
                         "rdma/ib_user_verbs.h", "sched.h", "stdatomic.h", "sys/*", "unistd.h"},
    "fabric_hw/os": _PLAIN_HEADERS | _OS_HEADERS,
    "fabric_hw/rdma": _PLAIN_HEADERS | {"endian.h", "fcntl.h", "infiniband/*", "net/if.h",
                                        "pthread.h", "signal.h", "sys/epoll.h", "sys/eventfd.h",
                                        "sys/mman.h", "sys/resource.h", "unistd.h"},
    "lib": _PLAIN_HEADERS | {"jansson.h", "openssl/crypto.h", "pthread.h", "signal.h",
                             "sys/stat.h", "unistd.h"},
    "examples": _PLAIN_HEADERS | {"memkv/memkv.h"},  # what everybody has
}
SYMBOLS = {
    "src": [_PLAIN, _CRYPTO, _JSON],
    "src/wire": [_IPSEC_MB],
    "src/config": [_YAML],
    "src/scenario": [_YAML, _XML, _PRINT, _FILES],
    "src/cli": [_PRINT],
    "fabric_sim": [_PLAIN, _JSON],
    "fabric_sim/simfabric": [_SOCKETS, _WAITING, _THREADS, _DISK, _CLOCK, _PRINT, _DAEMON],
    "fabric_sim/verbs": [_SOCKETS, _THREADS, _DISK, _PRINT, _DAEMON, _PLUGIN],
    "fabric_hw/os": [_PLAIN, _JSON, _SOCKETS, _WAITING, _THREADS, _SIGNALS, _DISK, _CLOCK,
                     _OS_LIBRARIES, _PROCESSES, _NAMESPACES],
    "fabric_hw/rdma": [_PLAIN, _RDMA, _THREADS, r"eventfd|read|write|close"],
    "lib": [_PLAIN, _JSON, _THREADS, r"OPENSSL_cleanse", _LIBRARY],
}

_INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')
# Spellings that the compiler makes of a plain name: __memcpy_chk, __isoc99_sscanf, __assert_fail.
_SPELLING = re.compile(r"^(?:__isoc\d+_)?_{0,2}(.*?)(?:_chk)?$")


def room_of(path):
    """The innermost room that a path is in; None outside the house (ci, docs...)."""
    parts = path.split("/")
    for depth in (2, 1):
        room = "/".join(parts[:depth])
        if len(parts) > depth and room in MAY_KNOW:
            return room
    return "/".join(parts[:2]) if parts[0] in ("src", "fabric_hw") else None


def _may(path, other):
    mine, theirs = room_of(path), room_of(other)
    if mine == theirs:
        return True
    if any(fnmatch.fnmatch(path, who) and fnmatch.fnmatch(other, whom) for who, whom in EXCEPTIONS):
        return True
    return mine is not None and theirs in MAY_KNOW.get(mine, set())


def _rules(table, room):
    """What a room inherits from its top folder, and its own."""
    return [table[key] for key in dict.fromkeys((room.split("/")[0], room)) if key in table]


def check_includes(tree):
    """Returns (findings, number of includes looked at)."""
    findings, count, known = [], 0, set(tree.paths)
    for path in tree.code():
        room = room_of(path)
        if room is None:
            findings.append(f"{path}:1: C code outside every room")
            continue
        headers = _rules(HEADERS, room)
        for number, line in enumerate(tree.lines(path), 1):
            match = _INCLUDE.match(line)
            if not match:
                continue
            count += 1
            where, target = f"{path}:{number}", match.group(2)
            if room == "include/memkv" and f"{room}/{target}" in known:
                continue  # what is installed knows its neighbours by their names
            if match.group(1) == '"':
                if target not in known:
                    findings.append(f"{where}: no \"{target}\" from the root of the project")
                elif not _may(path, target):
                    findings.append(f"{where}: {room} may not know {target}")
            elif headers and not any(fnmatch.fnmatch(target, one)
                                     for group in headers for one in group):
                findings.append(f"{where}: <{target}> is not for {room}: go through the contract")
    return findings, count


def nm(paths):
    """{object path: (symbols it needs, symbols it defines)}"""
    result = {str(path): (set(), set()) for path in paths}
    if not paths:
        return result
    out = subprocess.run(["nm", "-A", "-P", *map(str, paths)], check=True, capture_output=True,
                         text=True).stdout
    for line in out.split("\n"):
        path, _, rest = line.rpartition(": ") if ": " in line else ("", "", "")
        fields = rest.split()
        if len(fields) < 2:
            continue
        name, kind = fields[0], fields[1]
        if kind in "Uw":
            result[path][0].add(name)
        elif kind.isupper():
            result[path][1].add(name)
    return result


def read_objects(tree):
    """{source path: (needs, defines)} of the release objects, as far as they are built."""
    by_object = {}
    for path in tree.code():
        built = tree.objects / (path[:-2] + ".o")
        if path.endswith(".c") and path.startswith(BUILT) and built.exists():
            by_object[str(built)] = path
    return {by_object[name]: symbols for name, symbols in nm(list(by_object)).items()}


def _stands_in(path, name):
    """The plug-in has the names of libmlx5 for other programs; whoever in the house calls them means
    the library of the system."""
    return path.startswith("fabric_sim/verbs/") and name.startswith("mlx5dv_")


def check_symbols(objects):
    """Returns findings; `objects` as read_objects gives them."""
    findings = []
    owner = {name: path for path, (_, defined) in objects.items() for name in defined
             if not _stands_in(path, name)}
    for path, (needed, _) in sorted(objects.items()):
        room = room_of(path)
        allowed = [re.compile(one) for group in _rules(SYMBOLS, room) for one in group]
        for name in sorted(needed):
            if name in owner:
                if not _may(path, owner[name]):
                    findings.append(f"{path}:1: needs {name}() of {owner[name]}: "
                                    f"{room} may not know it")
                continue
            plain = name if name.startswith("_GLOBAL") else _SPELLING.match(name).group(1)
            if not any(one.fullmatch(plain) for one in allowed):
                findings.append(f"{path}:1: needs {name}, which is not for {room}: "
                                "go through the contract")
    return findings


def check_planted(objects):
    """Release objects hold no trace of the planted bugs."""
    return [f"{path}:1: its release object has the symbol {name}"
            for path, (needed, defined) in sorted(objects.items())
            for name in sorted(needed | defined) if "planted" in name]
