package tailfin;

import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.rocketmq.remoting.protocol.body.HARuntimeInfo;
import org.apache.rocketmq.store.CommitLog;
import org.apache.rocketmq.store.DefaultMessageStore;
import org.apache.rocketmq.store.ha.HAClient;
import org.apache.rocketmq.store.ha.HAConnection;
import org.apache.rocketmq.store.ha.HAConnectionStateNotificationRequest;
import org.apache.rocketmq.store.ha.HAService;
import org.apache.rocketmq.store.ha.WaitNotifyObject;

/**
 * Replication that opens no socket. The store looks its replication service up in META-INF/service before it
 * falls back to the one that listens on every interface.
 */
public final class NoReplication implements HAService {
    private final AtomicInteger connections = new AtomicInteger();
    private final AtomicLong pushed = new AtomicLong();
    private final WaitNotifyObject waiters = new WaitNotifyObject();

    @Override
    public void init(DefaultMessageStore store) {
    }

    @Override
    public void start() {
    }

    @Override
    public void shutdown() {
    }

    @Override
    public void updateMasterAddress(String address) {
    }

    @Override
    public void updateHaMasterAddress(String address) {
    }

    @Override
    public int inSyncReplicasNums(long masterPutWhere) {
        return 1;
    }

    @Override
    public AtomicInteger getConnectionCount() {
        return connections;
    }

    @Override
    public void putRequest(CommitLog.GroupCommitRequest request) {
    }

    @Override
    public void putGroupConnectionStateRequest(HAConnectionStateNotificationRequest request) {
    }

    @Override
    public List<HAConnection> getConnectionList() {
        return List.of();
    }

    @Override
    public HAClient getHAClient() {
        return null;
    }

    @Override
    public AtomicLong getPush2SlaveMaxOffset() {
        return pushed;
    }

    @Override
    public HARuntimeInfo getRuntimeInfo(long masterPutWhere) {
        return null;
    }

    @Override
    public WaitNotifyObject getWaitNotifyObject() {
        return waiters;
    }

    @Override
    public boolean isSlaveOK(long masterPutWhere) {
        return true;
    }
}
