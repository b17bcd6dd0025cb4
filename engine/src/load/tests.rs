//! Runs against the server that says yes to everything, and against worse ones.

use std::io::Write;
use std::net::TcpListener;
use std::thread;
use std::time::Duration;

use super::options::tests::options;
use super::{LimitServer, LoadError, Mode, Options, Report, run};

fn serve() -> (LimitServer, tempfile::TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let server = LimitServer::start("127.0.0.1:0".parse().unwrap(), directory.path()).unwrap();
    (server, directory)
}

fn go(options: &Options) -> super::Result<Report> {
    run(options, &mut |_| true)
}

#[test]
fn a_count_is_sent_exactly() {
    let (server, _directory) = serve();
    for binary in [false, true] {
        let options = Options { address: server.address(), binary, threads: 2, ..options() };
        let report = go(&options).unwrap();
        assert_eq!((report.tally.messages, report.tally.requests), (1000, 1000));
        assert_eq!(report.tally.bytes, 128_000);
        assert_eq!(report.tally.latency.len(), 1000);
        assert!(report.tally.refused.is_empty() && report.seconds > 0.0);
    }
}

#[test]
fn a_batch_counts_as_its_messages() {
    let (server, _directory) = serve();
    let options = Options { address: server.address(), batch: 32, count: Some(3200), ..options() };
    let report = go(&options).unwrap();
    assert_eq!((report.tally.messages, report.tally.requests), (3200, 100));
}

#[test]
fn a_rate_is_kept_and_a_listener_ends_the_run() {
    let (server, _directory) = serve();
    let address = server.address();
    let paced = Options {
        address,
        rate: Some(2000.0),
        duration: Some(Duration::from_millis(500)),
        count: None,
        ..options()
    };
    let report = go(&paced).unwrap();
    // Those that were due inside of the window, whenever they were answered, and no others.
    assert!(report.tally.messages > 0);
    assert!(report.tally.messages <= (2000.0 * report.seconds) as u64 + 1, "{}", report.tally.messages);
    let endless = Options { address, count: None, duration: Some(Duration::from_hours(1)), ..options() };
    let mut told = 0;
    let report = run(&endless, &mut |_| {
        told += 1;
        told < 3
    });
    assert!(report.unwrap().interrupted);
}

#[test]
fn topics_are_created_once_each() {
    let (server, _directory) = serve();
    let options =
        Options { address: server.address(), mode: Mode::Create, topics: 50, count: Some(50), ..options() };
    assert_eq!(go(&options).unwrap().tally.messages, 50);
}

#[test]
fn a_server_that_is_not_there_is_named() {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let error = go(&Options { address, ..options() }).err().unwrap();
    assert!(matches!(error, LoadError::Connect { .. }));
    assert!(error.to_string().contains(&address.to_string()));
}

#[test]
fn a_peer_that_is_no_broker_or_hangs_up_is_an_error() {
    for (said, expected) in [(&b"HTTP/1.1 400 Bad Request\r\n\r\n"[..], "no RocketMQ frame"), (b"", "closed")]
    {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = thread::spawn(move || {
            let kept: Vec<_> = (0..3).map(|_| listener.accept().unwrap().0).collect();
            for mut stream in kept {
                let _ = stream.write_all(said);
            }
        });
        let error = go(&Options { address, ..options() }).err().unwrap().to_string();
        server.join().unwrap();
        assert!(error.contains(expected) || error.contains("lost the connection"), "{error}");
    }
}

#[test]
fn a_silent_server_is_not_waited_for_without_end() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let error = go(&Options { address, patience: Duration::from_millis(100), ..options() }).err().unwrap();
    assert!(matches!(error, LoadError::Silent { .. }), "{error}");
}
