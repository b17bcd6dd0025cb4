package tailfin;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.IntFunction;
import org.apache.rocketmq.client.producer.LocalTransactionState;
import org.apache.rocketmq.client.producer.TransactionListener;
import org.apache.rocketmq.client.producer.TransactionMQProducer;
import org.apache.rocketmq.client.producer.TransactionSendResult;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;

/** Transactions: what producers say at once, what they say when asked, and who is asked. */
final class TransactionScenarios {
    private static final String GIVEN_UP_TOPIC = "TRANS_CHECK_MAX_TIME_TOPIC";

    private TransactionScenarios() {
    }

    static void addTo(Map<String, ClientScenarios.Scenario> scenarios) {
        scenarios.put("transaction_ended_by_producer", TransactionScenarios::endedByProducer);
        scenarios.put("transaction_ended_when_asked", TransactionScenarios::endedWhenAsked);
        scenarios.put("transaction_producer_dies", TransactionScenarios::producerDies);
        scenarios.put("transaction_given_up", TransactionScenarios::givenUp);
    }

    /** Says what it is told to say, and keeps what it was asked. */
    private static final class Teller implements TransactionListener {
        private final IntFunction<LocalTransactionState> atOnce;
        private final IntFunction<LocalTransactionState> whenAsked;
        private final Map<String, Integer> times = new ConcurrentHashMap<>();
        final ConcurrentLinkedQueue<Map<String, Object>> asked = new ConcurrentLinkedQueue<>();

        /** `atOnce` is given the message's number, `whenAsked` how often it was asked about it before. */
        Teller(IntFunction<LocalTransactionState> atOnce, IntFunction<LocalTransactionState> whenAsked) {
            this.atOnce = atOnce;
            this.whenAsked = whenAsked;
        }

        @Override
        public LocalTransactionState executeLocalTransaction(Message message, Object number) {
            return atOnce.apply((Integer) number);
        }

        @Override
        public LocalTransactionState checkLocalTransaction(MessageExt message) {
            Map<String, Object> seen = Seen.received(message);
            seen.put("transactionId", message.getTransactionId());
            asked.add(seen);
            return whenAsked.apply(times.merge(message.getTransactionId(), 1, Integer::sum) - 1);
        }
    }

    private static TransactionMQProducer producer(Scene scene, String word, String instance, Teller teller) throws Exception {
        TransactionMQProducer producer = new TransactionMQProducer(scene.name(word));
        producer.setNamesrvAddr(scene.namesrv);
        producer.setInstanceName(scene.name(instance));
        producer.setSendMsgTimeout(10_000);
        producer.setHeartbeatBrokerInterval(1000);
        producer.setTransactionListener(teller);
        producer.start();
        return producer;
    }

    /** Sends a topic's messages in transactions; returns those whose numbers are wanted, and notes all results. */
    private static List<Map<String, Object>> send(TransactionMQProducer producer, String topic, int count,
        IntFunction<Boolean> isWanted, Map<String, Object> saw) throws Exception {
        List<Map<String, Object>> wanted = new ArrayList<>();
        List<Map<String, Object>> results = new ArrayList<>();
        for (int number = 0; number < count; number++) {
            Message message = Scene.message(topic, number);
            TransactionSendResult result = producer.sendMessageInTransaction(message, number);
            Map<String, Object> seen = Seen.result(result);
            seen.put("transactionId", result.getTransactionId());
            seen.put("state", result.getLocalTransactionState().name());
            seen.put("number", number);
            results.add(seen);
            if (isWanted.apply(number)) {
                wanted.add(Seen.sent(message));
            }
        }
        saw.put("results", results);
        return wanted;
    }

    private static List<Map<String, Object>> read(Scene scene, String topic, int count) throws Exception {
        List<Map<String, Object>> list = new ArrayList<>();
        for (MessageExt message : scene.read(topic, count)) {
            Map<String, Object> seen = Seen.received(message);
            seen.put("prepared", message.getPreparedTransactionOffset());
            seen.put("born", message.getBornTimestamp());
            list.add(seen);
        }
        return list;
    }

    private static LocalTransactionState evenCommits(int number) {
        return number % 2 == 0 ? LocalTransactionState.COMMIT_MESSAGE : LocalTransactionState.ROLLBACK_MESSAGE;
    }

