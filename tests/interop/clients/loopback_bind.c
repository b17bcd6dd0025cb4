/* Turns a bind to every interface into one to loopback: the official broker's replication port knows no address. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <netinet/in.h>
#include <sys/socket.h>

int bind(int descriptor, const struct sockaddr *address, socklen_t length) {
    int (*real)(int, const struct sockaddr *, socklen_t) = dlsym(RTLD_NEXT, "bind");
    if (address->sa_family == AF_INET) {
        struct sockaddr_in loopback = *(const struct sockaddr_in *)address;
        if (loopback.sin_addr.s_addr == htonl(INADDR_ANY)) {
            loopback.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
            return real(descriptor, (struct sockaddr *)&loopback, sizeof loopback);
        }
    }
    return real(descriptor, address, length);
}
