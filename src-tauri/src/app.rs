//! Tauri put together: plugins, events, the loop. Nothing is decided here.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::process::ExitCode;

use hangar_server::{Wish, follow_signals};
use tauri::{App, RunEvent, WindowEvent};
use tokio::runtime::Runtime;
use tokio::sync::mpsc;

use crate::controller::{Controller, Event, Manners};
use crate::desktop::TauriDesktop;
use crate::service::{HostedService, send};
use crate::{panel, say};

/// Shows tray and panel until the app is quit.
pub(crate) fn run(runtime: &Runtime, at_login: bool) -> ExitCode {
    tauri::async_runtime::set(runtime.handle().clone());
    let (events, waiting) = mpsc::unbounded_channel();
    let again = events.clone();
    let single = tauri_plugin_single_instance::Builder::new()
        .callback(move |_, _, _| send(&again, Event::StartedAgain))
        .dbus_id(bus_name())
        .build();
    let begun = events.clone();
    let handle = runtime.handle().clone();
    let built = panel::follow_pages(tauri::Builder::default(), &events)
        // First, so that a second instance ends before it has made anything.
        .plugin(single)
        .plugin(tauri_plugin_shell::init())
        .plugin(tauri_plugin_clipboard_manager::init())
        .setup(move |app| {
            platform(app);
            handle.spawn(follow_end_wishes(begun.clone()));
            let desktop = TauriDesktop::new(app.handle(), &begun);
            let service = HostedService::new(handle.clone(), begun.clone());
            let manners = Manners { hides_on_blur: cfg!(target_os = "macos"), opens_at_start: !at_login };
            handle.spawn(async move { Controller::begin(desktop, service, manners).run(waiting).await });
            Ok(())
        })
        .build(context());
    let app = match built {
        Ok(app) => app,
        Err(error) => {
            say::failure(
                &format!("the app did not start: {error}"),
                Some("HANGAR_HEADLESS=1 serves without a window"),
            );
            return ExitCode::FAILURE;
        }
    };
    let code = app.run_return(move |_, event| happened(event, &events));
    u8::try_from(code).map_or(ExitCode::FAILURE, ExitCode::from)
}

#[expect(clippy::disallowed_methods, reason = "Tauri's own macro says it, for a case that is not ours")]
fn context() -> tauri::Context {
    tauri::generate_context!()
}

fn happened(event: RunEvent, events: &mpsc::UnboundedSender<Event>) {
    if let RunEvent::WindowEvent { label, event, .. } = event {
        if label == panel::LABEL {
            window_happened(&event, events);
        }
    } else if let RunEvent::ExitRequested { code: None, api, .. } = event {
        // The last window is gone; the app goes on in the tray.
        api.prevent_exit();
    } else if is_reopened(&event) {
        send(events, Event::StartedAgain);
    }
}

fn window_happened(event: &WindowEvent, events: &mpsc::UnboundedSender<Event>) {
    if let WindowEvent::CloseRequested { api, .. } = event {
        api.prevent_close();
        send(events, Event::PanelClosed);
    } else if let WindowEvent::Focused(false) = event {
        send(events, Event::PanelBlurred);
    }
}

/// The Finder opens the running app once more.
#[cfg(target_os = "macos")]
fn is_reopened(event: &RunEvent) -> bool {
    matches!(event, RunEvent::Reopen { .. })
}

#[cfg(not(target_os = "macos"))]
fn is_reopened(_event: &RunEvent) -> bool {
    false
}

async fn follow_end_wishes(events: mpsc::UnboundedSender<Event>) {
    match follow_signals() {
        Ok(mut wish) => {
            // Two signals may be seen as one change.
            for level in [Wish::Drain, Wish::AtOnce] {
                if wish.wait_for(|wish| *wish >= level).await.is_ok() {
                    send(&events, Event::Signalled);
                }
            }
        }
        Err(error) => tracing::warn!(%error, "signals end the app without ceremony"),
    }
}

/// One name a state folder, so that two folders are two apps; also where the folder cannot be used yet.
fn bus_name() -> String {
    let mut hasher = DefaultHasher::new();
    hangar_server::logs_dir().hash(&mut hasher);
    format!("app.hangar.Hangar.h{:016x}", hasher.finish())
}

#[cfg(target_os = "macos")]
fn platform(app: &mut App) {
    app.set_activation_policy(tauri::ActivationPolicy::Accessory);
    if let Err(error) = app.handle().plugin(tauri_plugin_positioner::init()) {
        tracing::warn!(%error, "the panel does not find its icon");
    }
}

#[cfg(not(target_os = "macos"))]
fn platform(_app: &mut App) {}
