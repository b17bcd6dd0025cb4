package tailfin;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.rocketmq.common.BoundaryType;
import org.apache.rocketmq.common.UtilAll;
import org.apache.rocketmq.common.message.MessageDecoder;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.remoting.protocol.filter.FilterAPI;
import org.apache.rocketmq.store.DefaultMessageFilter;
import org.apache.rocketmq.store.DefaultMessageStore;
import org.apache.rocketmq.store.GetMessageResult;
import org.apache.rocketmq.store.GetMessageStatus;
import org.apache.rocketmq.store.MessageFilter;
import org.apache.rocketmq.store.QueryMessageResult;
import org.apache.rocketmq.store.queue.ConsumeQueueInterface;

/** Writes down everything the store can be asked: queues, messages, tag filters, key queries, times. */
final class ReadCommand {
    private static final int TIME_SAMPLES = 25;
    private static final int QUERY_LIMIT = 64;

    private final OpenStore open;
    private final DefaultMessageStore store;
    private final Lines out;
    private final Args args;
    private final Map<String, Set<String>> keysOfTopic = new TreeMap<>();

    private ReadCommand(OpenStore open, Lines out, Args args) {
        this.open = open;
        this.store = open.store;
        this.out = out;
        this.args = args;
    }

    /** Returns false when the store refused to load the directory. */
    static boolean run(Args args) throws Exception {
        try (Lines out = new Lines(args.text("out", "-"))) {
            OpenStore open = OpenStore.open(args.path(1, "DIR"), args.store);
            if (!open.loaded()) {
                out.add(Json.kind("store").put("loaded", false));
                open.close();
                return false;
            }
            new ReadCommand(open, out, args).all();
            out.flush();
            if (args.has("halt")) {
                out.close();
                Runtime.getRuntime().halt(0);
            }
            open.close();
            return true;
        }
    }

    private void all() throws Exception {
        open.awaitDispatch();
        out.add(Json.kind("store").put("loaded", true)
            .put("minPhysicalOffset", store.getMinPhyOffset())
            .put("maxPhysicalOffset", store.getMaxPhyOffset())
            .put("confirmOffset", store.getConfirmOffset()));
        for (var topic : new TreeMap<>(store.getConsumeQueueTable()).entrySet()) {
            for (var queue : new TreeMap<>(topic.getValue()).entrySet()) {
                queue(topic.getKey(), queue.getKey(), queue.getValue());
            }
        }
        keys();
    }

    private void queue(String topic, int queueId, ConsumeQueueInterface queue) throws Exception {
        long min = queue.getMinOffsetInQueue();
        long max = queue.getMaxOffsetInQueue();
        Set<String> tags = new TreeSet<>();
        List<Long> times = new ArrayList<>();
        int count = 0;
        for (long at = min; at < max;) {
            GetMessageResult result = store.getMessage("tool", topic, queueId, at, 32, null);
            for (ByteBuffer record : result.getMessageBufferList()) {
                message(topic, queueId, record.slice(), tags, times);
                count++;
            }
            result.release();
            if (result.getNextBeginOffset() <= at) {
                throw new IllegalStateException("no way on from " + at + " of " + topic + "/" + queueId + ": " + result);
            }
            at = result.getNextBeginOffset();
        }
        out.add(Json.kind("queue").put("topic", topic).put("queueId", queueId).put("minOffset", min).put("maxOffset", max)
            .put("maxPhysicalOffset", queue.getMaxPhysicOffset()).put("messages", count));
        for (String tag : args.has("tags") ? List.of(args.text("tags", "").split(",")) : tags) {
            out.add(Json.kind("tagged").put("topic", topic).put("queueId", queueId).put("tags", tag)
                .put("offsets", filtered(topic, queueId, min, max, tag)));
        }
        for (long time : args.has("times") ? numbers(args.text("times", "")) : sample(times)) {
            out.add(Json.kind("time").put("topic", topic).put("queueId", queueId).put("timestamp", time)
                .put("lower", store.getOffsetInQueueByTime(topic, queueId, time, BoundaryType.LOWER))
                .put("upper", store.getOffsetInQueueByTime(topic, queueId, time, BoundaryType.UPPER)));
        }
    }

