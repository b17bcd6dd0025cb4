package tailfin;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.zip.DeflaterOutputStream;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageAccessor;
import org.apache.rocketmq.common.message.MessageDecoder;
import org.apache.rocketmq.common.message.MessageExtBatch;
import org.apache.rocketmq.common.message.MessageExtBrokerInner;
import org.apache.rocketmq.common.sysflag.MessageSysFlag;

/**
 * Test messages that a seed fixes: every shape a record can take in a file (hosts of both families, batches,
 * transaction states, tags and keys of several bytes a character, bodies from nothing to one MiB).
 */
final class Corpus {
    static final List<String> TOPICS = List.of("CorpusA", "corpus_b", "%RETRY%corpus_group", "L".repeat(127));
    static final int QUEUES = 4;
    static final String SCHEDULE_TOPIC = "SCHEDULE_TOPIC_XXXX";

    // the last-but-one hashes to the smallest int, whose absolute value is negative
    private static final String[] TAGS = {"TagA", "TagB", "TagC", "中文", "étiquette-🐟", "polygenelubricants", "A B"};
    private static final String[] LIGHT_QUEUES = {"%LMQ%one", "%LMQ%one,%LMQ%two", "%LMQ%two,%LMQ%три", "%LMQ%four"};
    private static final int KEY_POOL = 700;

    private final Random random;
    private final int largeBody;
    private int made;

    Corpus(long seed, int largeBody) {
        this.random = new Random(seed);
        this.largeBody = largeBody;
    }

    int made() {
        return made;
    }

    /** True when the next messages are to be written as one batch. */
    boolean nextIsBatch() {
        return random.nextInt(60) == 0;
    }

    MessageExtBrokerInner single() throws IOException {
        int index = made++;
        MessageExtBrokerInner message = new MessageExtBrokerInner();
        message.setTopic(TOPICS.get(random.nextInt(TOPICS.size())));
        message.setQueueId(random.nextInt(QUEUES));
        message.setFlag(random.nextInt(8) == 0 ? random.nextInt() : 0);
        byte[] body = body(index);
        int sysFlag = 0;
        if (random.nextInt(50) == 0) {
            body = deflate(body);
            sysFlag = MessageSysFlag.COMPRESSED_FLAG;
        }
        switch (random.nextInt(100)) {
            case 0 -> sysFlag |= MessageSysFlag.TRANSACTION_PREPARED_TYPE;
            case 1 -> sysFlag |= MessageSysFlag.TRANSACTION_ROLLBACK_TYPE;
            case 2, 3 -> {
                sysFlag |= MessageSysFlag.TRANSACTION_COMMIT_TYPE;
                message.setPreparedTransactionOffset(random.nextInt(1 << 20));
            }
            default -> { }
        }
        message.setBody(body);
        message.setSysFlag(sysFlag);
        hosts(message);
        message.setReconsumeTimes(random.nextInt(10) == 0 ? random.nextInt(16) : 0);
        setProperties(message, properties(index));
        return message;
    }

    /** A record of the delay topic, whose queue entry holds a time of delivery in place of the tag's hash. */
    MessageExtBrokerInner delayed() {
        int index = made++;
        int level = 1 + random.nextInt(18);
        MessageExtBrokerInner message = new MessageExtBrokerInner();
        message.setTopic(SCHEDULE_TOPIC);
        message.setQueueId(level - 1);
        message.setBody(body(index));
        hosts(message);
        Map<String, String> properties = properties(index);
        properties.put("DELAY", Integer.toString(level));
        properties.put("REAL_TOPIC", TOPICS.get(0));
        properties.put("REAL_QID", "0");
        setProperties(message, properties);
        return message;
    }

    /** A message that also goes to light queues: one record, several queue entries. */
    MessageExtBrokerInner light() throws IOException {
        MessageExtBrokerInner message = single();
        message.setTopic(TOPICS.get(0));
        message.setSysFlag(0);
        message.setPreparedTransactionOffset(0);
        Map<String, String> properties = message.getProperties();
        properties.put("INNER_MULTI_DISPATCH", LIGHT_QUEUES[random.nextInt(LIGHT_QUEUES.length)]);
        setProperties(message, properties);
        return message;
    }

