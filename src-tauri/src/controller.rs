//! Everything that happens to the app, in one place: events in, orders to the desktop and the service out.
//!
//! It knows no window system, and what time it is only by being told; both sides stand behind traits.

mod sides;

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use hangar_server::PanelSnapshot;
use tokio::sync::mpsc;
use tokio::time::Instant;

pub(crate) use sides::{Desktop, Service};

use crate::focus::Focus;
use crate::tray::{Action, TrayModel};
use crate::trouble::Trouble;

/// A page that dies again so soon is not loaded anew before a person asks for the panel.
const DIES_AGAIN_WITHIN: Duration = Duration::from_secs(10);

/// Whatever can happen.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    /// An entry of the menu was chosen.
    Chosen(Action),
    /// The icon itself was pressed; not every desktop says so.
    IconPressed,
    /// The panel lost the focus.
    PanelBlurred,
    /// The panel's close button was pressed.
    PanelClosed,
    /// The process that draws the panel's page has ended.
    PageDied,
    /// A link in the panel leads out of it.
    LinkFollowed(String),
    /// The bundled page asks for another try.
    RetryAsked,
    /// The app was started once more.
    StartedAgain,
    /// The system asks the process to end.
    Signalled,
    /// The server listens.
    Opened {
        /// Address of its page.
        url: String,
    },
    /// The server did not come up.
    OpenFailed(Trouble),
    /// What the page shows has changed.
    Looked(Arc<PanelSnapshot>),
    /// The server has ended.
    Ended(Trouble),
    /// The time for an orderly end is over.
    DrainLimitReached,
    /// The time for an end at once is over.
    EndLimitReached,
}

/// What the panel shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Page {
    /// The server's own page.
    Served {
        /// Its address.
        url: String,
    },
    /// The bundled page that says why there is none.
    Bundled {
        /// Why.
        trouble: Trouble,
        /// How often it was tried.
        tries: u32,
    },
}

/// How far the app is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Stage {
    /// The server is being opened.
    Opening,
    /// It listens; a moment later the first snapshot is there.
    Serving(Option<Arc<PanelSnapshot>>),
    /// It did not come up, or has ended by itself.
    Trouble(Trouble),
    /// The app is ending.
    Ending {
        /// Not in order any more.
        at_once: bool,
    },
}

/// What a platform's panels are like.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Manners {
    /// The panel hangs under its icon and goes when another window takes the focus.
    pub(crate) hides_on_blur: bool,
    /// The panel is shown as soon as there is something to show.
    pub(crate) opens_at_start: bool,
}

/// The one loop of the app.
#[derive(Debug)]
pub(crate) struct Controller<D, S> {
    desktop: D,
    service: S,
    manners: Manners,
    stage: Stage,
    page: Option<Page>,
    visible: bool,
    launches_at_login: bool,
    focus: Focus,
    tray: Option<TrayModel>,
    tries: u32,
    page_died_at: Option<Instant>,
    signalled: bool,
    wanted_back: bool,
}

impl<D: Desktop, S: Service> Controller<D, S> {
    /// Draws the tray and opens the server.
    pub(crate) fn begin(mut desktop: D, service: S, manners: Manners) -> Self {
        let launches_at_login = desktop.launches_at_login();
        if launches_at_login {
            // The entry may name files of an earlier build.
            desktop.launch_at_login(true);
        }
        let mut controller = Self {
            desktop,
            service,
            manners,
            stage: Stage::Opening,
            page: None,
            visible: manners.opens_at_start,
            launches_at_login,
            focus: Focus::default(),
            tray: None,
            tries: 1,
            page_died_at: None,
            signalled: false,
            wanted_back: false,
        };
        controller.service.open();
        controller.draw_tray();
        controller
    }

    /// Takes events until the app has ended.
    pub(crate) async fn run(mut self, mut events: mpsc::UnboundedReceiver<Event>) {
        while let Some(event) = events.recv().await {
            if self.handle(event, Instant::now()).is_break() {
                return;
            }
        }
    }

