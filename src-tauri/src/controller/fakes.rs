//! A desktop and a service that only write down what they are told, and an app on them.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use hangar_server::{
    HostedBy, MemoryView, PanelSnapshot, ProfileView, QueueView, RequestsView, ServiceView, StateWord,
};
use tokio::time::Instant;

use crate::controller::{Controller, Desktop, Event, Manners, Page, Service};
use crate::tray::{Entry, TrayModel};
use crate::trouble::Trouble;

/// What the fakes were told, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    Show(Page),
    Hide,
    Forget,
    Tray,
    Copy(String),
    Link(String),
    Logs,
    AtLogin(bool),
    Quit,
    Open,
    TurnOn,
    TurnOff,
    Drain,
    AtOnce,
}

pub(crate) type Record = Rc<RefCell<Vec<Told>>>;

pub(crate) struct FakeDesktop {
    record: Record,
    at_login: bool,
    pub(crate) login_works: bool,
    line: Rc<RefCell<String>>,
}

pub(crate) struct FakeService(Record);

impl Desktop for FakeDesktop {
    fn show_panel(&mut self, page: &Page) {
        self.record.borrow_mut().push(Told::Show(page.clone()));
    }
    fn hide_panel(&mut self) {
        self.record.borrow_mut().push(Told::Hide);
    }
    fn forget_page(&mut self) {
        self.record.borrow_mut().push(Told::Forget);
    }
    fn set_tray(&mut self, tray: &TrayModel) {
        if let Entry::Line(text) = &tray.entries[0] {
            self.line.replace(text.clone());
        }
        self.record.borrow_mut().push(Told::Tray);
    }
    fn copy_text(&mut self, text: &str) {
        self.record.borrow_mut().push(Told::Copy(text.to_owned()));
    }
    fn open_link(&mut self, link: &str) {
        self.record.borrow_mut().push(Told::Link(link.to_owned()));
    }
    fn open_logs(&mut self) {
        self.record.borrow_mut().push(Told::Logs);
    }
    fn launches_at_login(&self) -> bool {
        self.at_login
    }
    fn launch_at_login(&mut self, wanted: bool) {
        self.record.borrow_mut().push(Told::AtLogin(wanted));
        if self.login_works {
            self.at_login = wanted;
        }
    }
    fn quit(&mut self) {
        self.record.borrow_mut().push(Told::Quit);
    }
}

impl Service for FakeService {
    fn open(&mut self) {
        self.0.borrow_mut().push(Told::Open);
    }
    fn turn_on(&mut self) {
        self.0.borrow_mut().push(Told::TurnOn);
    }
    fn turn_off(&mut self) {
        self.0.borrow_mut().push(Told::TurnOff);
    }
    fn drain(&mut self) {
        self.0.borrow_mut().push(Told::Drain);
    }
    fn end_at_once(&mut self) {
        self.0.borrow_mut().push(Told::AtOnce);
    }
}

pub(crate) struct App {
    pub(crate) controller: Controller<FakeDesktop, FakeService>,
    pub(crate) record: Record,
    pub(crate) line: Rc<RefCell<String>>,
    now: Instant,
}

impl App {
    pub(crate) fn begin(manners: Manners) -> Self {
        Self::begin_where(manners, false)
    }

    pub(crate) fn begin_where(manners: Manners, at_login: bool) -> Self {
        let (record, line) = (Record::default(), Rc::default());
        let desktop =
            FakeDesktop { record: record.clone(), at_login, login_works: true, line: Rc::clone(&line) };
        let controller = Controller::begin(desktop, FakeService(record.clone()), manners);
        Self { controller, record, line, now: Instant::now() }
    }

    pub(crate) fn new() -> Self {
        Self::begin(Manners { hides_on_blur: false, opens_at_start: true })
    }

    pub(crate) fn serving() -> Self {
        let mut app = Self::new();
        app.hear(opened());
        app.hear(Event::Looked(Arc::new(snapshot())));
        app.told();
        app
    }

    /// Whether the app goes on.
    pub(crate) fn hear(&mut self, event: Event) -> bool {
        self.controller.handle(event, self.now).is_continue()
    }

    pub(crate) fn wait(&mut self, milliseconds: u64) {
        self.now += Duration::from_millis(milliseconds);
    }

    /// What was told since the last look, drawing of the tray left out.
    pub(crate) fn told(&mut self) -> Vec<Told> {
        self.record.borrow_mut().drain(..).filter(|told| *told != Told::Tray).collect()
    }
}

/// A service that waits for its first request.
pub(crate) fn snapshot() -> PanelSnapshot {
    PanelSnapshot {
        service: ServiceView {
            name: "hangar".to_owned(),
            version: "0".to_owned(),
            url: "http://127.0.0.1:4017".to_owned(),
            api_url: "http://127.0.0.1:4017/v1".to_owned(),
            started_at: 1,
            accepting: true,
            hosted_by: HostedBy::App,
        },
        profile: ProfileView {
            model_id: "gemma-test".to_owned(),
            demonstration: false,
            state: StateWord::Unloaded,
            since: 1,
            phase: None,
            phase_done: 0,
            phase_total: 0,
            context_window_tokens: 1,
            max_output_tokens: 1,
            model_type: None,
            parameters: None,
            load_ms: None,
            pid: None,
            last_error: None,
            last_failure_kind: None,
            cure: None,
            next_start_at: None,
            idle_unload_s: None,
        },
        profiles: Vec::new(),
        queue: QueueView { running: false, waiting: 0, waiting_since: Vec::new(), max_waiting: 0 },
        memory: MemoryView::default(),
        requests: RequestsView { answered: 0, failed: 0, refused: 0 },
    }
}

pub(crate) fn opened() -> Event {
    Event::Opened { url: "http://127.0.0.1:4017".to_owned() }
}

pub(crate) fn served() -> Page {
    Page::Served { url: "http://127.0.0.1:4017".to_owned() }
}

pub(crate) fn told_why(tries: u32) -> Page {
    Page::Bundled { trouble: trouble(), tries }
}

pub(crate) fn trouble() -> Trouble {
    Trouble { what: "taken".to_owned(), cure: None, holder_url: None }
}
