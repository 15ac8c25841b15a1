# SPDX-License-Identifier: Apache-2.0
"""Deliberate violations, one a rule: lint plants each in a copy of the project and must catch it."""

_LINE = "/* SPDX-License-Identifier: Apache-2.0 */\n"


def _c(text):
    return _LINE + text


def _includes(path, target):
    """A file that includes what it may not, and the file it includes."""
    return {path: _c(f'#include "{target}"\n'), target: _c("")}


def _calls(path, declaration, call):
    """A file that needs a symbol, without any header that would give it away."""
    return {path: _c(f"{declaration};\nint planted_here(void);\n\nint planted_here(void)\n{{\n"
                     f"    return (int)({call});\n}}\n")}


# (what is wrong, the files planted, what the finding must contain)
ARROWS = [
    ("src includes a backend", _includes("src/fabric/v.c", "fabric_sim/v.h"), "may not know"),
    ("src includes the real backend", _includes("src/server/v.c", "fabric_hw/os/v.h"), "may not know"),
    ("src includes tests", _includes("src/store/v.c", "tests/support/v.h"), "may not know"),
    ("src includes programs", _includes("src/scenario/v.c", "programs/v.h"), "may not know"),
    ("a low room includes a higher one", _includes("src/wire/v.c", "src/server/v.h"), "may not know"),
    ("server includes its sibling client", _includes("src/server/v.c", "src/client/v.h"), "may not know"),
    ("the simulator includes the store", _includes("fabric_sim/v.c", "src/store/v.h"), "may not know"),
    ("a front that is not the testbed includes testbed.h",
     _includes("fabric_sim/v.c", "src/scenario/testbed.h"), "may not know"),
    ("world includes hca", _includes("fabric_sim/world/v.c", "fabric_sim/hca/v.h"), "may not know"),
    ("hca includes a front", _includes("fabric_sim/hca/v.c", "fabric_sim/v.h"), "may not know"),
    ("programs include tests", _includes("programs/v.c", "tests/support/v.h"), "may not know"),
    ("an include that is not from the root", {"src/wire/v.c": _c('#include "v.h"\n'),
                                              "src/wire/v.h": _c("")}, "from the root"),
    ("src includes a clock", {"src/client/v.c": _c("#include <time.h>\n")}, "through the contract"),
    ("the simulator includes threads", {"fabric_sim/hca/v.c": _c("#include <pthread.h>\n")},
     "through the contract"),
    ("the operating system's adapter includes the server",
     _includes("fabric_hw/os/v.c", "src/server/v.h"), "may not know"),
    ("the verbs backend knows more of its host than part.h",
     _includes("fabric_hw/rdma/v.c", "fabric_hw/os/v.h"), "may not know"),
    ("the operating system's adapter includes the simulator",
     _includes("fabric_hw/os/v.c", "fabric_sim/v.h"), "may not know"),
    ("the operating system's adapter includes verbs",
     {"fabric_hw/os/v.c": _c("#include <infiniband/verbs.h>\n")}, "through the contract"),
    ("the library includes the simulator", _includes("lib/v.c", "fabric_sim/v.h"), "may not know"),
    ("the library includes the server", _includes("lib/v.c", "src/server/v.h"), "may not know"),
    ("the client includes the library", _includes("src/client/v.c", "lib/v.h"), "may not know"),
    ("an example includes more than the public header", _includes("examples/v.c", "lib/v.h"),
     "may not know"),
    ("C code outside every room", {"elsewhere/v.c": _c("")}, "outside every room"),
]

