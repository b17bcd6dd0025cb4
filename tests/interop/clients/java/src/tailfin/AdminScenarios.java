package tailfin;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/** What an operator asks through the admin API. */
final class AdminScenarios {
    private AdminScenarios() {
    }

    static void addTo(Map<String, ClientScenarios.Scenario> scenarios) {
        scenarios.put("admin_topic", AdminScenarios::topic);
        scenarios.put("admin_query", AdminScenarios::query);
        scenarios.put("admin_offsets", AdminScenarios::offsets);
        scenarios.put("admin_progress", AdminScenarios::progress);
        scenarios.put("admin_cluster", AdminScenarios::cluster);
    }

    private static void topic(Scene scene, Map<String, Object> saw) throws Exception {
        String topic = scene.topic("admin-topic", 3);
        scene.fill(topic, 0, 3 * scene.brokers().size());
        var route = scene.admin.examineTopicRouteInfo(topic);
        saw.put("routeQueues", route.getQueueDatas().stream().map(q -> List.of(
            q.getBrokerName(), q.getReadQueueNums(), q.getWriteQueueNums(), q.getPerm())).toList());
        saw.put("routeBrokers", route.getBrokerDatas().stream().map(b -> List.of(
            b.getCluster(), b.getBrokerName(), b.getBrokerAddrs().get(0L))).toList());
        List<Object> configs = new ArrayList<>();
        for (String address : scene.brokers().values()) {
            var config = scene.admin.examineTopicConfig(address, topic);
            configs.add(List.of(config.getTopicName(), config.getReadQueueNums(), config.getWriteQueueNums(), config.getPerm()));
        }
        saw.put("configs", configs);
        Map<String, Object> stats = new TreeMap<>();
        scene.admin.examineTopicStats(topic).getOffsetTable().forEach((queue, offset) -> stats.put(Seen.queue(queue),
            List.of(offset.getMinOffset(), offset.getMaxOffset(), offset.getLastUpdateTimestamp())));
        saw.put("stats", stats);
        saw.put("listed", scene.admin.fetchAllTopicList().getTopicList().contains(topic));
        scene.admin.deleteTopicInBroker(Set.copyOf(scene.brokers().values()), topic);
        Scene.until(() -> unrouted(scene, topic));
        saw.put("routedAfterDelete", scene.routed(topic));
        saw.put("listedAfterDelete", scene.admin.fetchAllTopicList().getTopicList().contains(topic));
    }

    /** Takes a topic out of the nameserver, again if a broker's registration under way has brought it back. */
    private static boolean unrouted(Scene scene, String topic) {
        try {
            // The two generations take the names in different orders.
            scene.admin.deleteTopicInNameServer(Set.of(scene.namesrv), "DefaultCluster", topic);
            scene.admin.deleteTopicInNameServer(Set.of(scene.namesrv), topic, "DefaultCluster");
        } catch (Exception e) {
            return false;
        }
        return scene.routed(topic) == 0;
    }

    private static void query(Scene scene, Map<String, Object> saw) throws Exception {
        String topic = scene.topic("admin-query", 2);
        // The index keeps whole seconds, so that a message may seem older than it is.
        long begin = System.currentTimeMillis() - 60_000;
        scene.fill(topic, 0, 20);
        Message twice = new Message(topic, "T", "alpha beta", "two keys".getBytes());
        SendResult result = scene.producer.send(twice);
        saw.put("sent", Seen.sent(twice));
        saw.put("result", Seen.result(result));
        // The index follows the log.
        Scene.until(() -> !byKey(scene, topic, "beta", begin).isEmpty());
        saw.put("byFirstKey", Seen.received(byKey(scene, topic, "alpha", begin)));
        saw.put("bySecondKey", Seen.received(byKey(scene, topic, "beta", begin)));
        saw.put("byKeyOfAnother", Seen.received(byKey(scene, topic, "key-7", begin)));
        saw.put("byUnknownKey", byKey(scene, topic, "nobody", begin).size());
        saw.put("byOffsetId", Seen.received(scene.admin.viewMessage(topic, result.getOffsetMsgId())));
        saw.put("byUniqueId", Seen.received(scene.admin.viewMessage(topic, result.getMsgId())));
        try {
            String id = result.getOffsetMsgId();
            scene.admin.viewMessage(topic, id.substring(0, id.length() - 8) + "0FFFFFFF");
            saw.put("byWrongOffsetId", "found");
        } catch (Exception e) {
            saw.put("byWrongOffsetId", e.toString());
        }
    }

    private static List<MessageExt> byKey(Scene scene, String topic, String key, long begin) {
        try {
            return scene.admin.queryMessage(topic, key, 32, begin, System.currentTimeMillis() + 1).getMessageList();
        } catch (Exception e) {
            return List.of();
        }
    }

