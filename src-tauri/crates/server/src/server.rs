//! The server itself: routes, the one list of what stands before them, and its life from listen to end.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::{HeaderName, HeaderValue, header};
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::{get, post};
use hangar_config::Settings;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tower::ServiceBuilder;
use tower_http::set_header::SetResponseHeaderLayer;

use crate::app::{App, unix_seconds};
use crate::chat;
use crate::drones::{self, Drones};
use crate::flight::{Door, Flights};
use crate::guard::{Policy, guard};
use crate::listen::Doorway;
use crate::log::log;
use crate::media::Decoder;
use crate::panel::Panel;
use crate::receipts::Receipts;
use crate::routes::{self, admin, events, metrics, nothing_here, page, receipts, state};
use crate::served::{Roster, Workshop};
use crate::switch::Switch;
use crate::transcribe;
use crate::views::{HostedBy, PanelSnapshot};

/// Longest time that running answers are given to end when the service ends.
const DRAIN_LIMIT: Duration = Duration::from_secs(10);
/// Silence after which a stream says that it is still there; clients count it as death after minutes.
const STILL_HERE_AFTER: Duration = Duration::from_secs(9);
/// Time for the last bytes of the last answers to leave.
const CLOSE_LIMIT: Duration = Duration::from_secs(1);

const CONTENT_SECURITY_POLICY: &str =
    "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'; object-src 'none'";

/// Whether the service is to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wish {
    /// Go on.
    Run,
    /// Take nothing new, let running answers end for a while, then end.
    Drain,
    /// End now.
    AtOnce,
}

/// A server that is put together; see [`Server::builder`].
#[derive(Debug)]
pub struct Server {
    app: App,
    page_dir: Option<PathBuf>,
}

/// Puts a [`Server`] together.
#[derive(Debug)]
pub struct ServerBuilder {
    settings: Settings,
    workshop: Arc<dyn Workshop>,
    port: u16,
    page_dir: Option<PathBuf>,
    hosted_by: HostedBy,
    still_here_after: Duration,
}

impl Server {
    /// Begins a server with what it cannot do without.
    pub fn builder(settings: Settings, workshop: Arc<dyn Workshop>) -> ServerBuilder {
        ServerBuilder {
            settings,
            workshop,
            port: crate::FIRST_PORT,
            page_dir: None,
            hosted_by: HostedBy::default(),
            still_here_after: STILL_HERE_AFTER,
        }
    }

    /// Turns the service off and on.
    pub fn switch(&self) -> Switch {
        self.app.switch.clone()
    }

    /// Follows what the page shows.
    pub fn panel(&self) -> watch::Receiver<Arc<PanelSnapshot>> {
        self.app.panel.clone()
    }

    /// All routes with everything that stands before them; admin routes need a peer address
    /// (`axum::extract::ConnectInfo<SocketAddr>` among the request's extensions).
    pub fn router(&self) -> Router {
        // From the outside in: the guard comes before anything that looks at a request's body or path.
        let policy = Arc::new(Policy::new(self.app.port, &self.app.settings.server));
        let before_every_route = ServiceBuilder::new()
            .layer(fixed_header(header::X_CONTENT_TYPE_OPTIONS, "nosniff"))
            .layer(fixed_header(HeaderName::from_static("cross-origin-resource-policy"), "same-origin"))
            .layer(fixed_header(header::REFERRER_POLICY, "no-referrer"))
            .layer(fixed_header(header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY))
            .layer(default_header(header::CACHE_CONTROL, "no-cache"))
            .layer(from_fn(log))
            .layer(from_fn_with_state(policy, guard));
        Router::new()
            .route(routes::HEALTH, get(state::health))
            .route(routes::READY, get(state::ready))
            .route(routes::MODELS, get(state::models))
            .route("/v1/models/{*id}", get(state::model))
            .route(routes::CHAT, post(chat::complete))
            .route(routes::TRANSCRIPTIONS, post(transcribe::transcribe))
            .route(routes::TRANSLATIONS, post(transcribe::translate))
            .route(routes::METRICS, get(metrics::metrics))
            .route("/admin/requests/{id}", get(receipts::one))
            .merge(drones::routes())
            .merge(of_one_profile(""))
            .merge(of_one_profile("/profiles/{profile}"))
            .route(routes::START_SERVICE, post(admin::start_service))
            .route(routes::STOP_SERVICE, post(admin::stop_service))
            .route(routes::EVENTS, get(events::follow))
            .method_not_allowed_fallback(nothing_here)
            .fallback_service(page::page(self.page_dir.clone()))
            .layer(before_every_route)
            .with_state(self.app.clone())
    }

