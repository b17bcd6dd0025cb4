//! Bytes through a socket, plain or TLS.

use std::io::{self, ErrorKind, Read, Write};

use mio::net::TcpStream;
use rustls::Connection as Tls;

use super::outgoing::Outgoing;

pub enum Transport {
    Plain,
    Tls(Box<Tls>),
}

/// What a read found.
pub enum Got {
    /// So many bytes; `drained` when the socket has no more for now.
    Bytes {
        count: usize,
        drained: bool,
    },
    Nothing,
    /// The other one closed its side.
    End,
}

impl Transport {
    pub fn read(&mut self, socket: &mut TcpStream, buffer: &mut [u8]) -> io::Result<Got> {
        match self {
            Self::Plain => loop {
                match socket.read(buffer) {
                    Ok(0) => return Ok(Got::End),
                    // A short read of a stream is its end for now, says epoll(7); no need to ask again.
                    Ok(count) => return Ok(Got::Bytes { count, drained: count < buffer.len() }),
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(Got::Nothing),
                    Err(error) => return Err(error),
                }
            },
            Self::Tls(tls) => read_tls(tls, socket, buffer),
        }
    }

    /// Send as much as the socket takes; true when nothing is left.
    pub fn flush(&mut self, socket: &mut TcpStream, out: &mut Outgoing) -> io::Result<bool> {
        let written = match self {
            Self::Plain => out.write_with(|parts| retried(|| socket.write_vectored(parts))),
            Self::Tls(tls) => out
                .write_with(|parts| {
                    send_records(tls, socket)?;
                    if tls.is_handshaking() {
                        return Err(ErrorKind::WouldBlock.into());
                    }
                    tls.writer().write_vectored(parts)
                })
                .and_then(|()| send_records(tls, socket)),
        };
        match written {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Bytes of a TLS client that were read before it was known to be one.
    pub fn accept(&mut self, mut early: &[u8]) -> io::Result<()> {
        let Self::Tls(tls) = self else { return Ok(()) };
        while !early.is_empty() {
            tls.read_tls(&mut early)?;
            tls.process_new_packets().map_err(|error| io::Error::new(ErrorKind::InvalidData, error))?;
        }
        Ok(())
    }
}

fn read_tls(tls: &mut Tls, socket: &mut TcpStream, buffer: &mut [u8]) -> io::Result<Got> {
    loop {
        match tls.reader().read(buffer) {
            Ok(0) => return Ok(Got::End),
            Ok(count) => return Ok(Got::Bytes { count, drained: false }),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        match retried(|| tls.read_tls(socket)) {
            Ok(0) => return Ok(Got::End),
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(Got::Nothing),
            Err(error) => return Err(error),
        }
        if let Err(error) = tls.process_new_packets() {
            // The alert tells the other one why; whether it arrives does not matter any more.
            let _ = send_records(tls, socket);
            return Err(io::Error::new(ErrorKind::InvalidData, error));
        }
    }
}

fn send_records(tls: &mut Tls, socket: &mut TcpStream) -> io::Result<()> {
    while tls.wants_write() {
        retried(|| tls.write_tls(socket))?;
    }
    Ok(())
}

fn retried<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}
