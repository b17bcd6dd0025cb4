package tailfin;

import java.io.IOException;
import java.lang.reflect.Field;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Properties;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.rocketmq.common.BrokerConfig;
import org.apache.rocketmq.common.MixAll;
import org.apache.rocketmq.store.DefaultMessageStore;
import org.apache.rocketmq.store.config.MessageStoreConfig;
import org.apache.rocketmq.store.stats.BrokerStatsManager;
import org.rocksdb.NativeLibraryLoader;
import org.rocksdb.util.Environment;

/** The official store opened on one directory: recovered, started, and closed in order. */
final class OpenStore implements AutoCloseable {
    final DefaultMessageStore store;
    private final boolean loaded;

    private OpenStore(DefaultMessageStore store, boolean loaded) {
        this.store = store;
        this.loaded = loaded;
    }

    static OpenStore open(Path dir, Properties settings) throws Exception {
        prepare(dir);
        DefaultMessageStore store = create(dir, settings);
        boolean loaded = store.load();
        if (loaded) {
            store.start();
        }
        return new OpenStore(store, loaded);
    }

    /** Keeps the store's side files (the log of RocksDB) inside the directory; once in a process. */
    static void prepare(Path dir) throws Exception {
        Files.createDirectories(dir);
        System.setProperty("user.home", dir.toString());
        useUnpackedRocksDb();
    }

    static DefaultMessageStore create(Path dir, Properties settings) throws IOException {
        BrokerConfig broker = new BrokerConfig();
        return new DefaultMessageStore(config(dir, settings), new BrokerStatsManager(broker),
            (topic, queueId, logicOffset, tagsCode, storeTime, bitmap, properties) -> { },
            broker, new ConcurrentHashMap<>());
    }

    boolean loaded() {
        return loaded;
    }

    /** Waits until every appended record is in its consume queue and in the index. */
    void awaitDispatch() throws InterruptedException {
        while (store.dispatchBehindBytes() > 0) {
            Thread.sleep(1);
        }
    }

    @Override
    public void close() {
        if (!loaded) {
            // shutdown() would wait eight seconds for a dispatcher that never ran
            return;
        }
        // shutdown() sleeps three seconds for stragglers that a single process does not have
        Thread closing = Thread.currentThread();
        Thread waker = new Thread(() -> wakeFromSleep(closing));
        waker.setDaemon(true);
        waker.start();
        store.shutdown();
        waker.interrupt();
    }

    private static void wakeFromSleep(Thread closing) {
        try {
            while (!sleepsInShutdown(closing.getStackTrace())) {
                Thread.sleep(20);
            }
            closing.interrupt();
        } catch (InterruptedException e) {
            return;
        }
    }

    private static boolean sleepsInShutdown(StackTraceElement[] stack) {
        for (int i = 1; i < stack.length; i++) {
            if (stack[i].getMethodName().equals("shutdown")
                && stack[i].getClassName().equals(DefaultMessageStore.class.getName())) {
                return stack[i - 1].getMethodName().equals("sleep");
            }
        }
        return false;
    }

    private static MessageStoreConfig config(Path dir, Properties settings) {
        MessageStoreConfig config = new MessageStoreConfig();
        Properties known = MixAll.object2Properties(config);
        for (String key : settings.stringPropertyNames()) {
            if (!known.containsKey(key)) {
                throw new IllegalArgumentException("the store has no setting " + key);
            }
        }
        config.setStorePathRootDir(dir.toString());
        MixAll.properties2Object(settings, config);
        return config;
    }

    /** RocksDB would unpack its library into the temporary directory at every start, and halt() would leave it there. */
    private static void useUnpackedRocksDb() throws Exception {
        Path classes = Path.of(OpenStore.class.getProtectionDomain().getCodeSource().getLocation().toURI());
        Path library = classes.resolveSibling("native").resolve(Environment.getJniLibraryFileName("rocksdb"));
        if (Files.exists(library)) {
            System.load(library.toString());
            Field initialized = NativeLibraryLoader.class.getDeclaredField("initialized");
            initialized.setAccessible(true);
            initialized.setBoolean(null, true);
        }
    }
}