    /// Does what one event asks for; breaks when the app has ended.
    pub(crate) fn handle(&mut self, event: Event, now: Instant) -> ControlFlow<()> {
        match event {
            Event::Chosen(action) => self.choose(action, now)?,
            Event::IconPressed => self.press_icon(now),
            Event::PanelBlurred => {
                if self.manners.hides_on_blur && self.visible && self.focus.hides_on_blur(now) {
                    self.hide();
                }
            }
            Event::PanelClosed => self.hide(),
            Event::PageDied => self.renew_page(now),
            Event::LinkFollowed(link) => self.desktop.open_link(&link),
            Event::RetryAsked => self.retry(),
            Event::StartedAgain => self.start_again(now),
            Event::Signalled => {
                (self.signalled, self.wanted_back) = (true, false);
                self.end()?;
            }
            Event::Opened { url } => {
                if self.stage == Stage::Opening {
                    self.stage = Stage::Serving(None);
                    self.tries = 0;
                    self.turn_to(Page::Served { url }, now);
                }
            }
            Event::OpenFailed(trouble) | Event::Ended(trouble) => {
                if self.is_ending() {
                    self.quit()?;
                } else {
                    self.fail(trouble, now);
                }
            }
            Event::Looked(snapshot) => {
                if let Stage::Serving(known) = &mut self.stage {
                    *known = Some(snapshot);
                }
            }
            Event::DrainLimitReached => {
                if self.stage == (Stage::Ending { at_once: false }) {
                    self.end()?;
                }
            }
            Event::EndLimitReached => {
                if self.is_ending() {
                    self.quit()?;
                }
            }
        }
        self.draw_tray();
        ControlFlow::Continue(())
    }

    fn choose(&mut self, action: Action, now: Instant) -> ControlFlow<()> {
        match action {
            Action::StartService => self.service.turn_on(),
            Action::StopService => self.service.turn_off(),
            Action::OpenPanel => self.show(now),
            Action::CopyUrl => {
                if let Stage::Serving(Some(snapshot)) = &self.stage {
                    self.desktop.copy_text(&snapshot.service.api_url);
                }
            }
            Action::OpenLogs => self.desktop.open_logs(),
            Action::LaunchAtLogin(wanted) => {
                self.desktop.launch_at_login(wanted);
                self.launches_at_login = self.desktop.launches_at_login();
                // The desktop has ticked the entry by itself, whatever came of it.
                self.tray = None;
            }
            Action::Quit => {
                self.wanted_back = false;
                self.end()?;
            }
        }
        ControlFlow::Continue(())
    }

    fn press_icon(&mut self, now: Instant) {
        if self.visible {
            self.hide();
        } else if self.focus.shows_on_click(now) {
            self.show(now);
        }
    }

    fn show(&mut self, now: Instant) {
        if self.is_ending() {
            return;
        }
        self.visible = true;
        if let Some(page) = &self.page {
            self.desktop.show_panel(page);
            self.focus.shown(now);
        }
    }

    fn hide(&mut self) {
        self.visible = false;
        self.desktop.hide_panel();
    }

    /// A hidden panel gets the page when it is shown.
    fn turn_to(&mut self, page: Page, now: Instant) {
        self.page = Some(page);
        if self.visible {
            self.show(now);
        }
    }

    fn renew_page(&mut self, now: Instant) {
        tracing::warn!("the process that draws the panel's page has ended");
        self.desktop.forget_page();
        let before = self.page_died_at.replace(now);
        let again = before.is_some_and(|before| now.duration_since(before) < DIES_AGAIN_WITHIN);
        if self.visible && !again {
            self.show(now);
        }
    }

    fn fail(&mut self, trouble: Trouble, now: Instant) {
        self.stage = Stage::Trouble(trouble.clone());
        self.turn_to(Page::Bundled { trouble, tries: self.tries }, now);
    }

    fn retry(&mut self) {
        if matches!(self.stage, Stage::Trouble(_)) {
            self.stage = Stage::Opening;
            self.tries = self.tries.saturating_add(1);
            self.service.open();
        }
    }

    /// The first time in order, the second time at once, the third time without waiting for anything.
    fn end(&mut self) -> ControlFlow<()> {
        match self.stage {
            Stage::Opening | Stage::Serving(_) => {
                self.stage = Stage::Ending { at_once: false };
                self.hide();
                self.service.drain();
            }
            Stage::Ending { at_once: false } => {
                self.stage = Stage::Ending { at_once: true };
                self.service.end_at_once();
            }
            Stage::Ending { at_once: true } | Stage::Trouble(_) => return self.quit(),
        }
        ControlFlow::Continue(())
    }

    fn is_ending(&self) -> bool {
        matches!(self.stage, Stage::Ending { .. })
    }

    /// Whoever starts an app that is being quit wants it back; a terminal or a logout that ends it does not.
    fn start_again(&mut self, now: Instant) {
        if self.is_ending() {
            self.wanted_back = !self.signalled;
        } else {
            self.show(now);
        }
    }

    fn quit(&mut self) -> ControlFlow<()> {
        if std::mem::take(&mut self.wanted_back) {
            (self.stage, self.visible, self.tries) = (Stage::Opening, true, 1);
            self.service.open();
            return ControlFlow::Continue(());
        }
        self.desktop.quit();
        ControlFlow::Break(())
    }

    fn draw_tray(&mut self) {
        let tray = TrayModel::new(&self.stage, self.launches_at_login);
        if self.tray.as_ref() != Some(&tray) {
            self.desktop.set_tray(&tray);
            self.tray = Some(tray);
        }
    }
}

#[cfg(test)]
#[path = "controller/tests.rs"]
mod tests;
