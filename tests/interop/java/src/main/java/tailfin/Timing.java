package tailfin;

import com.sun.management.OperatingSystemMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;

/** Wall and processor time since it was made. */
final class Timing {
    private static final double NANOS = 1e9;
    private static final OperatingSystemMXBean OS =
        (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

    private final long wall = System.nanoTime();
    private final long cpu = OS.getProcessCpuTime();

    double seconds() {
        return (System.nanoTime() - wall) / NANOS;
    }

    double cpuSeconds() {
        return (OS.getProcessCpuTime() - cpu) / NANOS;
    }

    /** Bytes in use after a collection. */
    static long heap() {
        System.gc();
        return Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
    }

    /** A field of /proc/self/status in bytes, such as VmRSS or RssAnon. */
    static long memory(String field) throws IOException {
        for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
            if (line.startsWith(field + ":")) {
                return Long.parseLong(line.replaceAll("\\D", "")) * 1024;
            }
        }
        return -1;
    }

    /** Open descriptors, without the one that counts them. */
    static long descriptors() throws IOException {
        try (Stream<Path> found = Files.list(Path.of("/proc/self/fd"))) {
            return found.count() - 1;
        }
    }
}
