//! The controller with a desktop and a service that only write down what they are told.

use std::sync::Arc;

use hangar_server::{PanelSnapshot, RequestsView, StateWord};

use super::*;
use crate::fakes::{App, Told, opened, served, snapshot, told_why, trouble};

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
fn a_page_that_dies_is_loaded_anew_at_once_and_after_that_when_it_is_asked_for() {
    let mut app = App::serving();
    app.hear(Event::PageDied);
    assert_eq!(app.told(), [Told::Forget, Told::Show(served())]);
    app.wait(9_999);
    app.hear(Event::PageDied);
    assert_eq!(app.told(), [Told::Forget], "a page that dies at once would be loaded for ever");
    app.hear(Event::Chosen(Action::OpenPanel));
    assert_eq!(app.told(), [Told::Show(served())]);
    app.wait(10_000);
    app.hear(Event::PageDied);
    assert_eq!(app.told(), [Told::Forget, Told::Show(served())]);
}

#[test]
fn a_hidden_page_that_dies_stays_hidden() {
    let mut app = App::serving();
    app.hear(Event::PanelClosed);
    app.told();
    app.hear(Event::PageDied);
    assert_eq!(app.told(), [Told::Forget]);
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
fn an_entry_for_the_login_is_brought_up_to_date_at_every_start() {
    let manners = Manners { hides_on_blur: false, opens_at_start: true };
    let mut app = App::begin_where(manners, true);
    assert_eq!(app.told(), [Told::AtLogin(true), Told::Open]);
    assert!(app.controller.launches_at_login);
}

#[test]
fn an_app_that_is_started_again_while_it_ends_comes_back() {
    let mut app = App::serving();
    app.hear(Event::Chosen(Action::Quit));
    app.hear(Event::StartedAgain);
    assert_eq!(app.told(), [Told::Hide, Told::Drain], "no panel comes up yet");
    assert!(app.hear(Event::Ended(trouble())), "it goes on");
    assert_eq!(app.told(), [Told::Open]);
    app.hear(opened());
    assert_eq!(app.told(), [Told::Show(served())]);
}

#[test]
fn an_app_that_a_signal_ends_or_that_is_quit_once_more_does_not_come_back() {
    let mut app = App::serving();
    app.hear(Event::Signalled);
    app.hear(Event::StartedAgain);
    assert!(!app.hear(Event::Ended(trouble())));
    let mut app = App::serving();
    app.hear(Event::Chosen(Action::Quit));
    app.hear(Event::StartedAgain);
    app.hear(Event::Chosen(Action::Quit));
    assert!(!app.hear(Event::Ended(trouble())));
}

#[test]
fn quit_drains_and_ends_once_the_server_has() {
    for quit in [Event::Chosen(Action::Quit), Event::Signalled] {
        let mut app = App::serving();
        assert!(app.hear(quit));
        assert_eq!(app.told(), [Told::Hide, Told::Drain]);
        assert_eq!(*app.line.borrow(), "Ending…");
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
