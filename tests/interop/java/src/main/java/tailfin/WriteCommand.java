package tailfin;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.apache.rocketmq.common.UtilAll;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageDecoder;
import org.apache.rocketmq.common.message.MessageExtBatch;
import org.apache.rocketmq.common.message.MessageExtBrokerInner;
import org.apache.rocketmq.store.AppendMessageResult;
import org.apache.rocketmq.store.PutMessageResult;
import org.apache.rocketmq.store.PutMessageStatus;

/** Writes the corpus into a store and one line for every message that the store acknowledged. */
final class WriteCommand {
    private final OpenStore open;
    private final Lines acks;

    private WriteCommand(OpenStore open, Lines acks) {
        this.open = open;
        this.acks = acks;
    }

    static void run(Args args) throws Exception {
        Path dir = args.path(1, "DIR");
        int count = (int) args.number("count", 20_000);
        int delayed = (int) args.number("schedule", 0);
        Corpus corpus = new Corpus(args.number("seed", 1), (int) args.number("large-body", 1 << 20));
        try (Lines acks = new Lines(args.text("out", "-")); OpenStore open = OpenStore.open(dir, args.store)) {
            if (!open.loaded()) {
                throw new IllegalStateException("the store did not load");
            }
            WriteCommand writer = new WriteCommand(open, acks);
            writer.write(corpus, count);
            for (int i = 0; i < delayed; i++) {
                writer.put(corpus.delayed());
            }
            for (int i = (int) args.number("light", 0); i > 0; i--) {
                writer.put(corpus.light());
            }
            open.awaitDispatch();
            acks.flush();
            if (args.has("hang")) {
                System.out.println("READY");
                System.out.flush();
                Thread.sleep(Long.MAX_VALUE);
            }
        }
    }

    private void write(Corpus corpus, int count) throws IOException {
        while (corpus.made() < count) {
            if (count - corpus.made() >= 2 && corpus.nextIsBatch()) {
                putBatch(corpus, count - corpus.made());
            } else {
                put(corpus.single());
            }
        }
    }

    private void put(MessageExtBrokerInner message) throws IOException {
        AppendMessageResult result = accepted(open.store.putMessage(message));
        acks.add(ack(message, message, result.getMsgId(), result.getLogicsOffset(), result.getStoreTimestamp(), false));
    }

    private void putBatch(Corpus corpus, int most) throws IOException {
        List<Message> inner = corpus.batch(most);
        MessageExtBatch batch = corpus.wrap(inner);
        AppendMessageResult result = accepted(open.store.putMessages(batch));
        String[] ids = result.getMsgId().split(",");
        for (int i = 0; i < inner.size(); i++) {
            acks.add(ack(batch, inner.get(i), ids[i], result.getLogicsOffset() + i, result.getStoreTimestamp(), true));
        }
    }

    private static AppendMessageResult accepted(PutMessageResult result) {
        if (result.getPutMessageStatus() != PutMessageStatus.PUT_OK) {
            throw new IllegalStateException("the store refused a message: " + result);
        }
        return result.getAppendMessageResult();
    }

    private static Json ack(MessageExtBrokerInner outer, Message message, String id, long queueOffset, long storeTimestamp,
        boolean batch) throws IOException {
        byte[] body = message.getBody();
        String tags = message.getTags();
        return Json.kind("ack")
            .put("topic", outer.getTopic())
            .put("queueId", outer.getQueueId())
            .put("queueOffset", queueOffset)
            .put("physicalOffset", MessageDecoder.decodeMessageId(id).getOffset())
            .put("offsetMsgId", id)
            .put("storeTimestamp", storeTimestamp)
            .put("storeHost", Lines.host(outer.getStoreHost()))
            .put("bornTimestamp", outer.getBornTimestamp())
            .put("bornHost", Lines.host(outer.getBornHost()))
            .put("sysFlag", outer.getSysFlag())
            .put("flag", message.getFlag())
            .put("reconsumeTimes", outer.getReconsumeTimes())
            .put("preparedTransactionOffset", outer.getPreparedTransactionOffset())
            .put("batch", batch)
            .put("tags", tags)
            .put("tagsCode", MessageExtBrokerInner.tagsString2tagsCode(tags))
            .put("keys", message.getKeys())
            .put("uniqKey", message.getProperty("UNIQ_KEY"))
            .put("properties", message.getProperties())
            .put("bodyLength", body.length)
            .put("bodyCrc", UtilAll.crc32(body))
            .put("bodySha256", Lines.sha256(body));
    }
}
