/* SPDX-License-Identifier: Apache-2.0 */
/* Declared as in Zephyr 4.4's header of this name: what the example uses. */
#ifndef ZEPHYR_NET_SOCKET_H
#define ZEPHYR_NET_SOCKET_H

#include <stddef.h>
#include <stdint.h>

#define NET_AF_INET 1
#define NET_SOCK_STREAM 1
#define ZSOCK_POLLIN 1

typedef size_t net_socklen_t;

struct net_sockaddr {
    uint16_t sa_family;
    char data[14];
};

struct net_sockaddr_storage {
    uint16_t ss_family;
    char data[24];
};

struct zsock_pollfd {
    int fd;
    short events;
    short revents;
};

struct zsock_addrinfo {
    struct zsock_addrinfo *ai_next;
    int ai_flags;
    int ai_family;
    int ai_socktype;
    int ai_protocol;
    int ai_eflags;
    net_socklen_t ai_addrlen;
    struct net_sockaddr *ai_addr;
    char *ai_canonname;
};

int zsock_poll(struct zsock_pollfd *fds, int nfds, int timeout);
int zsock_getaddrinfo(const char *host, const char *service, const struct zsock_addrinfo *hints,
                      struct zsock_addrinfo **res);
void zsock_freeaddrinfo(struct zsock_addrinfo *ai);

#endif
