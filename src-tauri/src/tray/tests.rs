//! What the tray shows for each stage and state.

//! Tests of the module above.

use std::sync::Arc;

use super::*;
use crate::fakes::snapshot;
use crate::trouble::Trouble;

fn serving(change: impl FnOnce(&mut PanelSnapshot)) -> TrayModel {
    let mut value = snapshot();
    change(&mut value);
    TrayModel::new(&Stage::Serving(Some(Arc::new(value))), false)
}

fn line(tray: &TrayModel) -> &str {
    let Entry::Line(text) = &tray.entries[0] else { panic!("the first entry is no line") };
    text
}

fn text_of(tray: &TrayModel, wanted: impl Fn(Action) -> bool) -> (&'static str, bool) {
    let found = tray.entries.iter().find_map(|entry| match entry {
        Entry::Choice { action, text, enabled } if wanted(*action) => Some((*text, *enabled)),
        Entry::Line(_) | Entry::Rule | Entry::Choice { .. } | Entry::Tick { .. } => None,
    });
    found.unwrap()
}

fn trouble() -> Stage {
    Stage::Trouble(Trouble { what: "x".to_owned(), cure: None, holder_url: None })
}

#[test]
fn the_menu_has_the_same_entries_in_the_same_places_whatever_happens() {
    let kinds = |tray: &TrayModel| -> Vec<u8> {
        let kind = |entry: &Entry| match entry {
            Entry::Line(_) => 0,
            Entry::Rule => 1,
            Entry::Choice { .. } => 2,
            Entry::Tick { .. } => 3,
        };
        tray.entries.iter().map(kind).collect()
    };
    let expected = kinds(&serving(|_| {}));
    for stage in [Stage::Opening, Stage::Serving(None), trouble(), Stage::Ending { at_once: true }] {
        for at_login in [false, true] {
            assert_eq!(kinds(&TrayModel::new(&stage, at_login)), expected, "{stage:?}");
        }
    }
}

#[test]
fn a_state_has_its_words_and_its_icon() {
    for (state, mark, words) in [
        (StateWord::Unloaded, Mark::Stopped, "Idle: gemma-test"),
        (StateWord::Starting, Mark::Loading, "Starting worker…"),
        (StateWord::Loading, Mark::Loading, "Loading model…"),
        (StateWord::Ready, Mark::Ready, "Ready: gemma-test"),
        (StateWord::Busy, Mark::Busy, "Busy: gemma-test"),
        (StateWord::Stopping, Mark::Loading, "Unloading model…"),
        (StateWord::Backoff, Mark::Trouble, "Starting again"),
        (StateWord::Failed, Mark::Trouble, "Failed"),
        (StateWord::Closed, Mark::Stopped, "Shutting down"),
    ] {
        let tray = serving(|value| value.profile.state = state);
        assert_eq!((tray.mark, line(&tray)), (mark, words), "{state:?}");
    }
}

#[test]
fn a_service_that_is_being_stopped_says_so_until_the_model_is_gone() {
    for (state, words) in [
        (StateWord::Busy, "Stopping…"),
        (StateWord::Ready, "Stopping…"),
        (StateWord::Stopping, "Stopping…"),
        (StateWord::Unloaded, "Stopped"),
    ] {
        let tray = serving(|value| {
            value.profile.state = state;
            value.service.accepting = false;
        });
        assert_eq!(line(&tray), words, "{state:?}");
    }
}

#[test]
fn a_model_that_is_tried_out_warms_up() {
    let tray = serving(|value| {
        value.profile.state = StateWord::Loading;
        value.profile.phase = Some(Phase::WarmingUp);
    });
    assert_eq!(line(&tray), "Warming up…");
}

#[test]
fn a_long_or_broken_name_of_a_model_is_one_short_line() {
    let tray = serving(|value| value.profile.model_id = format!("two\nlines{}", "x".repeat(200)));
    assert_eq!(line(&tray), "Idle: two");
    let tray = serving(|value| value.profile.model_id = "x".repeat(200));
    assert!(line(&tray).chars().count() < 100, "{}", line(&tray));
}