    private void message(String topic, int queueId, ByteBuffer record, Set<String> tags, List<Long> times) throws IOException {
        byte[] raw = new byte[record.remaining()];
        record.get(raw);
        int storedCrc = ByteBuffer.wrap(raw).getInt(8);
        MessageExt message = MessageDecoder.decode(ByteBuffer.wrap(raw), true, false, false, true);
        Map<String, String> properties = new TreeMap<>(message.getProperties());
        String propertiesText = properties.remove("propertiesString");
        byte[] body = message.getBody() == null ? new byte[0] : message.getBody();
        times.add(message.getStoreTimestamp());
        if (message.getTags() != null) {
            tags.add(message.getTags());
        }
        Set<String> keys = keysOfTopic.computeIfAbsent(topic, t -> new LinkedHashSet<>());
        String uniqKey = message.getProperty("UNIQ_KEY");
        if (uniqKey != null) {
            keys.add(uniqKey);
        }
        if (message.getKeys() != null) {
            keys.addAll(List.of(message.getKeys().split(" ")));
        }
        if (args.has("no-messages")) {
            return;
        }
        out.add(Json.kind("message")
            .put("topic", message.getTopic())
            .put("queueId", message.getQueueId())
            .put("queueOffset", message.getQueueOffset())
            .put("physicalOffset", message.getCommitLogOffset())
            .put("offsetMsgId", message.getMsgId())
            .put("storeTimestamp", message.getStoreTimestamp())
            .put("storeHost", Lines.host(message.getStoreHost()))
            .put("bornTimestamp", message.getBornTimestamp())
            .put("bornHost", Lines.host(message.getBornHost()))
            .put("sysFlag", message.getSysFlag())
            .put("flag", message.getFlag())
            .put("reconsumeTimes", message.getReconsumeTimes())
            .put("preparedTransactionOffset", message.getPreparedTransactionOffset())
            .put("tags", message.getTags())
            .put("keys", message.getKeys())
            .put("uniqKey", uniqKey)
            .put("properties", properties)
            .put("propertiesText", propertiesText)
            .put("bodyLength", body.length)
            .put("bodyCrc", storedCrc)
            .put("bodyCrcOk", storedCrc == UtilAll.crc32(body))
            .put("bodySha256", Lines.sha256(body))
            .put("size", raw.length)
            .put("recordSha256", Lines.sha256(raw)));
    }

    private List<Long> filtered(String topic, int queueId, long min, long max, String tags) throws Exception {
        MessageFilter filter = new DefaultMessageFilter(FilterAPI.buildSubscriptionData(topic, tags));
        List<Long> offsets = new ArrayList<>();
        for (long at = min; at < max;) {
            GetMessageResult result = store.getMessage("tool", topic, queueId, at, 32, filter);
            if (result.getStatus() == GetMessageStatus.FOUND) {
                offsets.addAll(result.getMessageQueueOffset());
            }
            result.release();
            at = Math.max(at + 1, result.getNextBeginOffset());
        }
        return offsets;
    }

    private void keys() throws IOException {
        if (args.has("keys")) {
            // each line: topic, a tab, the key
            for (String line : Files.readAllLines(Path.of(args.text("keys", "")))) {
                int tab = line.indexOf('\t');
                key(line.substring(0, tab), line.substring(tab + 1));
            }
            return;
        }
        for (Map.Entry<String, Set<String>> entry : keysOfTopic.entrySet()) {
            for (String key : entry.getValue()) {
                key(entry.getKey(), key);
            }
        }
    }

    private void key(String topic, String key) throws IOException {
        QueryMessageResult result = store.queryMessage(topic, key, QUERY_LIMIT, 0, Long.MAX_VALUE);
        List<Long> offsets = new ArrayList<>();
        for (ByteBuffer record : result.getMessageBufferList()) {
            offsets.add(record.getLong(MessageDecoder.MESSAGE_PHYSIC_OFFSET_POSITION));
        }
        result.release();
        out.add(Json.kind("key").put("topic", topic).put("key", key).put("physicalOffsets", offsets));
    }

    private static Iterable<Long> sample(List<Long> times) {
        TreeSet<Long> sampled = new TreeSet<>(List.of(0L, Long.MAX_VALUE / 2));
        List<Long> distinct = new ArrayList<>(new TreeSet<>(times));
        int step = Math.max(1, distinct.size() / TIME_SAMPLES);
        for (int i = 0; i < distinct.size(); i += step) {
            around(sampled, distinct.get(i));
        }
        if (!distinct.isEmpty()) {
            around(sampled, distinct.get(distinct.size() - 1));
        }
        return sampled;
    }

    private static void around(Set<Long> sampled, long time) {
        sampled.addAll(List.of(time - 1, time, time + 1));
    }

    private static List<Long> numbers(String file) throws IOException {
        return Files.readAllLines(Path.of(file)).stream().map(String::trim).filter(s -> !s.isEmpty()).map(Long::valueOf).toList();
    }
}
