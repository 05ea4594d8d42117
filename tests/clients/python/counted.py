"""What both applications of this folder share: the counter of answers from memory, and the run of their pages."""

import time

import pymysql

# How long the pages are asked for until they come from memory, in seconds.
WARM_SECONDS_MAX = 20
# Of 100 reads, how many have to come from memory before the repetitions are counted.
WARM_PERCENT = 90
REPETITIONS = 10


class Counter:
    """Reads how many statements were answered from memory."""

    def __init__(self, host, port, user, password):
        self.connection = pymysql.connect(host=host, port=port, user=user, password=password, autocommit=True)

    def run(self, *statements):
        with self.connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
            return cursor.fetchall()

    def hits(self):
        return int(self.run("SHOW GLOBAL STATUS LIKE 'Qcache_hits'")[0][1])


def expect(what, seen, expected):
    """A write that is not seen is the end of all promises."""
    if seen != expected:
        print(f"STALE {what}: {seen!r} and not {expected!r}")


def repeat(name, counter, visit):
    """Repeats pages until they are in memory, and then prints what share of their reads is answered from there.

    `visit` reads all pages once and gives how many reads that took.
    """
    until = time.monotonic() + WARM_SECONDS_MAX
    while time.monotonic() < until:
        before = counter.hits()
        reads = visit()
        if (counter.hits() - before) * 100 >= reads * WARM_PERCENT:
            break
        time.sleep(0.01)
    before = counter.hits()
    reads = sum(visit() for _ in range(REPETITIONS))
    print(f"{name}: reads {reads} hits {counter.hits() - before}")
