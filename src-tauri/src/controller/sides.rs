//! The two sides of the controller, as it needs them: what really stands behind them is elsewhere.

use crate::controller::Page;
use crate::tray::TrayModel;

/// The desktop as the app needs it.
pub(crate) trait Desktop {
    /// Shows the panel with this page in front of other windows.
    fn show_panel(&mut self, page: &Page);
    /// Hides the panel.
    fn hide_panel(&mut self);
    /// Has the page loaded anew when the panel is shown next.
    fn forget_page(&mut self);
    /// Draws icon and menu.
    fn set_tray(&mut self, tray: &TrayModel);
    /// Puts text on the clipboard.
    fn copy_text(&mut self, text: &str);
    /// Opens an address with the system's own program.
    fn open_link(&mut self, link: &str);
    /// Opens the folder of the log files with the system's own program.
    fn open_logs(&mut self);
    /// Whether the app is started at login.
    fn launches_at_login(&self) -> bool;
    /// Has the app started at login, or not.
    fn launch_at_login(&mut self, wanted: bool);
    /// Ends the process.
    fn quit(&mut self);
}

/// The server as the app needs it; what comes of it are events.
pub(crate) trait Service {
    /// Opens the server: [`crate::controller::Event::Opened`] and snapshots follow, or [`crate::controller::Event::OpenFailed`].
    fn open(&mut self);
    /// Takes requests again.
    fn turn_on(&mut self);
    /// Takes no requests and unloads the model.
    fn turn_off(&mut self);
    /// Ends in order: [`crate::controller::Event::Ended`] follows, or [`crate::controller::Event::DrainLimitReached`].
    fn drain(&mut self);
    /// Ends at once: [`crate::controller::Event::Ended`] follows, or [`crate::controller::Event::EndLimitReached`].
    fn end_at_once(&mut self);
}
