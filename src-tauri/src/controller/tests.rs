//! Tests of the module above.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use hangar_server::{MemoryView, ProfileView, QueueView, RequestsView, ServiceView, StateWord};

use super::*;
use crate::tray::Entry;

/// What the fakes were told, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Told {
    Show(Page),
    Hide,
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

type Record = Rc<RefCell<Vec<Told>>>;

struct FakeDesktop {
    record: Record,
    at_login: bool,
    login_works: bool,
    line: Rc<RefCell<String>>,
}

struct FakeService(Record);

impl Desktop for FakeDesktop {
    fn show_panel(&mut self, page: &Page) {
        self.record.borrow_mut().push(Told::Show(page.clone()));
    }
    fn hide_panel(&mut self) {
        self.record.borrow_mut().push(Told::Hide);
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

struct App {
    controller: Controller<FakeDesktop, FakeService>,
    record: Record,
    line: Rc<RefCell<String>>,
    now: Instant,
}

impl App {
    fn begin(manners: Manners) -> Self {
        let (record, line) = (Record::default(), Rc::default());
        let desktop = FakeDesktop {
            record: record.clone(),
            at_login: false,
            login_works: true,
            line: Rc::clone(&line),
        };
        let controller = Controller::begin(desktop, FakeService(record.clone()), manners);
        Self { controller, record, line, now: Instant::now() }
    }

    fn new() -> Self {
        Self::begin(Manners { hides_on_blur: false, opens_at_start: true })
    }

    fn serving() -> Self {
        let mut app = Self::new();
        app.hear(opened());
        app.hear(Event::Looked(Arc::new(snapshot())));
        app.told();
        app
    }

    /// Whether the app goes on.
    fn hear(&mut self, event: Event) -> bool {
        self.controller.handle(event, self.now).is_continue()
    }

    fn wait(&mut self, milliseconds: u64) {
        self.now += Duration::from_millis(milliseconds);
    }

    /// What was told since the last look, drawing of the tray left out.
    fn told(&mut self) -> Vec<Told> {
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
        queue: QueueView { running: false, waiting: 0, max_waiting: 0 },
        memory: MemoryView::default(),
        requests: RequestsView { answered: 0, failed: 0, refused: 0 },
    }
}

fn opened() -> Event {
    Event::Opened { url: "http://127.0.0.1:4017".to_owned() }
}

fn served() -> Page {
    Page::Served { url: "http://127.0.0.1:4017".to_owned() }
}

fn told_why(tries: u32) -> Page {
    Page::Bundled { trouble: trouble(), tries }
}

fn trouble() -> Trouble {
    Trouble { what: "taken".to_owned(), cure: None, holder_url: None }
}

#[test]
fn the_server_is_opened_first_and_the_panel_shown_when_it_listens() {
    let mut app = App::new();
    assert_eq!(app.told(), [Told::Open]);
    app.hear(opened());
    assert_eq!(app.told(), [Told::Show(served())]);
}

#[test]
fn at_login_no_panel_comes_up_until_it_is_asked_for() {
    let mut app = App::begin(Manners { hides_on_blur: false, opens_at_start: false });
    app.hear(opened());
    assert_eq!(app.told(), [Told::Open]);
    app.hear(Event::Chosen(Action::OpenPanel));
    assert_eq!(app.told(), [Told::Show(served())]);
}

#[test]
fn a_panel_asked_for_too_early_comes_when_there_is_a_page() {
    let mut app = App::begin(Manners { hides_on_blur: false, opens_at_start: false });
    app.hear(Event::Chosen(Action::OpenPanel));
    assert_eq!(app.told(), [Told::Open]);
    app.hear(opened());
    assert_eq!(app.told(), [Told::Show(served())]);
}

#[test]
fn without_a_server_the_bundled_page_says_why_and_a_retry_opens_it_again() {
    let mut app = App::new();
    app.hear(Event::OpenFailed(trouble()));
    assert_eq!(app.told(), [Told::Open, Told::Show(told_why(1))]);
    app.hear(Event::RetryAsked);
    app.hear(Event::RetryAsked);
    assert_eq!(app.told(), [Told::Open], "one try at a time");
    app.hear(Event::OpenFailed(trouble()));
    assert_eq!(app.told(), [Told::Show(told_why(2))], "a person sees that it was tried");
    app.hear(Event::RetryAsked);
    app.told();
    app.hear(opened());
    assert_eq!(app.told(), [Told::Show(served())]);
}

#[test]
fn a_retry_while_the_server_is_there_does_nothing() {
    let mut app = App::serving();
    app.hear(Event::RetryAsked);
    assert_eq!(app.told(), []);
}

#[test]
fn a_server_that_ends_by_itself_is_trouble() {
    let mut app = App::serving();
    assert!(app.hear(Event::Ended(trouble())));
    assert_eq!(app.told(), [Told::Show(told_why(0))]);
}

#[test]
fn start_and_stop_turn_the_switch_and_leave_the_server() {
    let mut app = App::serving();
    app.hear(Event::Chosen(Action::StopService));
    app.hear(Event::Chosen(Action::StartService));
    assert_eq!(app.told(), [Told::TurnOff, Told::TurnOn]);
}

#[test]
fn the_address_for_clients_is_copied_once_it_is_known() {
    let mut app = App::new();
    app.told();
    app.hear(Event::Chosen(Action::CopyUrl));
    assert_eq!(app.told(), []);
    app.hear(opened());
    app.hear(Event::Looked(Arc::new(snapshot())));
    app.told();
    app.hear(Event::Chosen(Action::CopyUrl));
    assert_eq!(app.told(), [Told::Copy("http://127.0.0.1:4017/v1".to_owned())]);
}

#[test]
fn a_closed_panel_is_hidden_and_a_second_start_shows_it_again() {
    let mut app = App::serving();
    app.hear(Event::PanelClosed);
    app.hear(Event::StartedAgain);
    assert_eq!(app.told(), [Told::Hide, Told::Show(served())]);
}

#[test]
fn a_hidden_panel_stays_hidden_when_trouble_comes() {
    let mut app = App::serving();
    app.hear(Event::PanelClosed);
    app.hear(Event::Ended(trouble()));
    assert_eq!(app.told(), [Told::Hide]);
    app.hear(Event::Chosen(Action::OpenPanel));
    assert_eq!(app.told(), [Told::Show(told_why(0))]);
}

#[test]
fn losing_the_focus_hides_the_panel_only_where_that_is_the_custom() {
    let mut app = App::serving();
    app.wait(1_000);
    app.hear(Event::PanelBlurred);
    assert_eq!(app.told(), []);
    let mut app = App::begin(Manners { hides_on_blur: true, opens_at_start: true });
    app.hear(opened());
    app.told();
    app.hear(Event::PanelBlurred);
    assert_eq!(app.told(), [], "it was only just shown");
    app.wait(1_000);
    app.hear(Event::PanelBlurred);
    assert_eq!(app.told(), [Told::Hide]);
    app.wait(100);
    app.hear(Event::IconPressed);
    assert_eq!(app.told(), [], "the same press hid it");
    app.wait(1_000);
    app.hear(Event::IconPressed);
    assert_eq!(app.told(), [Told::Show(served())]);
    app.hear(Event::IconPressed);
    assert_eq!(app.told(), [Told::Hide]);
}

#[test]
fn links_and_logs_are_opened_by_the_desktop() {
    let mut app = App::serving();
    app.hear(Event::LinkFollowed("https://github.com/".to_owned()));
    app.hear(Event::Chosen(Action::OpenLogs));
    assert_eq!(app.told(), [Told::Link("https://github.com/".to_owned()), Told::Logs]);
}

#[test]
fn launch_at_login_shows_what_the_desktop_really_did() {
    let mut app = App::serving();
    app.controller.desktop.login_works = false;
    app.hear(Event::Chosen(Action::LaunchAtLogin(true)));
    assert_eq!(*app.record.borrow(), [Told::AtLogin(true), Told::Tray], "the tick is set back");
    assert!(!app.controller.launches_at_login);
    app.controller.desktop.login_works = true;
    app.hear(Event::Chosen(Action::LaunchAtLogin(true)));
    assert!(app.controller.launches_at_login);
}

#[test]
fn quit_drains_and_ends_once_the_server_has() {
    for quit in [Event::Chosen(Action::Quit), Event::Signalled] {
        let mut app = App::serving();
        assert!(app.hear(quit));
        assert_eq!(app.told(), [Told::Hide, Told::Drain]);
        assert_eq!(*app.line.borrow(), "Ending…");
        assert!(app.hear(Event::StartedAgain));
        assert_eq!(app.told(), [], "no panel comes up any more");
        assert!(!app.hear(Event::Ended(trouble())));
        assert_eq!(app.told(), [Told::Quit]);
    }
}

#[test]
fn a_second_quit_or_the_limit_ends_at_once() {
    for again in [Event::Chosen(Action::Quit), Event::Signalled, Event::DrainLimitReached] {
        let mut app = App::serving();
        app.hear(Event::Chosen(Action::Quit));
        app.told();
        assert!(app.hear(again));
        assert_eq!(app.told(), [Told::AtOnce]);
        assert!(app.hear(Event::DrainLimitReached), "the first limit says nothing any more");
        assert_eq!(app.told(), []);
        assert!(!app.hear(Event::EndLimitReached));
        assert_eq!(app.told(), [Told::Quit]);
    }
}

#[test]
fn a_third_quit_waits_for_nothing() {
    let mut app = App::serving();
    app.hear(Event::Chosen(Action::Quit));
    app.hear(Event::Chosen(Action::Quit));
    app.told();
    assert!(!app.hear(Event::Chosen(Action::Quit)));
    assert_eq!(app.told(), [Told::Quit]);
}

#[test]
fn quit_without_a_server_ends_right_away() {
    let mut app = App::new();
    app.hear(Event::OpenFailed(trouble()));
    app.told();
    assert!(!app.hear(Event::Chosen(Action::Quit)));
    assert_eq!(app.told(), [Told::Quit]);
}

#[test]
fn quit_while_the_server_is_being_opened_ends_it_whatever_comes_of_it() {
    for end in [Event::Ended(trouble()), Event::OpenFailed(trouble())] {
        let mut app = App::new();
        app.hear(Event::Chosen(Action::Quit));
        app.told();
        assert!(app.hear(opened()));
        assert_eq!(app.told(), [], "no panel for a server that is about to end");
        assert!(!app.hear(end));
        assert_eq!(app.told(), [Told::Quit]);
    }
}

#[test]
fn the_tray_is_drawn_only_when_it_looks_different() {
    let mut app = App::serving();
    app.hear(Event::Looked(Arc::new(PanelSnapshot {
        requests: RequestsView { answered: 9, failed: 0, refused: 0 },
        ..snapshot()
    })));
    assert_eq!(*app.record.borrow(), []);
    let mut busy = snapshot();
    busy.profile.state = StateWord::Busy;
    app.hear(Event::Looked(Arc::new(busy)));
    assert_eq!(*app.record.borrow(), [Told::Tray]);
    assert_eq!(*app.line.borrow(), "Busy: gemma-test");
}
