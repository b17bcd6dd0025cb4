package tailfin;

import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageAccessor;
import org.apache.rocketmq.common.message.MessageDecoder;
import org.apache.rocketmq.common.message.MessageExtBatch;
import org.apache.rocketmq.common.message.MessageExtBrokerInner;

/** Messages as a producer's arrive in the store: a tag, the client's id, and as many keys as asked for. */
final class BenchMessages {
    static final String TOPIC = "BenchTopic";
    private static final String TAG = "TagA";
    private static final long TAG_CODE = TAG.hashCode();
    private static final int READY_BATCHES = 256;
    private static final InetSocketAddress BORN = new InetSocketAddress("127.0.0.1", 50000);
    private static final InetSocketAddress STORE = new InetSocketAddress("127.0.0.1", 10911);
    private static final char[] HEX = "0123456789ABCDEF".toCharArray();

    private final byte[] body;
    private final int queues;
    private final int keys;
    private final boolean uniq;

    BenchMessages(Args args) {
        this.body = new byte[(int) args.number("body", 128)];
        java.util.Arrays.fill(body, (byte) 'x');
        this.queues = (int) args.number("queues", 8);
        this.keys = (int) args.number("keys", 0);
        this.uniq = !args.has("no-uniq");
    }

    int queues() {
        return queues;
    }

    MessageExtBrokerInner message(long number) {
        MessageExtBrokerInner message = new MessageExtBrokerInner();
        envelope(message, number);
        message.setBody(body);
        Map<String, String> properties = properties(number);
        MessageAccessor.setProperties(message, properties);
        message.setPropertiesString(MessageDecoder.messageProperties2String(properties));
        message.setTagsCode(TAG_CODE);
        return message;
    }

    /** Bodies of batches, encoded before the clock starts, as a broker finds them in a request. */
    List<byte[]> batchBodies(int size) {
        List<byte[]> bodies = new ArrayList<>();
        for (int i = 0; i < READY_BATCHES; i++) {
            List<Message> inner = new ArrayList<>();
            for (int j = 0; j < size; j++) {
                Message message = new Message();
                message.setBody(body);
                MessageAccessor.setProperties(message, properties((long) i * size + j));
                inner.add(message);
            }
            bodies.add(MessageDecoder.encodeMessages(inner));
        }
        return bodies;
    }

    MessageExtBatch batch(long number, byte[] encoded) {
        MessageExtBatch batch = new MessageExtBatch();
        envelope(batch, number);
        batch.setBody(encoded);
        return batch;
    }

    private void envelope(MessageExtBrokerInner message, long number) {
        message.setTopic(TOPIC);
        message.setQueueId((int) (number % queues));
        message.setBornTimestamp(System.currentTimeMillis());
        message.setBornHost(BORN);
        message.setStoreHost(STORE);
    }

    private Map<String, String> properties(long number) {
        Map<String, String> properties = new HashMap<>(8);
        properties.put("TAGS", TAG);
        if (uniq) {
            properties.put("UNIQ_KEY", hex(number));
        }
        if (keys > 0) {
            StringBuilder words = new StringBuilder();
            for (int i = 0; i < keys; i++) {
                words.append(i == 0 ? "k" : " k").append(number * keys + i);
            }
            properties.put("KEYS", words.toString());
        }
        return properties;
    }

    private static String hex(long number) {
        char[] text = "7F0000010001000000000000".concat("00000000").toCharArray();
        for (int at = text.length - 1; number != 0; at--, number >>>= 4) {
            text[at] = HEX[(int) (number & 15)];
        }
        return new String(text);
    }
}
