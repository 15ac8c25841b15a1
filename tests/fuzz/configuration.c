/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration of server and client (MK-K1, MK-K2): it is good, or there is a complaint. */
#include "src/config/client_config.h"
#include "src/config/server_config.h"
#include "src/config/yaml.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length)
{
    static struct server_config server;
    static struct client_config client;
    struct yaml_errors errors;
    yaml_errors_init(&errors, "server");
    HOLDS(server_config_read((const char *)data, length, &server, &errors) == (errors.count == 0));
    yaml_errors_init(&errors, "client");
    HOLDS(client_config_read((const char *)data, length, &client, &errors) == (errors.count == 0));
    return 0;
}