    private static void endedByProducer(Scene scene, Map<String, Object> saw) throws Exception {
        String topic = scene.topic("tx-ended", 2);
        Teller teller = new Teller(TransactionScenarios::evenCommits, times -> LocalTransactionState.UNKNOW);
        TransactionMQProducer producer = producer(scene, "tx-ended", "tx-ended", teller);
        saw.put("wanted", send(producer, topic, 20, number -> number % 2 == 0, saw));
        saw.put("received", read(scene, topic, 10));
        producer.shutdown();
    }

    /** Does not know at first, nor at the first question. */
    private static void endedWhenAsked(Scene scene, Map<String, Object> saw) throws Exception {
        String topic = scene.topic("tx-asked", 2);
        Teller commits = new Teller(number -> LocalTransactionState.UNKNOW,
            times -> times == 0 ? LocalTransactionState.UNKNOW : LocalTransactionState.COMMIT_MESSAGE);
        Teller rollsBack = new Teller(number -> LocalTransactionState.UNKNOW, times -> LocalTransactionState.ROLLBACK_MESSAGE);
        TransactionMQProducer one = producer(scene, "tx-asked-1", "tx-asked-1", commits);
        TransactionMQProducer other = producer(scene, "tx-asked-2", "tx-asked-2", rollsBack);
        Map<String, Object> otherSaw = new LinkedHashMap<>();
        send(other, topic, 4, number -> false, otherSaw);
        saw.put("wanted", send(one, topic, 6, number -> true, saw));
        saw.put("received", read(scene, topic, 6));
        Scene.until(() -> rollsBack.asked.size() >= 4);
        saw.put("asked", List.copyOf(commits.asked));
        saw.put("rolledBack", List.copyOf(rollsBack.asked));
        saw.put("receivedInTheEnd", read(scene, topic, 6));
        one.shutdown();
        other.shutdown();
    }

    /** The one that sent is gone when the broker asks; another one of its group answers. */
    private static void producerDies(Scene scene, Map<String, Object> saw) throws Exception {
        String topic = scene.topic("tx-dies", 2);
        Teller silent = new Teller(number -> LocalTransactionState.UNKNOW, times -> LocalTransactionState.UNKNOW);
        Teller knows = new Teller(number -> LocalTransactionState.UNKNOW, times -> LocalTransactionState.COMMIT_MESSAGE);
        TransactionMQProducer dying = producer(scene, "tx-dies", "tx-dies-1", silent);
        saw.put("wanted", send(dying, topic, 4, number -> true, saw));
        dying.shutdown();
        TransactionMQProducer living = producer(scene, "tx-dies", "tx-dies-2", knows);
        // A producer makes itself known to the brokers of the topics it has sent to.
        living.sendMessageInTransaction(new Message(scene.topic("tx-other", 1), new byte[] {1}), 0);
        saw.put("received", read(scene, topic, 4));
        saw.put("askedOfTheDead", List.copyOf(silent.asked));
        living.shutdown();
    }

    /** Nobody ever knows: the broker gives up, until an operator has it ask again. */
    private static void givenUp(Scene scene, Map<String, Object> saw) throws Exception {
        String topic = scene.topic("tx-lost", 1);
        List<LocalTransactionState> word = new ArrayList<>(List.of(LocalTransactionState.UNKNOW));
        Teller teller = new Teller(number -> LocalTransactionState.UNKNOW, times -> word.get(word.size() - 1));
        TransactionMQProducer producer = producer(scene, "tx-lost", "tx-lost", teller);
        saw.put("wanted", send(producer, topic, 1, number -> true, saw));
        List<MessageExt> lost = new ArrayList<>();
        Scene.until(() -> lost.addAll(ofTopic(scene, topic)));
        saw.put("lost", Seen.received(lost));
        saw.put("askedBefore", teller.asked.size());
        word.add(LocalTransactionState.COMMIT_MESSAGE);
        String id = lost.get(0).getMsgId();
        String offsetId = ((org.apache.rocketmq.common.message.MessageClientExt) lost.get(0)).getOffsetMsgId();
        saw.put("resumed", scene.admin.resumeCheckHalfMessage(GIVEN_UP_TOPIC, offsetId));
        saw.put("received", read(scene, topic, 1));
        saw.put("id", id);
        producer.shutdown();
    }

    /** What was given up of a topic. */
    private static List<MessageExt> ofTopic(Scene scene, String topic) {
        try {
            return scene.read(GIVEN_UP_TOPIC, 0).stream().filter(m -> topic.equals(m.getProperty("REAL_TOPIC"))).toList();
        } catch (Exception e) {
            return List.of(); // the topic is made with the first one
        }
    }
}
