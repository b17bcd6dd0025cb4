package tailfin;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.apache.rocketmq.client.consumer.DefaultLitePullConsumer;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.consumer.PullResult;
import org.apache.rocketmq.client.exception.MQBrokerException;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/** Consumers that ask: the old pull consumer and the lite one. */
@SuppressWarnings("deprecation") // the old pull consumer is one of the clients in use
final class PullScenarios {
    private PullScenarios() {
    }

    static void addTo(Map<String, ClientScenarios.Scenario> scenarios) {
        scenarios.put("pull", PullScenarios::pull);
        scenarios.put("pull_long_poll", PullScenarios::longPoll);
        scenarios.put("lite_subscribe", PullScenarios::liteSubscribe);
        scenarios.put("lite_assign", PullScenarios::liteAssign);
    }

    static Map<String, Object> described(PullResult result) {
        Map<String, Object> seen = new LinkedHashMap<>();
        seen.put("status", result.getPullStatus().name());
        seen.put("next", result.getNextBeginOffset());
        seen.put("min", result.getMinOffset());
        seen.put("max", result.getMaxOffset());
        seen.put("found", result.getMsgFoundList() == null ? List.of() : Seen.received(result.getMsgFoundList()));
        return seen;
    }

    private static MessageQueue firstQueue(Scene scene, String topic) throws Exception {
        return scene.reader().fetchSubscribeMessageQueues(topic).stream().min(MessageQueue::compareTo).orElseThrow();
    }

    private static void pull(Scene scene, Map<String, Object> saw) throws Exception {
        String topic = scene.topic("pull", 1);
        MessageQueue queue = firstQueue(scene, topic);
        saw.put("ofEmpty", described(scene.reader().pull(queue, "*", 0, 32)));
        List<Object> sent = new ArrayList<>();
        for (int number = 0; number < 50; number++) {
            scene.producer.send(Scene.message(topic, number), queue);
            sent.add(Seen.sent(Scene.message(topic, number)));
        }
        saw.put("sent", sent);
        // Queues follow the log.
        Scene.until(() -> ends(scene, queue, 50));
        saw.put("first", described(scene.reader().pull(queue, "*", 0, 32)));
        saw.put("second", described(scene.reader().pull(queue, "*", 32, 32)));
        saw.put("five", described(scene.reader().pull(queue, "*", 10, 5)));
        saw.put("tagged", described(scene.reader().pull(queue, "B", 0, 32)));
        saw.put("unmatched", described(scene.reader().pull(queue, "Z", 0, 32)));
        saw.put("atEnd", described(scene.reader().pull(queue, "*", 50, 32)));
        saw.put("beyondEnd", described(scene.reader().pull(queue, "*", 1000, 32)));
        MessageQueue closed = new MessageQueue(scene.topic("write-only", 1, 2), queue.getBrokerName(), 0);
        saw.put("noPermission", refusal(() -> scene.reader().pull(closed, "*", 0, 32)));
        MessageQueue absent = new MessageQueue(scene.name("absent"), queue.getBrokerName(), 0);
        saw.put("noSuchTopic", refusal(() -> scene.reader().pull(absent, "*", 0, 32)));
        DefaultMQPullConsumer reader = scene.reader();
        saw.put("storedBefore", reader.fetchConsumeOffset(queue, true));
        reader.updateConsumeOffset(queue, 33);
        reader.getDefaultMQPullConsumerImpl().getOffsetStore().persist(queue);
        Scene.until(() -> stored(reader, queue) == 33);
        saw.put("storedAfter", reader.fetchConsumeOffset(queue, true));
    }

    static boolean ends(Scene scene, MessageQueue queue, long end) {
        try {
            return scene.reader().maxOffset(queue) == end;
        } catch (Exception e) {
            return false;
        }
    }

    interface Pulling {
        PullResult pull() throws Exception;
    }

    private static Map<String, Object> refusal(Pulling pulling) {
        try {
            return described(pulling.pull());
        } catch (MQBrokerException e) {
            return Map.of("code", e.getResponseCode(), "remark", String.valueOf(e.getErrorMessage()));
        } catch (Exception e) {
            return Map.of("exception", e.toString());
        }
    }

    private static long stored(DefaultMQPullConsumer reader, MessageQueue queue) {
        try {
            return reader.fetchConsumeOffset(queue, true);
        } catch (Exception e) {
            return -1;
        }
    }

