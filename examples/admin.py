"""Look after a cluster: topics, groups, how far they are, and any message by id or key.

Run it with `python examples/admin.py [NAMESERVER]`; `tailfin --help` has the same for the shell.
"""

import sys
import time

import tailfin


def main(nameserver: str = "127.0.0.1:9876") -> None:
    with (
        tailfin.AdminClient(nameserver=nameserver) as admin,
        tailfin.Producer("admin-producer", nameserver=nameserver) as producer,
    ):
        admin.topics.create("AdminTest", queues=2)
        sent = producer.send(tailfin.Message("AdminTest", b"hello", keys="order-1"))

        # A message can be read, and found by its key, a moment after it was sent.
        while not (by_key := admin.messages.by_key("AdminTest", "order-1")):
            time.sleep(0.05)
        print("by key:", by_key[0].body.decode())
        print("by id:", admin.messages.find("AdminTest", sent.message_id).body.decode())
        print("by offset:", admin.messages.by_offset(sent.queue, sent.queue_offset).body.decode())
        print("messages:", admin.topics.status("AdminTest").messages)

        admin.groups.create("admin-consumer")
        admin.offsets.skip("admin-consumer", "AdminTest")  # what is there now, the group will not get
        print("not consumed:", admin.offsets.progress("admin-consumer").lag)

        for broker in admin.cluster.brokers():
            print("broker:", broker.name, "is", "a master" if broker.is_master else "a slave")
        admin.topics.delete("AdminTest")
        print("still there:", "AdminTest" in admin.topics.list())


if __name__ == "__main__":
    main(*sys.argv[1:2])
