package tailfin;
final class ProbeCommand { static void run(Args a) {} }
