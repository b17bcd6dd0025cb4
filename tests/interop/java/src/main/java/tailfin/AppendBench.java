package tailfin;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.rocketmq.store.PutMessageResult;
import org.apache.rocketmq.store.PutMessageStatus;

/** Measures puts: one at a time, in batches, or from many threads with every put flushed to the disk. */
final class AppendBench {
    private final OpenStore open;
    private final BenchMessages messages;
    private final Args args;
    private final AtomicLong next = new AtomicLong();

    AppendBench(OpenStore open, Args args) {
        this.open = open;
        this.messages = new BenchMessages(args);
        this.args = args;
    }

    Json append() throws Exception {
        return measure("append", (count, until) -> putOneByOne(count, until));
    }

    Json batch() throws Exception {
        int size = (int) args.number("batch", 32);
        List<byte[]> bodies = messages.batchBodies(size);
        return measure("batch", (count, until) -> putBatches(bodies, size, count, until)).put("batch", size);
    }

    Json syncFlush() throws Exception {
        int threads = (int) args.number("threads", 64);
        return measure("syncflush", (count, until) -> putFromThreads(threads, count, until)).put("threads", threads);
    }

    /** A way to put messages until {@code count} are stored or the clock passes {@code until}. */
    private interface Work {
        long put(long count, long until) throws Exception;
    }

    private Json measure(String name, Work work) throws Exception {
        long count = args.has("seconds") ? Long.MAX_VALUE : args.number("count", 2_000_000);
        work.put(args.number("warmup-count", 1_000_000), Long.MAX_VALUE);
        open.awaitDispatch();
        long bytesBefore = open.store.getMaxPhyOffset();
        long until = args.has("seconds") ? System.nanoTime() + args.number("seconds", 10) * 1_000_000_000L : Long.MAX_VALUE;
        Timing timing = new Timing();
        long done = work.put(count, until);
        double putSeconds = timing.seconds();
        open.awaitDispatch();
        double consumableSeconds = timing.seconds();
        long bytes = open.store.getMaxPhyOffset() - bytesBefore;
        return new Json().put("bench", name)
            .put("body", args.number("body", 128))
            .put("queues", messages.queues())
            .put("keys", args.number("keys", 0))
            .put("messages", done)
            .put("seconds", putSeconds)
            .put("perSecond", done / putSeconds)
            .put("consumableSeconds", consumableSeconds)
            .put("consumablePerSecond", done / consumableSeconds)
            .put("logBytesPerSecond", bytes / putSeconds)
            .put("cpuSecondsPerMillion", timing.cpuSeconds() / done * 1e6);
    }

    private long putOneByOne(long count, long until) {
        long done = 0;
        while (done < count && System.nanoTime() < until) {
            check(open.store.putMessage(messages.message(next.getAndIncrement())));
            done++;
        }
        return done;
    }

    private long putBatches(List<byte[]> bodies, int size, long count, long until) {
        long done = 0;
        while (done < count && System.nanoTime() < until) {
            long number = next.getAndIncrement();
            check(open.store.putMessages(messages.batch(number, bodies.get((int) (number % bodies.size())))));
            done += size;
        }
        return done;
    }

    private long putFromThreads(int threads, long count, long until) throws Exception {
        AtomicLong done = new AtomicLong();
        AtomicLong left = new AtomicLong(count);
        List<Thread> running = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            Thread thread = new Thread(() -> {
                while (left.getAndDecrement() > 0 && System.nanoTime() < until) {
                    check(open.store.putMessage(messages.message(next.getAndIncrement())));
                    done.incrementAndGet();
                }
            });
            thread.start();
            running.add(thread);
        }
        for (Thread thread : running) {
            thread.join();
        }
        return done.get();
    }

    private static void check(PutMessageResult result) {
        if (result.getPutMessageStatus() != PutMessageStatus.PUT_OK) {
            throw new IllegalStateException("the store refused a message: " + result);
        }
    }
}
