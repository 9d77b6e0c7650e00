//! A minimal web server for one page on one computer: GET only, one answer per connection.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The largest request. Those of browsers have a few hundred bytes.
const REQUEST_BYTES: u64 = 16 * 1024;
/// Time for a whole request, and again for a whole answer. Browsers open connections in reserve and leave them idle; whoever sends
/// or takes a byte now and then must not hold one for ever either.
const PATIENCE: Duration = Duration::from_secs(10);
/// Time to wait after a connection that could not be taken.
const PAUSE: Duration = Duration::from_millis(20);
/// The largest number of connections at a time.
const CONNECTIONS: usize = 32;

/// An answer.
pub struct Response {
    /// Status code.
    pub status: u16,
    /// Content type.
    pub kind: &'static str,
    /// Content.
    pub body: Vec<u8>,
}

impl Response {
    /// An answer in plain text.
    pub fn text(status: u16, text: &str) -> Self {
        Response { status, kind: "text/plain; charset=utf-8", body: text.as_bytes().to_vec() }
    }
}

/// Answers requests to this port for ever; `answer` maps a path to a response.
pub fn serve(listener: &TcpListener, port: u16, answer: impl Fn(&str) -> Response + Send + Sync + 'static) {
    serve_within(listener, port, PATIENCE, answer);
}

fn serve_within(
    listener: &TcpListener,
    port: u16,
    patience: Duration,
    answer: impl Fn(&str) -> Response + Send + Sync + 'static,
) {
    let answer = Arc::new(answer);
    for connection in listener.incoming() {
        let Ok(connection) = connection else {
            // It is gone already, or this process has too many open files, which does not change by itself at once.
            std::thread::sleep(PAUSE);
            continue;
        };
        // Those beyond wait until another one ends, which it does for want of patience at the latest.
        while Arc::strong_count(&answer) > CONNECTIONS {
            std::thread::sleep(PAUSE);
        }
        let answer = answer.clone();
        // A browser that closes the connection is not an error of the server. Where no thread can be had, the connection is closed.
        let thread = std::thread::Builder::new();
        drop(thread.spawn(move || drop(converse(&connection, port, patience, &*answer))));
    }
}

/// A connection until a moment: whatever is asked of it afterwards fails. A timeout of the socket alone would start anew with every
/// byte.
struct Until<'a> {
    connection: &'a TcpStream,
    end: Instant,
}

impl<'a> Until<'a> {
    fn new(connection: &'a TcpStream, patience: Duration) -> Self {
        Until { connection, end: Instant::now() + patience }
    }

    /// The time that is left, if any.
    fn left(&self) -> std::io::Result<Option<Duration>> {
        match self.end.saturating_duration_since(Instant::now()) {
            Duration::ZERO => Err(std::io::ErrorKind::TimedOut.into()),
            left => Ok(Some(left)),
        }
    }
}

impl Read for Until<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        self.connection.set_read_timeout(self.left()?)?;
        self.connection.read(bytes)
    }
}

impl Write for Until<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.connection.set_write_timeout(self.left()?)?;
        self.connection.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.connection.flush()
    }
}

fn converse(
    connection: &TcpStream,
    port: u16,
    patience: Duration,
    answer: impl Fn(&str) -> Response,
) -> std::io::Result<()> {
    let reply = reply(Until::new(connection, patience), port, answer)?;
    Until::new(connection, patience).write_all(&reply)
}

/// Reads a request to a server at this port, and makes the whole reply, head and body. It is an error if the request is not text, or if it
/// cannot be read.
pub fn reply(request: impl Read, port: u16, answer: impl Fn(&str) -> Response) -> std::io::Result<Vec<u8>> {
    let response = match Request::read(request)? {
        None => Response::text(400, "not a valid HTTP request"),
        Some(request) => match request.refusal(port) {
            Some(refusal) => refusal,
            None => answer(&request.path),
        },
    };
    let Response { status, kind, body } = response;
    let head = format!(
        "HTTP/1.1 {status} {}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\
         Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\n\
         Cross-Origin-Resource-Policy: same-origin\r\n\r\n",
        reason(status),
        body.len()
    );
    Ok([head.into_bytes(), body].concat())
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        _ => "Internal Server Error",
    }
}

/// The parts of a request that matter.
#[derive(Debug, PartialEq)]
struct Request {
    method: String,
    path: String,
    host: String,
}

impl Request {
    /// Reads up to the empty line; `None` if it is not HTTP.
    fn read(connection: impl Read) -> std::io::Result<Option<Request>> {
        let mut lines = BufReader::new(connection.take(REQUEST_BYTES)).lines();
        let Some(first) = lines.next().transpose()? else { return Ok(None) };
        let mut hosts = Vec::new();
        loop {
            let Some(line) = lines.next().transpose()? else { return Ok(None) };
            if line.is_empty() {
                break;
            }
            match line.split_once(':') {
                Some((name, value)) if name.eq_ignore_ascii_case("host") => {
                    hosts.push(value.trim().to_owned())
                }
                _ => {}
            }
        }
        let mut words = first.split(' ');
        let (Some(method), Some(path), Some(version), [host]) =
            (words.next(), words.next(), words.next(), &hosts[..])
        else {
            return Ok(None);
        };
        Ok(version.starts_with("HTTP/1.").then(|| Request {
            method: method.into(),
            path: path.into(),
            host: host.clone(),
        }))
    }

