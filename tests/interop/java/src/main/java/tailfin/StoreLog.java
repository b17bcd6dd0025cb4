package tailfin;

import java.io.FileOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import org.apache.rocketmq.logging.org.slf4j.ILoggerFactory;
import org.apache.rocketmq.logging.org.slf4j.IMarkerFactory;
import org.apache.rocketmq.logging.org.slf4j.Logger;
import org.apache.rocketmq.logging.org.slf4j.Marker;
import org.apache.rocketmq.logging.org.slf4j.event.Level;
import org.apache.rocketmq.logging.org.slf4j.helpers.BasicMarkerFactory;
import org.apache.rocketmq.logging.org.slf4j.helpers.LegacyAbstractLogger;
import org.apache.rocketmq.logging.org.slf4j.helpers.MessageFormatter;
import org.apache.rocketmq.logging.org.slf4j.helpers.NOPLogger;
import org.apache.rocketmq.logging.org.slf4j.helpers.NOPMDCAdapter;
import org.apache.rocketmq.logging.org.slf4j.spi.MDCAdapter;
import org.apache.rocketmq.logging.org.slf4j.spi.SLF4JServiceProvider;

/** Logging for the store: silent, or every line from INFO on into the file named by {@code -Dtailfin.log}. */
public final class StoreLog implements SLF4JServiceProvider {
    private ILoggerFactory factory = name -> NOPLogger.NOP_LOGGER;

    @Override
    public void initialize() {
        String file = System.getProperty("tailfin.log");
        if (file == null) {
            return;
        }
        try {
            PrintStream out = new PrintStream(new FileOutputStream(file, true), true);
            factory = name -> new Lines(name, out);
        } catch (IOException e) {
            throw new IllegalStateException("cannot write the log " + file, e);
        }
    }

    @Override
    public ILoggerFactory getLoggerFactory() {
        return factory;
    }

    @Override
    public IMarkerFactory getMarkerFactory() {
        return new BasicMarkerFactory();
    }

    @Override
    public MDCAdapter getMDCAdapter() {
        return new NOPMDCAdapter();
    }

    @Override
    public String getRequestedApiVersion() {
        return "2.0.99";
    }

    private static final class Lines extends LegacyAbstractLogger {
        private static final long serialVersionUID = 1;
        private final transient PrintStream out;

        Lines(String name, PrintStream out) {
            this.name = name;
            this.out = out;
        }

        @Override
        protected String getFullyQualifiedCallerName() {
            return Logger.class.getName();
        }

        @Override
        protected void handleNormalizedLoggingCall(Level level, Marker marker, String pattern, Object[] args, Throwable error) {
            String text = MessageFormatter.basicArrayFormat(pattern, args);
            synchronized (out) {
                out.println(System.currentTimeMillis() + " " + level + " " + name + " " + text);
                if (error != null) {
                    error.printStackTrace(out);
                }
            }
        }

        @Override
        public boolean isTraceEnabled() {
            return false;
        }

        @Override
        public boolean isDebugEnabled() {
            return false;
        }

        @Override
        public boolean isInfoEnabled() {
            return true;
        }

        @Override
        public boolean isWarnEnabled() {
            return true;
        }

        @Override
        public boolean isErrorEnabled() {
            return true;
        }
    }
}
