//! The tray as a value: what its icon and its menu show, made from what is known of the service.
//!
//! It knows no desktop: two equal values look the same, so only a changed one is drawn.

use hangar_server::{PanelSnapshot, Phase, StateWord};

use crate::controller::Stage;

/// Longest part of an error in the menu; the page shows all of it.
const MOST_CHARACTERS: usize = 60;

/// One of the icons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// No model is in memory.
    Stopped,
    /// Something is under way.
    Loading,
    /// Waiting for requests.
    Ready,
    /// A request runs.
    Busy,
    /// A person should look.
    Trouble,
}

/// What a person can ask for in the menu.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Take requests again.
    StartService,
    /// Take no requests and unload the model; the page stays.
    StopService,
    /// Show the panel.
    OpenPanel,
    /// Copy the address for clients.
    CopyUrl,
    /// Show the folder of the log files.
    OpenLogs,
    /// Be started at login, or not.
    LaunchAtLogin(bool),
    /// End in order; a second time, at once.
    Quit,
}

/// One line of the menu.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    /// Text that cannot be chosen.
    Line(String),
    /// A rule between groups.
    Rule,
    /// Something to choose.
    Choice {
        /// What is asked for.
        action: Action,
        /// What it is called.
        text: &'static str,
        /// Whether it can be chosen now.
        enabled: bool,
    },
    /// Something that is on or off.
    Tick {
        /// What is asked for.
        action: Action,
        /// What it is called.
        text: &'static str,
        /// Whether it is on.
        on: bool,
    },
}

/// Icon and menu. The menu always has the same entries in the same places; only their words change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TrayModel {
    /// The icon.
    pub(crate) mark: Mark,
    /// The menu.
    pub(crate) entries: Vec<Entry>,
}

impl TrayModel {
    /// The tray for this stage of the app.
    pub(crate) fn new(stage: &Stage, launches_at_login: bool) -> Self {
        let (mark, state) = state(stage);
        let (action, text, enabled) = match stage {
            Stage::Serving(Some(snapshot)) if snapshot.service.accepting => {
                (Action::StopService, "Stop Service", true)
            }
            Stage::Serving(Some(_)) => (Action::StartService, "Start Service", true),
            Stage::Serving(None) | Stage::Opening | Stage::Trouble(_) | Stage::Ending { .. } => {
                (Action::StopService, "Stop Service", false)
            }
        };
        let ending = matches!(stage, Stage::Ending { .. });
        let has_url = matches!(stage, Stage::Serving(Some(_)));
        let entries = vec![
            Entry::Line(state),
            Entry::Rule,
            Entry::Choice { action, text, enabled },
            Entry::Rule,
            Entry::Choice { action: Action::OpenPanel, text: "Open Panel", enabled: !ending },
            Entry::Choice { action: Action::CopyUrl, text: "Copy URL", enabled: has_url },
            Entry::Choice { action: Action::OpenLogs, text: "Open Log Folder", enabled: true },
            Entry::Rule,
            Entry::Tick {
                action: Action::LaunchAtLogin(!launches_at_login),
                text: "Launch at Login",
                on: launches_at_login,
            },
            Entry::Choice {
                action: Action::Quit,
                text: if ending { "Quit Now" } else { "Quit Hangar" },
                enabled: true,
            },
        ];
        Self { mark, entries }
    }

    /// What is asked for by choosing the entry in this place.
    pub(crate) fn action_at(&self, place: usize) -> Option<Action> {
        match self.entries.get(place)? {
            Entry::Choice { action, enabled: true, .. } | Entry::Tick { action, .. } => Some(*action),
            Entry::Line(_) | Entry::Rule | Entry::Choice { enabled: false, .. } => None,
        }
    }
}

fn state(stage: &Stage) -> (Mark, String) {
    match stage {
        Stage::Opening | Stage::Serving(None) => (Mark::Loading, "Starting…".to_owned()),
        Stage::Serving(Some(snapshot)) => serving(snapshot),
        Stage::Trouble(_) => (Mark::Trouble, "Cannot start: see the panel".to_owned()),
        Stage::Ending { .. } => (Mark::Stopped, "Ending…".to_owned()),
    }
}

/// The words are those of the page.
fn serving(snapshot: &PanelSnapshot) -> (Mark, String) {
    let profile = &snapshot.profile;
    let (mark, words) = match (profile.state, snapshot.service.accepting) {
        (StateWord::Unloaded | StateWord::Failed | StateWord::Backoff, false) => {
            (Mark::Stopped, "Stopped".to_owned())
        }
        (StateWord::Ready | StateWord::Busy | StateWord::Stopping, false) => {
            (Mark::Loading, "Stopping…".to_owned())
        }
        (StateWord::Unloaded, true) => (Mark::Stopped, format!("Idle: {}", short(&profile.model_id))),
        (StateWord::Starting, _) => (Mark::Loading, "Starting worker…".to_owned()),
        (StateWord::Loading, _) => (Mark::Loading, loading(snapshot)),
        (StateWord::Ready, true) => (Mark::Ready, format!("Ready: {}", short(&profile.model_id))),
        (StateWord::Busy, true) => (Mark::Busy, busy(snapshot)),
        (StateWord::Stopping, true) => (Mark::Loading, "Unloading model…".to_owned()),
        (StateWord::Backoff, true) => (Mark::Trouble, "Starting again".to_owned()),
        (StateWord::Failed, true) => (Mark::Trouble, failed(profile.last_error.as_deref())),
        (StateWord::Closed, _) => (Mark::Stopped, "Shutting down".to_owned()),
    };
    (mark, words)
}

fn loading(snapshot: &PanelSnapshot) -> String {
    if snapshot.profile.phase == Some(Phase::WarmingUp) {
        return "Warming up…".to_owned();
    }
    let (done, total) = (snapshot.profile.phase_done, snapshot.profile.phase_total);
    match done.saturating_mul(100).checked_div(total) {
        Some(percent) => format!("Loading model… {} %", percent.min(100)),
        None => "Loading model…".to_owned(),
    }
}

fn busy(snapshot: &PanelSnapshot) -> String {
    let model = short(&snapshot.profile.model_id);
    match snapshot.queue.waiting {
        0 => format!("Busy: {model}"),
        waiting => format!("Busy: {model}, {waiting} waiting"),
    }
}

fn failed(error: Option<&str>) -> String {
    error.map_or_else(|| "Failed".to_owned(), |error| format!("Failed: {}", short(error)))
}

/// A menu is one line high and not as wide as the screen.
fn short(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let mut short: String = line.chars().take(MOST_CHARACTERS).collect();
    if short.chars().count() < line.chars().count() {
        short.push('…');
    }
    short
}

#[cfg(test)]
#[path = "tray/tests.rs"]
mod tests;
