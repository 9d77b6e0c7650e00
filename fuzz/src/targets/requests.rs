//! Requests to the server of `crfkit watch`.

use crate::{Target, mutate};
use crfkit_report::http::{Response, reply};

const PORT: u16 = 8080;

pub const REQUEST: Target = Target {
    name: "request",
    promise: "a request is answered in one whole reply, and with data only if it is a GET that names this computer",
    run: |data| {
        let Ok(reply) = reply(data, PORT, |path| Response::text(200, path)) else { return };
        let end = reply.windows(4).position(|four| four == b"\r\n\r\n").expect("a head ends");
        let (head, body) = (std::str::from_utf8(&reply[..end]).expect("a head is text"), &reply[end + 4..]);
        assert!(head.ends_with("Cross-Origin-Resource-Policy: same-origin"), "{head}");
        assert_eq!(head.lines().count(), 8, "{head}");
        assert!(head.contains(&format!("Content-Length: {}\r\n", body.len())), "{head}");
        if head.starts_with("HTTP/1.1 200 ") {
            let request = String::from_utf8_lossy(data);
            let hosts: Vec<String> = request
                .lines()
                .filter_map(|line| line.split_once(':'))
                .filter(|(name, _)| name.eq_ignore_ascii_case("host"))
                .map(|(_, host)| host.trim().to_ascii_lowercase())
                .collect();
            let named = |host: &String| ["127.0.0.1:8080", "localhost:8080"].contains(&&**host);
            assert!(request.starts_with("GET ") && hosts.iter().any(named), "{request:?}");
        }
    },
    seeds: || {
        vec![
            b"GET / HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nAccept: */*\r\n\r\n".to_vec(),
            b"GET /data HTTP/1.0\nhost: LOCALHOST:8080\n\n".to_vec(),
            b"POST /data HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 3\r\n\r\nabc".to_vec(),
        ]
    },
    mutate: mutate::bytes,
};