    /** The inner messages of one batch, at most {@code most} of them. */
    List<Message> batch(int most) {
        int size = Math.min(most, 2 + random.nextInt(39));
        List<Message> inner = new ArrayList<>(size);
        for (int i = 0; i < size; i++) {
            int index = made++;
            Message message = new Message();
            message.setFlag(random.nextInt(4));
            message.setBody(bytes(1 + random.nextInt(300)));
            MessageAccessor.setProperties(message, properties(index));
            inner.add(message);
        }
        return inner;
    }

    MessageExtBatch wrap(List<Message> inner) {
        MessageExtBatch batch = new MessageExtBatch();
        batch.setTopic(TOPICS.get(random.nextInt(TOPICS.size())));
        batch.setQueueId(random.nextInt(QUEUES));
        batch.setBody(MessageDecoder.encodeMessages(inner));
        hosts(batch);
        return batch;
    }

    private static void setProperties(MessageExtBrokerInner message, Map<String, String> properties) {
        MessageAccessor.setProperties(message, properties);
        message.setPropertiesString(MessageDecoder.messageProperties2String(properties));
        message.setTagsCode(MessageExtBrokerInner.tagsString2tagsCode(message.getTags()));
    }

    private Map<String, String> properties(int index) {
        Map<String, String> properties = new LinkedHashMap<>();
        if (random.nextInt(10) != 0) {
            properties.put("UNIQ_KEY", String.format("7F0000010001%012X%08X", random.nextLong() & 0xffffffffffffL, index));
        }
        if (random.nextInt(5) != 0) {
            properties.put("TAGS", TAGS[random.nextInt(TAGS.length)]);
        }
        StringBuilder keys = new StringBuilder();
        for (int i = random.nextInt(4); i > 0; i--) {
            int number = random.nextInt(KEY_POOL);
            keys.append(keys.length() == 0 ? "" : " ").append(number % 7 == 0 ? "ключ-" : "key-").append(number);
        }
        if (keys.length() > 0) {
            properties.put("KEYS", keys.toString());
        }
        properties.put("WAIT", random.nextInt(4) == 0 ? "false" : "true");
        for (int i = random.nextInt(4); i > 0; i--) {
            properties.put("user-" + i, random.nextInt(6) == 0 ? "値=" + index : Integer.toHexString(random.nextInt()));
        }
        return properties;
    }

    private void hosts(MessageExtBrokerInner message) {
        message.setBornTimestamp(System.currentTimeMillis() - random.nextInt(5000));
        message.setBornHost(random.nextInt(20) == 0 ? ipv6(0x10) : ipv4(10));
        message.setStoreHost(random.nextInt(20) == 0 ? ipv6(0x20) : ipv4(127));
    }

    private InetSocketAddress ipv4(int first) {
        return address(new byte[] {(byte) first, 0, 0, (byte) (1 + random.nextInt(250))});
    }

    private InetSocketAddress ipv6(int last) {
        byte[] ip = new byte[16];
        ip[0] = (byte) 0xfd;
        ip[1] = (byte) random.nextInt(256);
        ip[15] = (byte) last;
        return address(ip);
    }

    private InetSocketAddress address(byte[] ip) {
        try {
            return new InetSocketAddress(InetAddress.getByAddress(ip), 1024 + random.nextInt(60000));
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    private byte[] body(int index) {
        if (index % 5003 == 17) {
            return bytes(largeBody);
        }
        return switch (random.nextInt(40)) {
            case 0 -> new byte[0];
            case 1 -> bytes(random.nextInt(8192));
            default -> bytes(1 + random.nextInt(256));
        };
    }

    private byte[] bytes(int size) {
        byte[] body = new byte[size];
        random.nextBytes(body);
        return body;
    }

    private static byte[] deflate(byte[] body) throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        try (DeflaterOutputStream deflater = new DeflaterOutputStream(out)) {
            deflater.write(body);
        }
        return out.toByteArray();
    }
}