SYMBOLS = [
    ("src needs a socket", _calls("src/server/v.c", "int socket(int, int, int)", "socket(1, 1, 0)"),
     "needs socket"),
    ("src needs a clock", _calls("src/client/v.c", "int clock_gettime(int, void *)",
                                 "clock_gettime(0, 0)"), "needs clock_gettime"),
    ("src needs the environment", _calls("src/config/v.c", "char *getenv(const char *)",
                                         'getenv("A") != 0'), "needs getenv"),
    ("src needs verbs", _calls("src/fabric/v.c", "int ibv_fork_init(void)", "ibv_fork_init()"),
     "needs ibv_fork_init"),
    ("config opens a file", _calls("src/config/v.c", "void *fopen(const char *, const char *)",
                                   'fopen("a", "r") != 0'), "needs fopen"),
    ("the store prints", _calls("src/store/v.c", "int puts(const char *)", 'puts("a")'), "needs puts"),
    ("the store needs yaml", _calls("src/store/v.c", "int yaml_parser_parse(void *, void *)",
                                    "yaml_parser_parse(0, 0)"), "needs yaml_parser_parse"),
    ("the library needs a socket", _calls("lib/v.c", "int socket(int, int, int)",
                                          "socket(1, 1, 0)"), "needs socket"),
    ("src needs random bytes", _calls("src/wire/v.c", "int RAND_bytes(unsigned char *, int)",
                                      "RAND_bytes(0, 0)"), "needs RAND_bytes"),
    ("the simulator needs rand", _calls("fabric_sim/world/v.c", "int rand(void)", "rand()"),
     "needs rand"),
    ("the simulator needs threads", _calls("fabric_sim/hca/v.c", "int pthread_mutex_lock(void *)",
                                           "pthread_mutex_lock(0)"), "needs pthread_mutex_lock"),
    ("the simulator sleeps", _calls("fabric_sim/v.c", "unsigned sleep(unsigned)", "sleep(1)"),
     "needs sleep"),
    ("the operating system's adapter needs verbs",
     _calls("fabric_hw/os/v.c", "int ibv_fork_init(void)", "ibv_fork_init()"), "needs ibv_fork_init"),
    ("the operating system's adapter sleeps", _calls("fabric_hw/os/v.c", "unsigned sleep(unsigned)",
                                                     "sleep(1)"), "needs sleep"),
    ("a hidden arrow: the store calls the server without its header",
     {**_calls("src/store/v.c", "int above(void)", "above()"),
      "src/server/v.c": _c("int above(void);\n\nint above(void)\n{\n    return 0;\n}\n")},
     "may not know"),
]

PLANTED = [
    ("a planted bug in a release object", _calls("src/store/v.c", "int planted_is(const char *)",
                                                 'planted_is("store_x")'), "has the symbol planted_is"),
]

_OPS = ("struct fabric_ops {\n    /* Opens a port; on failure there is nothing to close. */\n"
        "    int (*open)(int port);\n%s    int (*close)(int port);\n};\n")

HOUSE = [
    ("not formatted", {"src/wire/v.c": _c("int  x ;\n")}, "clang-format"),
    ("a long file", {"src/wire/v.h": _LINE + "\n" * 600}, "601 lines"),
    ("a long function", {"src/wire/v.c": _c("\nint v(int a,\n      int b)\n{\n" + "    a++;\n" * 67 + "}\n")},
     "function of 71 lines"),
    ("a long line", {"src/wire/v.h": _c("/* " + "x" * 98 + " */\n")}, "columns"),
    ("a member of the contract without a comment", {"src/fabric/fabric.h": _c(_OPS % "")},
     "`int (*close)(int port);`"),
    ("an empty comment on a member", {"src/fabric/fabric.h": _c(_OPS % "    /* close */\n")},
     "`int (*close)(int port);`"),
    ("no licence line", {"docs/v.md": "# V\n"}, "no line with SPDX"),
    ("too few assertions", {"src/planted/v.c": _LINE + "int v;\n" * 40}, "0 assertions"),
    ("an unfinished thing", {"docs/v.md": "<!-- SPDX-License-Identifier: Apache-2.0 -->\nTO" "DO\n"},
     "has no place here"),
    ("a path of one machine", {"docs/v.md": "<!-- SPDX-License-Identifier: Apache-2.0 -->\n/wor" "k/x\n"},
     "has no place here"),
    ("a test that sleeps", {"tests/unit/v_test.c": _c("int v(void)\n{\n    return sleep(1);\n}\n")},
     "sleeps"),
    ("a README without the install line", {"README.md": "# V\n"}, "lacks the line"),
]