    private static void offsets(Scene scene, Map<String, Object> saw) throws Exception {
        String topic = scene.topic("admin-offsets", 1);
        MessageQueue queue = new MessageQueue(topic, scene.brokers().keySet().iterator().next(), 0);
        saw.put("maxOfEmpty", scene.admin.maxOffset(queue));
        for (int number = 0; number < 10; number++) {
            scene.producer.send(Scene.message(topic, number), queue);
            long sent = System.currentTimeMillis();
            Scene.until(() -> System.currentTimeMillis() > sent + 2);
        }
        List<MessageExt> stored = scene.read(topic, 10);
        saw.put("stored", stored.stream().map(MessageExt::getStoreTimestamp).toList());
        saw.put("min", scene.admin.minOffset(queue));
        saw.put("max", scene.admin.maxOffset(queue));
        saw.put("earliest", scene.admin.earliestMsgStoreTime(queue));
        List<Long> found = new ArrayList<>();
        for (MessageExt message : stored) {
            found.add(scene.admin.searchOffset(queue, message.getStoreTimestamp()));
        }
        saw.put("found", found);
        saw.put("justAfterFourth", scene.admin.searchOffset(queue, stored.get(3).getStoreTimestamp() + 1));
        saw.put("longBefore", scene.admin.searchOffset(queue, 0));
        saw.put("longAfter", scene.admin.searchOffset(queue, System.currentTimeMillis() + 100_000));
    }

    private static void progress(Scene scene, Map<String, Object> saw) throws Exception {
        String topic = scene.topic("admin-progress", 2);
        String group = scene.name("admin-progress");
        scene.fill(topic, 0, 20);
        Seen.Ledger ledger = new Seen.Ledger();
        DefaultMQPushConsumer consumer = scene.consumer(group, "admin-progress");
        consumer.subscribe(topic, "A || B || C");
        consumer.registerMessageListener(PushScenarios.into(ledger));
        consumer.start();
        Scene.until(() -> ledger.distinct() >= 20);
        OffsetScenarios.drained(scene, group, topic);
        saw.put("consuming", stats(scene, group, topic));
        var connection = scene.admin.examineConsumerConnectionInfo(group);
        saw.put("members", connection.getConnectionSet().stream().map(c -> Map.of("id", c.getClientId(),
            "language", c.getLanguage().name(), "version", c.getVersion())).toList());
        saw.put("clientId", consumer.getDefaultMQPushConsumerImpl().getmQClientFactory().getClientId());
        Map<String, Object> subscriptions = new TreeMap<>();
        connection.getSubscriptionTable().forEach((name, data) -> subscriptions.put(name,
            List.of(data.getSubString(), new TreeSet<>(data.getTagsSet()))));
        saw.put("subscriptions", subscriptions);
        saw.put("model", List.of(connection.getConsumeType().name(), connection.getMessageModel().name(),
            connection.getConsumeFromWhere().name()));
        saw.put("consumedBy", scene.admin.queryTopicConsumeByWho(topic).getGroupList());
        consumer.shutdown();
        scene.fill(topic, 20, 6);
        Scene.until(() -> OffsetScenarios.left(scene, group, topic) == 6);
        saw.put("behind", stats(scene, group, topic));
        var producers = scene.admin.examineProducerConnectionInfo(scene.name("producers"), topic);
        saw.put("producers", producers.getConnectionSet().stream().map(c -> c.getClientId()).toList());
        saw.put("producerId", scene.producer.getDefaultMQProducerImpl().getMqClientFactory().getClientId());
    }

    private static Map<String, Object> stats(Scene scene, String group, String topic) throws Exception {
        Map<String, Object> queues = new TreeMap<>();
        var stats = scene.admin.examineConsumeStats(group, topic);
        stats.getOffsetTable().forEach((queue, offset) -> queues.put(Seen.queue(queue),
            List.of(offset.getBrokerOffset(), offset.getConsumerOffset())));
        return Map.of("queues", queues, "diff", stats.computeTotalDiff());
    }

    private static void cluster(Scene scene, Map<String, Object> saw) throws Exception {
        var cluster = scene.admin.examineBrokerClusterInfo();
        Map<String, Object> clusters = new LinkedHashMap<>();
        cluster.getClusterAddrTable().forEach((name, brokers) -> clusters.put(name, new TreeSet<>(brokers)));
        saw.put("clusters", clusters);
        Map<String, Object> runtime = new TreeMap<>();
        for (Map.Entry<String, String> broker : scene.brokers().entrySet()) {
            runtime.put(broker.getKey(), new TreeMap<>(scene.admin.fetchBrokerRuntimeStats(broker.getValue()).getTable()));
        }
        saw.put("runtime", runtime);
    }
}
