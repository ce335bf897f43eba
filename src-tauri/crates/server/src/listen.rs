//! Connections: taken in bounded number, each with a time limit for the head of its request.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio_io_timeout::TimeoutStream;
use tower::ServiceExt;

/// Open connections at once; a program that the desktop starts may have 256 files open on macOS.
const MOST_CONNECTIONS: usize = 160;
/// For the head of a request, and for the next one on a connection that is kept; longer than clients keep them.
const HEAD_LIMIT: Duration = Duration::from_secs(30);
/// For a client to take any of what it asked for; one that reads nothing so long does not hold its place.
const WRITE_LIMIT: Duration = Duration::from_secs(20);
/// Pause after the system refuses a connection, which it does when there are too many files.
const REFUSED_PAUSE: Duration = Duration::from_millis(200);

/// The limits of all listeners together.
#[derive(Clone, Debug)]
pub(crate) struct Doorway {
    places: Arc<Semaphore>,
    head_limit: Duration,
    write_limit: Duration,
}

impl Doorway {
    pub(crate) fn new() -> Self {
        Self {
            places: Arc::new(Semaphore::new(MOST_CONNECTIONS)),
            head_limit: HEAD_LIMIT,
            write_limit: WRITE_LIMIT,
        }
    }

    /// Answers on one listener until `closing` is true; returns once the last connection has ended in order.
    pub(crate) async fn serve(
        self,
        listener: TcpListener,
        router: Router,
        mut closing: watch::Receiver<bool>,
    ) {
        let graceful = GracefulShutdown::new();
        loop {
            let taken = tokio::select! {
                taken = self.take(&listener) => taken,
                _ = closing.wait_for(|closing| *closing) => break,
            };
            let Some((stream, peer, place)) = taken else { continue };
            let connection = self.connection(stream, peer, router.clone());
            let connection = graceful.watch(connection);
            tokio::spawn(async move {
                if let Err(error) = connection.await {
                    tracing::debug!(%error, "a connection ended early");
                }
                drop(place);
            });
        }
        drop(listener);
        graceful.shutdown().await;
    }

    /// The next connection, once there is a place for it.
    async fn take(&self, listener: &TcpListener) -> Option<(TcpStream, SocketAddr, OwnedSemaphorePermit)> {
        let place = Arc::clone(&self.places).acquire_owned().await.ok()?;
        match listener.accept().await {
            Ok((stream, peer)) => Some((stream, peer, place)),
            Err(error) => {
                tracing::debug!(%error, "a connection was not taken");
                tokio::time::sleep(REFUSED_PAUSE).await;
                None
            }
        }
    }

    fn connection(
        &self,
        stream: TcpStream,
        peer: SocketAddr,
        router: Router,
    ) -> impl hyper_util::server::graceful::GracefulConnection<Error = hyper::Error> + Send + use<> {
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "a connection keeps its small delays");
        }
        let service = service_fn(move |mut request: hyper::Request<Incoming>| {
            request.extensions_mut().insert(ConnectInfo(peer));
            let answered = router.clone().oneshot(request.map(Body::new));
            async move {
                let Ok(response) = answered.await;
                Ok::<_, Infallible>(response)
            }
        });
        let mut stream = TimeoutStream::new(stream);
        stream.set_write_timeout(Some(self.write_limit));
        http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.head_limit)
            .serve_connection(TokioIo::new(Box::pin(stream)), service)
    }
}

#[cfg(test)]
mod tests {
    use axum::routing::get;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    /// More than the system keeps for a client that does not read.
    const LARGE_BYTES: usize = 64 * 1024 * 1024;

    async fn open(doorway: Doorway) -> (SocketAddr, watch::Sender<bool>, tokio::task::JoinHandle<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (closing, closed) = watch::channel(false);
        let large = get(async || "x".repeat(LARGE_BYTES));
        let router = Router::new().route("/", get(async || "here")).route("/large", large);
        (address, closing, tokio::spawn(doorway.serve(listener, router, closed)))
    }

    async fn ask(address: SocketAddr) -> String {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(b"GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n").await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    #[tokio::test]
    async fn heads_that_never_end_take_every_place_for_their_time_limit_only() {
        let places = Arc::new(Semaphore::new(2));
        let (address, closing, serving) =
            open(Doorway { places, head_limit: Duration::from_millis(200), write_limit: WRITE_LIMIT }).await;
        let mut halves = Vec::new();
        for _ in 0..6 {
            let mut half = TcpStream::connect(address).await.unwrap();
            half.write_all(b"GET / HTTP/1.1\r\nhost: a").await.unwrap();
            halves.push(half);
        }
        assert!(ask(address).await.ends_with("here"));
        closing.send_replace(true);
        serving.await.unwrap();
    }

    #[tokio::test]
    async fn answers_that_nobody_reads_keep_their_places_for_a_time_only() {
        let places = Arc::new(Semaphore::new(2));
        let write_limit = Duration::from_millis(200);
        let (address, closing, serving) = open(Doorway { places, head_limit: HEAD_LIMIT, write_limit }).await;
        let mut unread = Vec::new();
        for _ in 0..4 {
            let mut stream = TcpStream::connect(address).await.unwrap();
            stream.write_all(b"GET /large HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
            unread.push(stream);
        }
        assert!(ask(address).await.ends_with("here"));
        closing.send_replace(true);
        serving.await.unwrap();
    }

    #[tokio::test]
    async fn closing_waits_for_no_connection_that_asks_for_nothing() {
        let (address, closing, serving) = open(Doorway::new()).await;
        assert!(ask(address).await.ends_with("here"));
        let idle = TcpStream::connect(address).await.unwrap();
        tokio::task::yield_now().await;
        closing.send_replace(true);
        tokio::time::timeout(Duration::from_secs(5), serving).await.expect("it waits").unwrap();
        drop(idle);
    }
}
