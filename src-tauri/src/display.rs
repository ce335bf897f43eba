//! Whether there is a display to show a window on. Asked before anything of Tauri runs: it panics without one.

/// How the app shows itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Face {
    /// Tray and window.
    Window,
    /// The server alone.
    Headless(Why),
}

/// Why there is no window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// `HANGAR_HEADLESS=1`.
    Asked,
    /// The environment names no display.
    NoDisplay,
    /// The display that the environment names cannot be used.
    DeadDisplay(String),
}

impl Why {
    /// What a person is told.
    pub(crate) fn told(&self) -> String {
        match self {
            Self::Asked => "Hangar serves without a window, as HANGAR_HEADLESS says.".to_owned(),
            Self::NoDisplay => "Hangar serves without a window: there is no display.".to_owned(),
            Self::DeadDisplay(name) => {
                format!("Hangar serves without a window: the display {name} cannot be used.")
            }
        }
    }
}

/// Decides by the environment, and by asking the display itself where one is named.
pub(crate) fn face(variable: impl Fn(&str) -> Option<String>, answers: impl FnOnce() -> bool) -> Face {
    let set = |name| variable(name).filter(|value| !value.is_empty());
    if set("HANGAR_HEADLESS").is_some_and(|value| value != "0") {
        return Face::Headless(Why::Asked);
    }
    if cfg!(target_os = "macos") {
        return Face::Window;
    }
    match set("WAYLAND_DISPLAY").or_else(|| set("DISPLAY")) {
        None => Face::Headless(Why::NoDisplay),
        Some(_) if answers() => Face::Window,
        Some(name) => Face::Headless(Why::DeadDisplay(name)),
    }
}

/// Asks the display for a connection, as the window will.
#[cfg(target_os = "linux")]
pub(crate) fn answers() -> bool {
    gtk::init().is_ok()
}

/// There is always one.
#[cfg(not(target_os = "linux"))]
pub(crate) fn answers() -> bool {
    true
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    fn with(pairs: &[(&str, &str)], answers: bool) -> Face {
        let find =
            |name: &str| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        face(find, || answers)
    }

    #[test]
    fn a_display_that_answers_gets_a_window() {
        assert_eq!(with(&[("DISPLAY", ":0")], true), Face::Window);
        assert_eq!(with(&[("WAYLAND_DISPLAY", "wayland-0")], true), Face::Window);
    }

    #[test]
    fn a_display_that_does_not_answer_is_named() {
        assert_eq!(with(&[("DISPLAY", ":77")], false), Face::Headless(Why::DeadDisplay(":77".to_owned())));
    }

    #[test]
    fn without_a_display_nothing_is_asked() {
        for pairs in [&[][..], &[("DISPLAY", "")], &[("DISPLAY", ""), ("WAYLAND_DISPLAY", "")]] {
            let find =
                |name: &str| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
            let asked = std::cell::Cell::new(false);
            let answers = || {
                asked.set(true);
                true
            };
            assert_eq!(face(find, answers), Face::Headless(Why::NoDisplay));
            assert!(!asked.get());
        }
    }

    #[test]
    fn a_wish_for_no_window_wins_over_a_display() {
        assert_eq!(with(&[("DISPLAY", ":0"), ("HANGAR_HEADLESS", "1")], true), Face::Headless(Why::Asked));
        assert_eq!(with(&[("DISPLAY", ":0"), ("HANGAR_HEADLESS", "0")], true), Face::Window);
    }
}
