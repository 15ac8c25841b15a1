/* SPDX-License-Identifier: Apache-2.0 */
/* simfabric completion bash: a script made from the tables; nodes are asked of the fabric. */
#include <stdio.h>
#include <string.h>

#include "fabric_sim/simfabric/control.h"
#include "programs/simfabric/words.h"
#include "src/scenario/topology_generate.h"
#include "src/scenario/words.h"

#define SHAPE(name, about) " " name

static const char script[] =
    "    COMPREPLY=()\n"
    "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
    "        case \"${COMP_WORDS[i]}\" in\n"
    "        --) _command_offset $((i + 1)) 2>/dev/null; return ;;\n"
    "        --name) fabric=(--name \"${COMP_WORDS[i + 1]}\"); ((i++)) ;;\n"
    "        --node|--format|--seed|--nodes|--radix|--rails) ((i++)) ;;\n"
    "        -*) ;;\n"
    "        *) if [ -z \"$command\" ]; then command=${COMP_WORDS[i]}; else ((count++)); fi ;;\n"
    "        esac\n"
    "    done\n"
    "    case \"${COMP_WORDS[COMP_CWORD - 1]}\" in\n"
    "    --node) words=$(nodes) ;;\n"
    "    --format) words='svg html dot mermaid' ;;\n"
    "    --name|--seed|--nodes|--radix|--rails) return ;;\n"
    "    *) case \"$command:$count\" in\n"
    "       :*) words=$commands ;;\n"
    "       help:0) words=$commands ;;\n"
    "       ctl:0) words=$faults ;;\n"
    "       ctl:1|inspect:0) words=$(nodes) ;;\n"
    "       generate:0) words=$shapes ;;\n"
    "       completion:0) words=bash ;;\n"
    "       up:0|validate:0) COMPREPLY=($(compgen -f -- \"$word\")); return ;;\n"
    "       esac\n"
    "       case \"$word\" in -*) words=$options ;; esac ;;\n"
    "    esac\n"
    "    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
    "}\n"
    "complete -o default -F _simfabric simfabric\n";

int words_completion(const struct instance *instance, const struct words *words)
{
    (void)instance;
    if (words->count == 0 || strcmp(words->arguments[0], "bash") != 0)
        return words_usage("completion is there for bash", NULL);
    printf("# bash completion for simfabric; `simfabric completion bash` makes it.\n"
           "_simfabric() {\n"
           "    local word=${COMP_WORDS[COMP_CWORD]} command= count=0 words= i fabric=()\n"
           "    local commands='");
    help_names(stdout);
    printf("'\n    local options='");
    option_names(stdout);
    printf("'\n    local shapes='" TOPOLOGY_SHAPES(SHAPE) "'\n    local faults='undo");
    for (int i = 0; i < TESTBED_WORD_COUNT; i++) {
        if (control_has((enum testbed_word)i))
            printf(" %s", fault_words[i].name);
    }
    printf("'\n"
           "    nodes() { \"${COMP_WORDS[0]}\" status \"${fabric[@]}\" 2>/dev/null |"
           " cut -d' ' -f1 | sort -u; }\n%s",
           script);
    return SIMFABRIC_DONE;
}
