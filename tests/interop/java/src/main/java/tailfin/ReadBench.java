package tailfin;

import java.nio.ByteBuffer;
import org.apache.rocketmq.common.message.MessageDecoder;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.store.DefaultMessageStore;
import org.apache.rocketmq.store.GetMessageResult;

/** Measures reads: 32 messages a call, queue after queue, their bytes only touched or decoded as well. */
final class ReadBench {
    private static final int PER_CALL = 32;

    private final DefaultMessageStore store;
    private final long queues;
    private long sink;

    ReadBench(DefaultMessageStore store, Args args) {
        this.store = store;
        this.queues = args.number("queues", 8);
    }

    /** One pass over every message of every queue. */
    Json pass(boolean decode) throws Exception {
        Timing timing = new Timing();
        long messages = 0;
        long bytes = 0;
        for (int queueId = 0; queueId < queues; queueId++) {
            long max = store.getMaxOffsetInQueue(BenchMessages.TOPIC, queueId);
            for (long at = 0; at < max;) {
                GetMessageResult result = store.getMessage("bench", BenchMessages.TOPIC, queueId, at, PER_CALL, null);
                for (ByteBuffer record : result.getMessageBufferList()) {
                    sink += decode ? decoded(record) : touched(record);
                    bytes += record.limit();
                }
                messages += result.getMessageCount();
                at = result.getNextBeginOffset();
                result.release();
            }
        }
        double seconds = timing.seconds();
        return new Json().put("bench", decode ? "read-decode" : "read-raw").put("messages", messages)
            .put("seconds", seconds).put("perSecond", messages / seconds).put("bytesPerSecond", bytes / seconds)
            .put("cpuSecondsPerMillion", timing.cpuSeconds() / messages * 1e6).put("sink", sink & 1);
    }

    /** Reads the record once, eight bytes at a time, as copying it into an answer would. */
    private static long touched(ByteBuffer record) {
        long sum = 0;
        int end = record.limit() - Long.BYTES;
        for (int at = 0; at <= end; at += Long.BYTES) {
            sum ^= record.getLong(at);
        }
        return sum;
    }

    private static long decoded(ByteBuffer record) {
        MessageExt message = MessageDecoder.decode(record, true, false);
        return message.getQueueOffset() + message.getBody()[0];
    }
}