    /// Serves until the wish changes, then ends in order: nothing new is taken, running answers get a while,
    /// the worker's process is reaped, and the connections are closed. A dropped sender means the end.
    pub async fn serve(self, listeners: Vec<TcpListener>, mut wish: watch::Receiver<Wish>) {
        let closing = watch::Sender::new(false);
        let mut serving = JoinSet::new();
        let doorway = Doorway::new();
        for listener in listeners {
            serving.spawn(doorway.clone().serve(listener, self.router(), closing.subscribe()));
        }
        self.app.roster.load_the_eager();
        drop(wish.wait_for(|wish| *wish != Wish::Run).await);
        self.app.flights.set(Door::Ending);
        tracing::info!("shutting down");
        tokio::select! {
            () = self.app.flights.landed() => {}
            () = tokio::time::sleep(DRAIN_LIMIT) => tracing::warn!("answers still running are ended"),
            _ = wish.wait_for(|wish| *wish == Wish::AtOnce) => {}
        }
        self.app.roster.shutdown().await;
        closing.send_replace(true);
        let closed = async { while serving.join_next().await.is_some() {} };
        if tokio::time::timeout(CLOSE_LIMIT, closed).await.is_err() {
            tracing::debug!("connections still open are cut");
        }
    }
}

impl ServerBuilder {
    /// The port that Host and Origin must name.
    #[must_use]
    pub fn port(mut self, port: u16) -> Self {
        self.port = port;
        self
    }

    /// The folder of the built page.
    #[must_use]
    pub fn page_dir(mut self, folder: impl Into<PathBuf>) -> Self {
        self.page_dir = Some(folder.into());
        self
    }

    /// What runs the server.
    #[must_use]
    pub fn hosted_by(mut self, host: HostedBy) -> Self {
        self.hosted_by = host;
        self
    }

    /// Silence after which a stream says that it is still there.
    #[must_use]
    pub fn still_here_after(mut self, silence: Duration) -> Self {
        self.still_here_after = silence;
        self
    }

    /// The server; needs a tokio runtime.
    pub fn build(self) -> Server {
        let settings = Arc::new(self.settings);
        let flights = Flights::new();
        let started_at = unix_seconds();
        let roster = Roster::new(&settings.profiles, &self.workshop);
        let panel =
            Panel::new(&settings, self.port, started_at, self.hosted_by, roster.clone(), flights.clone());
        let app = App {
            switch: Switch::new(flights.clone(), roster.clone()),
            panel: panel.watch(),
            drones: Drones::new(&settings.profiles.default_profile().sessions),
            settings,
            roster,
            receipts: Receipts::default(),
            flights,
            decoder: Decoder::default(),
            port: self.port,
            started_at,
            still_here_after: self.still_here_after,
        };
        Server { app, page_dir: self.page_dir }
    }
}

/// The routes that speak of one profile.
fn of_one_profile(before: &str) -> Router<App> {
    Router::new()
        .route(&format!("{before}{}", routes::STATS), get(state::stats))
        .route(&format!("{before}{}", routes::REQUESTS), get(receipts::list))
        .route(&format!("{before}{}", routes::UNLOAD), post(admin::unload))
        .route(&format!("{before}{}", routes::RESTART), post(admin::restart))
}

fn fixed_header(name: HeaderName, value: &'static str) -> SetResponseHeaderLayer<HeaderValue> {
    SetResponseHeaderLayer::overriding(name, HeaderValue::from_static(value))
}

fn default_header(name: HeaderName, value: &'static str) -> SetResponseHeaderLayer<HeaderValue> {
    SetResponseHeaderLayer::if_not_present(name, HeaderValue::from_static(value))
}
