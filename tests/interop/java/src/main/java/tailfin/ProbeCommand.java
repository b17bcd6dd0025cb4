package tailfin;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.HashMap;
import org.apache.rocketmq.common.BoundaryType;
import org.apache.rocketmq.common.message.MessageAccessor;
import org.apache.rocketmq.common.message.MessageDecoder;
import org.apache.rocketmq.common.message.MessageExtBrokerInner;
import org.apache.rocketmq.store.DefaultMessageStore;
import org.apache.rocketmq.store.GetMessageResult;
import org.apache.rocketmq.store.PutMessageResult;

/**
 * Asks a fresh store the questions at the edges and writes its answers, one line each. The broker's own checks before
 * a put (shut down, not writeable, length of the topic, null body) are not part of the store and do not run here.
 */
final class ProbeCommand {
    private static final String TOPIC = "Probe";

    private final OpenStore open;
    private final DefaultMessageStore store;
    private final Lines out;

    private ProbeCommand(OpenStore open, Lines out) {
        this.open = open;
        this.store = open.store;
        this.out = out;
    }

    static void run(Args args) throws Exception {
        try (Lines out = new Lines(args.text("out", "-"))) {
            OpenStore open = OpenStore.open(args.path(1, "DIR"), args.store);
            if (!open.loaded()) {
                throw new IllegalStateException("the store did not load");
            }
            ProbeCommand probe = new ProbeCommand(open, out);
            probe.puts();
            probe.times();
            probe.gets();
            open.awaitDispatch();
            open.close();
            probe.put("after shutdown", message(TOPIC, 1, 0));
            GetMessageResult closed = open.store.getMessage("tool", TOPIC, 0, 0, 32, null);
            out.add(Json.kind("get").put("case", "after shutdown").put("status", closed == null ? null : closed.getStatus().name()));
        }
    }

    private void puts() throws IOException {
        int limit = store.getMessageStoreConfig().getMaxMessageSize();
        // 256 would be no directory name: the dispatcher tries for 30 s, then marks the store unwriteable for good
        for (int size : new int[] {127, 128, 200, 255}) {
            put("topic of " + size, message("t".repeat(size), 1, 0));
            put("retry topic of " + size, message("%RETRY%" + "t".repeat(size - 7), 1, 0));
        }
        for (int size : new int[] {32766, 32767, 32768}) {
            put("properties of " + size, message(TOPIC, 1, size));
        }
        put("empty body", message(TOPIC, 0, 0));
        put("body of the limit", message(TOPIC, limit, 0));
        put("body of the limit + 1", message(TOPIC, limit + 1, 0));
        put("body of the limit, properties of 32767", message(TOPIC, limit, 32767));
        MessageExtBrokerInner noBody = message(TOPIC, 1, 0);
        noBody.setBody(null);
        put("null body", noBody);
        store.getRunningFlags().getAndMakeStoreNotWriteable();
        put("not writeable", message(TOPIC, 1, 0));
        store.getRunningFlags().getAndMakeWriteable();
    }

    /** Queue 1 gets two messages in one millisecond or more of them, a gap, and one later: 0..4 and 5. */
    private void times() throws Exception {
        long first = 0;
        long middle = 0;
        long last = 0;
        for (int i = 0; i < 6; i++) {
            MessageExtBrokerInner message = message(TOPIC, 1, 0);
            message.setQueueId(1);
            if (i == 5 || i == 3) {
                Thread.sleep(50);
            }
            store.putMessage(message);
            first = i == 0 ? message.getStoreTimestamp() : first;
            middle = i == 3 ? message.getStoreTimestamp() : middle;
            last = message.getStoreTimestamp();
        }
        open.awaitDispatch();
        time("before the first", first - 1);
        time("equal to the first", first);
        time("in the gap before message 3", middle - 10);
        time("equal to message 3", middle);
        time("in the gap before the last", last - 10);
        time("equal to the last", last);
        time("after the last", last + 1);
        time("long after the last", last + 1_000_000);
        for (BoundaryType boundary : BoundaryType.values()) {
            out.add(Json.kind("time").put("case", "unknown queue").put("boundary", boundary.name())
                .put("offset", store.getOffsetInQueueByTime("Nobody", 0, last, boundary)));
        }
    }

    private void time(String name, long timestamp) throws IOException {
        out.add(Json.kind("time").put("case", name)
            .put("lower", store.getOffsetInQueueByTime(TOPIC, 1, timestamp, BoundaryType.LOWER))
            .put("upper", store.getOffsetInQueueByTime(TOPIC, 1, timestamp, BoundaryType.UPPER)));
    }

    private void gets() throws IOException {
        get("first", TOPIC, 1, 0);
        get("last", TOPIC, 1, 5);
        get("overflow one", TOPIC, 1, 6);
        get("overflow badly", TOPIC, 1, 7);
        get("negative", TOPIC, 1, -1);
        get("unknown topic", "Nobody", 0, 5);
        get("unknown queue of a known topic", TOPIC, 77, 5);
        store.findConsumeQueue("Empty", 0);
        get("empty queue", "Empty", 0, 5);
        out.add(Json.kind("offsets").put("case", "unknown topic").put("min", store.getMinOffsetInQueue("Nobody2", 0))
            .put("max", maxOffset("Nobody2")));
    }

    private long maxOffset(String topic) throws IOException {
        try {
            return store.getMaxOffsetInQueue(topic, 0);
        } catch (Exception e) {
            throw new IOException(e);
        }
    }

    private void get(String name, String topic, int queueId, long offset) throws IOException {
        GetMessageResult result = store.getMessage("tool", topic, queueId, offset, 2, null);
        out.add(Json.kind("get").put("case", name).put("offset", offset).put("status", result.getStatus().name())
            .put("nextBeginOffset", result.getNextBeginOffset()).put("minOffset", result.getMinOffset())
            .put("maxOffset", result.getMaxOffset()).put("messages", result.getMessageCount()));
        result.release();
    }

    private void put(String name, MessageExtBrokerInner message) throws IOException {
        Json line = Json.kind("put").put("case", name);
        try {
            PutMessageResult result = store.putMessage(message);
            line.put("status", result.getPutMessageStatus().name());
            if (result.getAppendMessageResult() != null) {
                line.put("append", result.getAppendMessageResult().getStatus().name())
                    .put("wroteBytes", result.getAppendMessageResult().getWroteBytes());
            }
        } catch (RuntimeException e) {
            line.put("threw", e.toString());
        }
        out.add(line);
    }

    private static MessageExtBrokerInner message(String topic, int body, int properties) {
        MessageExtBrokerInner message = new MessageExtBrokerInner();
        message.setTopic(topic);
        message.setBody(new byte[body]);
        message.setBornHost(new InetSocketAddress("127.0.0.1", 1));
        message.setStoreHost(new InetSocketAddress("127.0.0.1", 10911));
        message.setBornTimestamp(System.currentTimeMillis());
        MessageAccessor.setProperties(message, new HashMap<>());
        if (properties > 0) {
            // name, separator, value, separator
            MessageAccessor.putProperty(message, "p", "x".repeat(properties - 3));
        }
        message.setPropertiesString(MessageDecoder.messageProperties2String(message.getProperties()));
        return message;
    }
}
