package tailfin;

import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Collection;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/** What a scenario saw, in the words of its JSON line. */
final class Seen {
    private Seen() {
    }

    /** A message as it was handed to the client. */
    static Map<String, Object> sent(Message message) {
        Map<String, Object> seen = new LinkedHashMap<>();
        seen.put("tags", message.getTags());
        seen.put("keys", message.getKeys());
        seen.put("color", message.getUserProperty("color"));
        seen.put("bodyLength", message.getBody().length);
        seen.put("body", digest(message.getBody()));
        return seen;
    }

    /** A message as it came from the server. */
    static Map<String, Object> received(MessageExt message) {
        Map<String, Object> seen = sent(message);
        seen.put("topic", message.getTopic());
        seen.put("broker", message.getBrokerName());
        seen.put("queue", message.getQueueId());
        seen.put("offset", message.getQueueOffset());
        seen.put("id", message.getMsgId());
        seen.put("sysFlag", message.getSysFlag());
        seen.put("flag", message.getFlag());
        seen.put("reconsumed", message.getReconsumeTimes());
        seen.put("born", message.getBornTimestamp());
        seen.put("stored", message.getStoreTimestamp());
        seen.put("properties", new TreeMap<>(message.getProperties()));
        return seen;
    }

    static List<Map<String, Object>> received(Collection<MessageExt> messages) {
        return messages.stream().map(Seen::received).toList();
    }

    static Map<String, Object> result(SendResult result) {
        Map<String, Object> seen = new LinkedHashMap<>();
        seen.put("status", result.getSendStatus().name());
        seen.put("id", result.getMsgId());
        seen.put("offsetId", result.getOffsetMsgId());
        seen.put("broker", result.getMessageQueue().getBrokerName());
        seen.put("queue", result.getMessageQueue().getQueueId());
        seen.put("offset", result.getQueueOffset());
        return seen;
    }

    static String queue(MessageQueue queue) {
        return queue.getBrokerName() + "/" + queue.getQueueId();
    }

    static String digest(byte[] body) {
        try {
            return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(body), 0, 8);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Messages in the order in which a listener got them. */
    static final class Ledger {
        final ConcurrentLinkedQueue<MessageExt> messages = new ConcurrentLinkedQueue<>();

        void add(Collection<MessageExt> some) {
            messages.addAll(some);
        }

        /** How many different ones. */
        long distinct() {
            return messages.stream().map(m -> m.getBrokerName() + m.getQueueId() + "/" + m.getQueueOffset()).distinct().count();
        }

        List<Map<String, Object>> list() {
            return received(messages);
        }
    }
}
