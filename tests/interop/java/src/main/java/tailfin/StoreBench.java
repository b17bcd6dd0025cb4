package tailfin;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;
import org.apache.rocketmq.store.DefaultMessageStore;

/** Measures the official store inside one process: see README.md for the cases. */
public final class StoreBench {
    private StoreBench() {
    }

    public static void main(String[] argv) {
        int status = 0;
        try {
            Args args = new Args(argv);
            String name = args.word(0, "append, batch, syncflush, read or recover");
            Path dir = args.path(1, "DIR");
            if (name.equals("recover")) {
                recover(dir, args);
            } else {
                measure(name, dir, args);
            }
        } catch (IllegalArgumentException e) {
            System.err.println(e.getMessage());
            status = 2;
        } catch (Exception e) {
            e.printStackTrace();
            status = 1;
        }
        System.out.flush();
        Runtime.getRuntime().halt(status);
    }

    private static void measure(String name, Path dir, Args args) throws Exception {
        if (Files.exists(dir) && !name.equals("read")) {
            throw new IllegalArgumentException(dir + " exists; the benchmark wants to make and remove it");
        }
        boolean keep = args.has("keep") || Files.exists(dir);
        if (name.equals("syncflush")) {
            args.store.putIfAbsent("flushDiskType", "SYNC_FLUSH");
        }
        try (OpenStore open = OpenStore.open(dir, args.store)) {
            if (!open.loaded()) {
                throw new IllegalStateException("the store did not load");
            }
            AppendBench append = new AppendBench(open, args);
            switch (name) {
                case "append" -> System.out.println(append.append());
                case "batch" -> System.out.println(append.batch());
                case "syncflush" -> System.out.println(append.syncFlush());
                case "read" -> read(open, append, args);
                default -> throw new IllegalArgumentException("unknown benchmark " + name);
            }
        } finally {
            if (!keep) {
                remove(dir);
            }
        }
    }

    /** Fills the store first unless it has messages; every variant runs once for the compiler, then for the clock. */
    private static void read(OpenStore open, AppendBench append, Args args) throws Exception {
        if (open.store.getMaxPhyOffset() == 0) {
            System.out.println(append.append().put("note", "filling"));
        }
        ReadBench bench = new ReadBench(open.store, args);
        for (boolean decode : new boolean[] {false, true}) {
            bench.pass(decode);
            for (long run = args.number("runs", 2); run > 0; run--) {
                System.out.println(bench.pass(decode));
            }
        }
    }

    private static void recover(Path dir, Args args) throws Exception {
        boolean clean = !Files.exists(dir.resolve("abort"));
        OpenStore.prepare(dir);
        Timing timing = new Timing();
        DefaultMessageStore store = OpenStore.create(dir, args.store);
        boolean loaded = store.load();
        double loadSeconds = timing.seconds();
        if (loaded) {
            store.start();
        }
        double startedSeconds = timing.seconds();
        while (loaded && store.dispatchBehindBytes() > 0) {
            Thread.sleep(1);
        }
        System.out.println(new Json().put("bench", "recover").put("clean", clean).put("loaded", loaded)
            .put("loadSeconds", loadSeconds).put("startedSeconds", startedSeconds)
            .put("dispatchedSeconds", timing.seconds()).put("cpuSeconds", timing.cpuSeconds())
            .put("maxPhysicalOffset", store.getMaxPhyOffset())
            .put("rssBytes", Timing.memory("VmRSS")).put("rssAnonBytes", Timing.memory("RssAnon"))
            .put("descriptors", Timing.descriptors()).put("heapBytes", Timing.heap()));
        System.out.flush();
        // no shutdown: the directory stays as a kill leaves it, except that it was recovered
        if (clean && loaded) {
            store.shutdown();
        }
    }

    private static void remove(Path dir) throws Exception {
        List<Path> paths;
        try (Stream<Path> walk = Files.walk(dir)) {
            paths = walk.sorted(Comparator.reverseOrder()).toList();
        }
        for (Path path : paths) {
            Files.delete(path);
        }
    }
}
