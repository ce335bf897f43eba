//! A client that sends exactly what it is told and reads exactly what comes.

use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

pub const PATIENCE: Duration = Duration::from_secs(20);

/// A whole answer.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub fn error(&self) -> (u16, String) {
        (self.status, self.json()["error"]["type"].as_str().unwrap().to_owned())
    }
}

/// One connection with one request on its way.
pub struct Call {
    stream: TcpStream,
    read: Vec<u8>,
}

impl Call {
    /// Sends these bytes.
    pub async fn send(port: u16, bytes: &[u8]) -> Self {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        stream.set_nodelay(true).unwrap();
        stream.write_all(bytes).await.unwrap();
        Self { stream, read: Vec::new() }
    }

    /// Reads until this text has come, and gives all that came so far.
    pub async fn until(&mut self, text: &str) -> String {
        loop {
            let so_far = String::from_utf8_lossy(&self.read).into_owned();
            if so_far.contains(text) {
                return so_far;
            }
            assert!(self.more().await, "the connection ended before {text:?}: {so_far}");
        }
    }

    /// Reads to the end.
    pub async fn answer(mut self) -> Answer {
        while self.more().await {}
        let text = String::from_utf8(self.read).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {text:?}"));
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let chunked = head.to_lowercase().contains("transfer-encoding: chunked");
        let body = if chunked { joined(body) } else { body.to_owned() };
        Answer { status, head: head.to_owned(), body }
    }

    async fn more(&mut self) -> bool {
        let mut piece = [0; 16 * 1024];
        let read =
            tokio::time::timeout(PATIENCE, self.stream.read(&mut piece)).await.expect("the answer hangs");
        // A cut connection ends the answer as well.
        let length = read.unwrap_or(0);
        self.read.extend_from_slice(&piece[..length]);
        length > 0
    }
}

/// A request with this server's own Host, a body, and no keep-alive.
pub fn request(port: u16, method: &str, path: &str, headers: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost:{port}\r\nconnection: close\r\n\
         content-length: {length}\r\n{headers}\r\n{body}"
    )
    .into_bytes()
}

fn joined(mut chunks: &str) -> String {
    let mut body = String::new();
    while let Some((size, rest)) = chunks.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap();
        body.push_str(&rest[..size]);
        chunks = &rest[size + 2..];
        if size == 0 {
            return body;
        }
    }
    // Cut before its end; what came is shown.
    body
}
