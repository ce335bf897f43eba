//! When a panel that hangs under its icon goes away by itself. Times come from outside.

use std::time::Duration;

use tokio::time::Instant;

/// A window that has just been shown may lose the focus once more before it settles.
const SETTLES_WITHIN: Duration = Duration::from_millis(200);
/// Pressing the icon first takes the focus away and then counts as a click.
const SAME_PRESS_WITHIN: Duration = Duration::from_millis(300);

/// What is remembered of the panel's comings and goings.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Focus {
    shown_at: Option<Instant>,
    hidden_by_blur_at: Option<Instant>,
}

impl Focus {
    /// The panel was shown.
    pub(crate) fn shown(&mut self, now: Instant) {
        *self = Self { shown_at: Some(now), hidden_by_blur_at: None };
    }

    /// Whether losing the focus hides the panel.
    pub(crate) fn hides_on_blur(&mut self, now: Instant) -> bool {
        let settled = self.shown_at.is_some_and(|shown| now.duration_since(shown) >= SETTLES_WITHIN);
        if settled {
            *self = Self { shown_at: None, hidden_by_blur_at: Some(now) };
        }
        settled
    }

    /// Whether a click on the icon shows a hidden panel; not when the same press has just hidden it.
    pub(crate) fn shows_on_click(&mut self, now: Instant) -> bool {
        let hidden = self.hidden_by_blur_at.take();
        hidden.is_none_or(|hidden| now.duration_since(hidden) >= SAME_PRESS_WITHIN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(begin: Instant, milliseconds: u64) -> Instant {
        begin + Duration::from_millis(milliseconds)
    }

    #[test]
    fn a_blur_right_after_showing_does_not_hide_the_panel() {
        let begin = Instant::now();
        let mut focus = Focus::default();
        focus.shown(begin);
        assert!(!focus.hides_on_blur(after(begin, 199)));
        assert!(focus.hides_on_blur(after(begin, 200)));
    }

    #[test]
    fn the_press_that_took_the_focus_does_not_show_the_panel_again() {
        let begin = Instant::now();
        let mut focus = Focus::default();
        focus.shown(begin);
        assert!(focus.hides_on_blur(after(begin, 1_000)));
        assert!(!focus.shows_on_click(after(begin, 1_100)));
        assert!(focus.shows_on_click(after(begin, 1_200)), "that press is over");
    }

    #[test]
    fn a_later_press_shows_the_panel() {
        let begin = Instant::now();
        let mut focus = Focus::default();
        focus.shown(begin);
        assert!(focus.hides_on_blur(after(begin, 1_000)));
        assert!(focus.shows_on_click(after(begin, 1_300)));
    }

    #[test]
    fn a_panel_that_was_never_shown_is_not_hidden() {
        assert!(!Focus::default().hides_on_blur(Instant::now()));
    }
}