#[test]
fn progress_of_a_load_is_shown_in_percent_and_never_over_a_hundred() {
    for (done, total, words) in
        [(1, 4, "Loading model… 25 %"), (9, 4, "Loading model… 100 %"), (u64::MAX, 1, "Loading model… 100 %")]
    {
        let tray = serving(|value| {
            value.profile.state = StateWord::Loading;
            (value.profile.phase_done, value.profile.phase_total) = (done, total);
        });
        assert_eq!(line(&tray), words);
    }
}

#[test]
fn who_waits_is_counted() {
    let tray = serving(|value| {
        value.profile.state = StateWord::Busy;
        value.queue.waiting = 2;
    });
    assert_eq!(line(&tray), "Busy: gemma-test, 2 waiting");
}

#[test]
fn a_long_error_is_cut_at_a_character_and_kept_to_one_line() {
    let tray = serving(|value| {
        value.profile.state = StateWord::Failed;
        value.profile.last_error = Some(format!("{}\nsecond", "ü".repeat(80)));
    });
    assert_eq!(line(&tray), format!("Failed: {}…", "ü".repeat(MOST_CHARACTERS)));
}

#[test]
fn a_stopped_service_offers_to_start_and_a_running_one_to_stop() {
    let is_switch = |action| matches!(action, Action::StartService | Action::StopService);
    let running = serving(|_| {});
    assert_eq!(text_of(&running, is_switch), ("Stop Service", true));
    let stopped = serving(|value| value.service.accepting = false);
    assert_eq!(text_of(&stopped, is_switch), ("Start Service", true));
    assert_eq!((stopped.mark, line(&stopped)), (Mark::Stopped, "Stopped"));
    for stage in [Stage::Opening, trouble(), Stage::Ending { at_once: false }] {
        assert!(!text_of(&TrayModel::new(&stage, false), is_switch).1, "{stage:?}");
    }
}

#[test]
fn an_address_can_be_copied_only_while_there_is_one() {
    let is_copy = |action| action == Action::CopyUrl;
    assert!(text_of(&serving(|_| {}), is_copy).1);
    for stage in [Stage::Opening, Stage::Serving(None), trouble(), Stage::Ending { at_once: false }] {
        assert!(!text_of(&TrayModel::new(&stage, false), is_copy).1, "{stage:?}");
    }
}

#[test]
fn quit_can_always_be_chosen() {
    let is_quit = |action| action == Action::Quit;
    for stage in [Stage::Opening, Stage::Serving(None), trouble()] {
        assert_eq!(text_of(&TrayModel::new(&stage, false), is_quit), ("Quit Hangar", true));
    }
    let ending = TrayModel::new(&Stage::Ending { at_once: false }, false);
    assert_eq!(text_of(&ending, is_quit), ("Quit Now", true));
}

#[test]
fn choosing_a_place_asks_for_what_is_drawn_there() {
    let tray = TrayModel::new(&Stage::Serving(None), true);
    let at = |wanted: Action| (0..tray.entries.len()).find(|place| tray.action_at(*place) == Some(wanted));
    assert!(at(Action::OpenPanel).is_some() && at(Action::Quit).is_some());
    assert!(at(Action::LaunchAtLogin(false)).is_some(), "what is on can be put off");
    assert_eq!(at(Action::CopyUrl), None, "what is disabled cannot be chosen");
    assert_eq!(tray.action_at(0), None);
    assert_eq!(tray.action_at(99), None);
}

#[test]
fn a_snapshot_that_changes_nothing_visible_makes_an_equal_tray() {
    let other = serving(|value| {
        value.memory.server_bytes = Some(1);
        value.requests.answered = 7;
    });
    assert_eq!(other, serving(|_| {}));
}