    /** A pull that waits at the end of a queue is answered by the message that arrives. */
    private static void longPoll(Scene scene, Map<String, Object> saw) throws Exception {
        String topic = scene.topic("long-poll", 1);
        MessageQueue queue = firstQueue(scene, topic);
        List<PullResult> results = new ArrayList<>();
        List<Exception> failures = new ArrayList<>();
        Thread waiting = new Thread(() -> {
            try {
                results.add(scene.reader().pullBlockIfNotFound(queue, "*", 0, 32));
            } catch (Exception e) {
                failures.add(e);
            }
        });
        waiting.start();
        // No client is told that its pull is held; this is the time in which a wrong answer would come.
        Thread.sleep(500);
        saw.put("stillWaiting", waiting.isAlive());
        scene.producer.send(Scene.message(topic, 0), queue);
        waiting.join(30_000);
        saw.put("failures", failures.stream().map(Exception::toString).toList());
        saw.put("result", results.isEmpty() ? null : described(results.get(0)));
    }

    private static DefaultLitePullConsumer lite(Scene scene, String word, String instance) {
        DefaultLitePullConsumer consumer = new DefaultLitePullConsumer(scene.name(word));
        consumer.setNamesrvAddr(scene.namesrv);
        consumer.setInstanceName(scene.name(instance));
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.setAutoCommit(false);
        consumer.setPullThreadNums(2);
        return consumer;
    }

    private static List<MessageExt> polled(DefaultLitePullConsumer consumer, int count) throws Exception {
        List<MessageExt> found = new ArrayList<>();
        Scene.until(() -> found.addAll(consumer.poll(200)) && found.size() >= count || found.size() >= count);
        return found;
    }

    private static void liteSubscribe(Scene scene, Map<String, Object> saw) throws Exception {
        String topic = scene.topic("lite", 4);
        saw.put("sent", scene.fill(topic, 0, 60));
        DefaultLitePullConsumer first = lite(scene, "lite", "lite-1");
        first.subscribe(topic, "A || B");
        first.start();
        List<MessageExt> read = polled(first, 40);
        saw.put("received", Seen.received(read));
        first.commitSync();
        // Of the first offsets of a new group that come at once the official broker may forget some.
        Scene.until(() -> {
            first.commit(queuesOf(read), true);
            return knowsAsRead(scene, scene.name("lite"), read);
        });
        first.shutdown();
        saw.put("sentAfter", scene.fill(topic, 60, 30));
        DefaultLitePullConsumer second = lite(scene, "lite", "lite-2");
        second.subscribe(topic, "A || B");
        second.start();
        saw.put("receivedAfter", Seen.received(polled(second, 20)));
        second.shutdown();
    }

    private static MessageQueue queueOf(MessageExt message) {
        return new MessageQueue(message.getTopic(), message.getBrokerName(), message.getQueueId());
    }

    private static Set<MessageQueue> queuesOf(List<MessageExt> messages) {
        return messages.stream().map(PullScenarios::queueOf).collect(Collectors.toSet());
    }

    private static boolean knowsAsRead(Scene scene, String group, List<MessageExt> read) {
        try {
            var known = scene.admin.examineConsumeStats(group, read.get(0).getTopic()).getOffsetTable();
            return read.stream().allMatch(one -> known.get(queueOf(one)).getConsumerOffset() > one.getQueueOffset());
        } catch (Exception e) {
            return false;
        }
    }

    private static void liteAssign(Scene scene, Map<String, Object> saw) throws Exception {
        String topic = scene.topic("lite-assign", 2);
        saw.put("sent", scene.fill(topic, 0, 40));
        DefaultLitePullConsumer consumer = lite(scene, "lite-assign", "lite-assign");
        consumer.start();
        List<MessageQueue> queues = new ArrayList<>(consumer.fetchMessageQueues(topic));
        consumer.assign(queues);
        saw.put("received", Seen.received(polled(consumer, 40)));
        // Only now: what a pull under way at a seek finds, this client may deliver beside what the seek leads to.
        for (MessageQueue queue : queues) {
            consumer.seekToBegin(queue);
        }
        saw.put("receivedAgain", Seen.received(polled(consumer, 40)));
        queues.sort(null);
        MessageQueue one = queues.get(0);
        consumer.assign(List.of(one));
        consumer.seek(one, 5);
        int left = 40 / queues.size() - 5;
        saw.put("afterSeek", Seen.received(polled(consumer, left)));
        consumer.commitSync();
        Map<String, Object> offsets = new TreeMap<>();
        offsets.put("committed", consumer.committed(one));
        offsets.put("byTimestampZero", consumer.offsetForTimestamp(one, 0L));
        saw.put("offsets", offsets);
        consumer.shutdown();
    }
}
