package tailfin;

/** Drives the official store on a directory: see README.md for the commands. */
public final class StoreTool {
    private static final int REFUSED = 3;

    private StoreTool() {
    }

    public static void main(String[] argv) {
        int status = 0;
        try {
            status = run(new Args(argv)) ? 0 : REFUSED;
        } catch (IllegalArgumentException e) {
            System.err.println(e.getMessage());
            status = 2;
        } catch (Exception e) {
            e.printStackTrace();
            status = 1;
        }
        // the store leaves threads behind that are no daemons
        System.out.flush();
        Runtime.getRuntime().halt(status);
    }

    private static boolean run(Args args) throws Exception {
        switch (args.word(0, "write, read, rebuild or probe")) {
            case "write" -> WriteCommand.run(args);
            case "read" -> {
                return ReadCommand.run(args);
            }
            case "rebuild" -> {
                return rebuild(args);
            }
            case "probe" -> ProbeCommand.run(args);
            default -> throw new IllegalArgumentException("unknown command " + args.word(0, ""));
        }
        return true;
    }

    /** Opens, waits until the queues and the index have caught up with the log, and closes in order. */
    private static boolean rebuild(Args args) throws Exception {
        // by default only the last ten log files are gone through, and the rest of the queues stays empty
        args.store.putIfAbsent("commitLogRecoverMaxNum", Integer.toString(Integer.MAX_VALUE));
        try (OpenStore open = OpenStore.open(args.path(1, "DIR"), args.store)) {
            if (open.loaded()) {
                open.awaitDispatch();
            }
            return open.loaded();
        }
    }
}
