/* The job that every system runs: notes when it began and when it ended, and does nothing else.
 *
 *     stamp FILE TAG [LEAST SPREAD]
 *
 * appends one line of fixed width to FILE: tag, begin and end, in nanoseconds of CLOCK_MONOTONIC. One write with
 * O_APPEND, so lines of jobs that run side by side never mix. With LEAST and SPREAD it lasts LEAST milliseconds and up to
 * SPREAD more, which depend on its tag alone: the same jobs last the same under every system.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static long long now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

int main(int argc, char **argv)
{
    long long began = now_ns();
    char line[64];
    if (argc != 3 && argc != 5)
        return 2;
    if (argc == 5) {
        long lasts = atol(argv[3]) + atol(argv[2]) * 797 % atol(argv[4]);
        struct timespec t = {lasts / 1000, lasts % 1000 * 1000000};
        nanosleep(&t, NULL);
    }
    int file = open(argv[1], O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    if (file < 0)
        return 1;
    int size = snprintf(line, sizeof line, "%08d %020lld %020lld\n", atoi(argv[2]), began, now_ns());
    return write(file, line, size) != size;
}
