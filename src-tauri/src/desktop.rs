//! The desktop by way of Tauri and its plugins. What fails here is logged; the app goes on.

use auto_launch::AutoLaunch;
use tauri::AppHandle;
use tauri_plugin_clipboard_manager::ClipboardExt;
use tauri_plugin_shell::ShellExt;
use tokio::sync::mpsc;

use crate::controller::{Desktop, Event, Page, Stage};
use crate::login::{self, LoginError};
use crate::panel::Panel;
use crate::say;
use crate::tray::TrayModel;
use crate::tray_icon::DrawnTray;

/// Tray, panel and the rest of the desktop.
pub(crate) struct TauriDesktop {
    app: AppHandle,
    panel: Panel,
    tray: Option<DrawnTray>,
    login: Result<AutoLaunch, LoginError>,
}

impl TauriDesktop {
    /// The desktop of this app; a tray that cannot be made is logged.
    pub(crate) fn new(app: &AppHandle, events: &mpsc::UnboundedSender<Event>) -> Self {
        let first = TrayModel::new(&Stage::Opening, false);
        let tray = DrawnTray::new(app, first, events);
        if let Err(error) = &tray {
            tracing::error!(%error, "there is no icon in the tray");
        }
        let panel = Panel::new(app.clone(), events.clone());
        Self { app: app.clone(), panel, tray: tray.ok(), login: login::entry() }
    }

    #[expect(
        deprecated,
        reason = "one plugin for links and folders; its successor does the same by the same library"
    )]
    fn open(&self, what: &str) {
        log("opening", self.app.shell().open(what, None));
    }
}

impl Desktop for TauriDesktop {
    fn show_panel(&mut self, page: &Page) {
        if let Err(error) = self.panel.show(page) {
            let instead = match page {
                Page::Served { url } => format!("open {url} in a browser"),
                Page::Bundled { trouble, .. } => trouble.what.clone(),
            };
            say::failure(&format!("the panel cannot be shown: {error}"), Some(&instead));
        }
    }

    fn hide_panel(&mut self) {
        log("hiding the panel", self.panel.hide());
    }

    fn forget_page(&mut self) {
        self.panel.forget_page();
    }

    fn set_tray(&mut self, tray: &TrayModel) {
        if let Some(drawn) = &mut self.tray {
            log("drawing the tray", drawn.draw(tray));
        }
    }

    fn copy_text(&mut self, text: &str) {
        log("copying", self.app.clipboard().write_text(text));
    }

    fn open_link(&mut self, link: &str) {
        self.open(link);
    }

    fn open_logs(&mut self) {
        if let Some(folder) = hangar_server::logs_dir() {
            self.open(&folder.to_string_lossy());
        }
    }

    fn launches_at_login(&self) -> bool {
        let enabled = self.login.as_ref().map(AutoLaunch::is_enabled);
        match enabled {
            Ok(Ok(enabled)) => enabled,
            Ok(Err(error)) => unseen(&error),
            Err(error) => unseen(error),
        }
    }

    fn launch_at_login(&mut self, wanted: bool) {
        const DOING: &str = "changing the launch at login";
        match &self.login {
            Ok(login) => log(DOING, if wanted { login.enable() } else { login.disable() }),
            Err(error) => log(DOING, Err(error)),
        }
    }

    fn quit(&mut self) {
        self.app.exit(0);
    }
}

fn unseen(error: &dyn std::fmt::Display) -> bool {
    tracing::warn!(%error, "it cannot be seen whether the app is started at login");
    false
}

fn log<E: std::fmt::Display>(doing: &str, outcome: Result<(), E>) {
    if let Err(error) = outcome {
        tracing::warn!(%error, "{doing} failed");
    }
}