    /// The answer to a request that is rejected. A page on the Internet can make a browser call this computer by a name of the page's own
    /// (DNS rebinding) and could then read the answer. So only this computer's own names are accepted.
    fn refusal(&self, port: u16) -> Option<Response> {
        let names = [format!("127.0.0.1:{port}"), format!("localhost:{port}")];
        let without_port = port == 80 && ["127.0.0.1", "localhost"].contains(&&*self.host);
        if !without_port && !names.iter().any(|name| name.eq_ignore_ascii_case(&self.host)) {
            return Some(Response::text(403, "this server answers to 127.0.0.1 and localhost only"));
        }
        (self.method != "GET").then(|| Response::text(405, "only GET requests are answered"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(request: &str, port: u16) -> u16 {
        let answer = |_: &str| Response::text(200, "");
        let reply = String::from_utf8(reply(request.as_bytes(), port, answer).unwrap()).unwrap();
        reply.split(' ').nth(1).unwrap().parse().unwrap()
    }

    #[test]
    fn only_this_computers_names_are_answered() {
        for (host, expected) in [
            ("Host: 127.0.0.1:8080\r\n", 200),
            ("host: LOCALHOST:8080\r\n", 200),
            ("Host: 127.0.0.1\r\n", 403),
            ("Host: 127.0.0.1:80\r\n", 403),
            ("Host: evil.example:8080\r\n", 403),
            ("Host: 127.0.0.1:8080.evil.example\r\n", 403),
            ("Host:\r\n", 403),
            ("", 400),
            ("Host: evil.example\r\nHost: 127.0.0.1:8080\r\n", 400),
        ] {
            assert_eq!(status(&format!("GET / HTTP/1.1\r\n{host}\r\n"), 8080), expected, "{host:?}");
        }
        assert_eq!(status("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", 80), 200);
        assert_eq!(status("POST / HTTP/1.1\r\nHost: localhost:8080\r\n\r\n", 8080), 405);
    }

    #[test]
    fn what_is_no_request_is_rejected() {
        for text in [
            "",
            "\r\n\r\n",
            "GET /",
            "GET / HTTP/1.1\r\nHost: localhost:1\r\n",
            "GET / FTP\r\nHost: localhost:1\r\n\r\n",
        ] {
            assert_eq!(status(text, 1), 400, "{text:?}");
        }
        let endless = format!("GET / HTTP/1.1\r\n{}", "X: y\r\n".repeat(10_000));
        assert_eq!(status(&endless, 1), 400);
    }

    /// A server with little patience; what its conversation with `client` came to.
    fn conversation(body: usize, client: impl FnOnce(TcpStream)) -> std::io::Result<()> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = std::thread::spawn(move || {
            let answer = |_: &str| Response { status: 200, kind: "text/plain", body: vec![b'x'; body] };
            converse(&listener.accept().unwrap().0, address.port(), Duration::from_millis(200), answer)
        });
        client(TcpStream::connect(address).unwrap());
        server.join().unwrap()
    }

    /// Bytes that a slow client would send or take: a limit for each of them alone would let it go on for 20 seconds.
    const DRIPS: usize = 1000;

    #[test]
    fn a_request_that_drips_ends() {
        let mut sent = 0;
        let outcome = conversation(0, |mut client| {
            while sent < DRIPS && client.write_all(b"G").is_ok() {
                sent += 1;
                std::thread::sleep(PAUSE);
            }
        });
        assert!(outcome.is_err());
        assert!(sent < DRIPS / 2, "the server listened to {sent} bytes");
    }

    #[test]
    fn an_answer_that_is_taken_in_drips_ends() {
        let mut taken = 0;
        let outcome = conversation(100 << 20, |mut client| {
            let host = format!("127.0.0.1:{}", client.peer_addr().unwrap().port());
            client.write_all(format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes()).unwrap();
            let mut bytes = [0; 4096];
            // What is on its way when the server gives up still arrives.
            for _ in 0..DRIPS / 2 {
                taken += client.read(&mut bytes).unwrap_or(0);
                std::thread::sleep(PAUSE / 20);
            }
        });
        assert!(outcome.is_err());
        assert!(taken < 100 << 20, "all was sent");
    }

    #[test]
    fn a_request_behind_many_idle_connections_is_answered() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let answer = |_: &str| Response::text(200, "answered");
        std::thread::spawn(move || {
            serve_within(&listener, address.port(), Duration::from_millis(200), answer)
        });
        let idle: Vec<_> = (0..2 * CONNECTIONS).map(|_| TcpStream::connect(address).unwrap()).collect();
        let mut client = TcpStream::connect(address).unwrap();
        client.write_all(format!("GET / HTTP/1.1\r\nHost: {address}\r\n\r\n").as_bytes()).unwrap();
        let mut text = String::new();
        client.read_to_string(&mut text).unwrap();
        assert!(text.ends_with("answered"), "{text}");
        drop(idle);
    }

    #[test]
    fn an_ordinary_request_is_answered() {
        let mut text = String::new();
        let outcome = conversation(3, |mut client| {
            let host = format!("127.0.0.1:{}", client.peer_addr().unwrap().port());
            client.write_all(format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes()).unwrap();
            client.read_to_string(&mut text).unwrap();
        });
        outcome.unwrap();
        assert!(text.starts_with("HTTP/1.1 200 OK\r\n") && text.ends_with("\r\n\r\nxxx"), "{text}");
    }
}
