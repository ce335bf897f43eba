//! The panel window: our server's page, or the bundled one when there is no server.

use std::sync::{Arc, Mutex, PoisonError};

use tauri::webview::NewWindowResponse;
use tauri::{AppHandle, Manager, Url, WebviewUrl, WebviewWindow, WebviewWindowBuilder};
use tokio::sync::mpsc;

use crate::controller::{Event, Page};
use crate::links::{self, Way};
use crate::service::send;

/// Label of the window.
pub(crate) const LABEL: &str = "panel";
const TITLE: &str = "Hangar";
const SIZE: (f64, f64) = (400.0, 640.0);
const SMALLEST: (f64, f64) = (320.0, 400.0);
/// WebKitGTK says nothing of a link that wants a window of its own, so such a link is made one for this window.
const ONE_WINDOW: &str = "addEventListener('click', (event) => \
    event.target.closest?.('a[target]')?.removeAttribute('target'), true);";

/// The one window, made when it is first shown.
#[derive(Debug)]
pub(crate) struct Panel {
    app: AppHandle,
    events: mpsc::UnboundedSender<Event>,
    page: Option<Page>,
    service: Arc<Mutex<Option<Url>>>,
}

impl Panel {
    /// No window yet.
    pub(crate) fn new(app: AppHandle, events: mpsc::UnboundedSender<Event>) -> Self {
        Self { app, events, page: None, service: Arc::default() }
    }

    /// Shows the page in front of other windows.
    pub(crate) fn show(&mut self, page: &Page) -> tauri::Result<()> {
        let address = address(page).ok_or(tauri::Error::WindowNotFound)?;
        let served = matches!(page, Page::Served { .. }).then(|| address.clone());
        *self.service.lock().unwrap_or_else(PoisonError::into_inner) = served;
        let window = match self.app.get_webview_window(LABEL) {
            Some(window) => {
                if self.page.as_ref() != Some(page) {
                    window.navigate(address)?;
                }
                window
            }
            None => self.build(address)?,
        };
        self.page = Some(page.clone());
        under_the_icon(&window);
        window.show()?;
        window.unminimize()?;
        window.set_focus()
    }

    /// Lets the page be loaded anew when it is shown next.
    pub(crate) fn forget_page(&mut self) {
        self.page = None;
    }

    /// Hides the window; its page goes on.
    pub(crate) fn hide(&self) -> tauri::Result<()> {
        self.app.get_webview_window(LABEL).map_or(Ok(()), |window| window.hide())
    }

    fn build(&self, address: Url) -> tauri::Result<WebviewWindow> {
        let (navigation, window) = (self.judge(), self.judge());
        let builder = WebviewWindowBuilder::new(&self.app, LABEL, WebviewUrl::External(address))
            .title(TITLE)
            .inner_size(SIZE.0, SIZE.1)
            .min_inner_size(SMALLEST.0, SMALLEST.1)
            // A page cannot be given dropped files otherwise.
            .disable_drag_drop_handler()
            .initialization_script(ONE_WINDOW)
            .on_navigation(move |link| navigation(link) == Way::Stay)
            .on_new_window(move |link, _| {
                // There is one window; what would stay in it goes to the browser.
                if window(&link) == Way::Stay {
                    tracing::debug!("a second window was not opened");
                }
                NewWindowResponse::Deny
            });
        // A folder that cannot be used is no reason to show nothing.
        let folder = hangar_server::webview_dir().filter(|folder| std::fs::create_dir_all(folder).is_ok());
        let builder = match folder {
            Some(folder) => builder.data_directory(folder),
            None => builder.incognito(true),
        };
        let window = platform(builder).build()?;
        follow_page(&window, &self.events)?;
        Ok(window)
    }

    /// Judges links and sends on what leads out of the window.
    fn judge(&self) -> impl Fn(&Url) -> Way + Send + use<> {
        let (events, service) = (self.events.clone(), self.service.clone());
        move |link| {
            let service = service.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let way = links::way(link, service.as_ref());
            match way {
                Way::Stay => {}
                Way::Retry => send(&events, Event::RetryAsked),
                Way::Outside => send(&events, Event::LinkFollowed(link.to_string())),
                Way::Nowhere => tracing::warn!(scheme = link.scheme(), "a link was not followed"),
            }
            way
        }
    }
}

fn address(page: &Page) -> Option<Url> {
    match page {
        Page::Served { url } => Url::parse(url).ok(),
        Page::Bundled { trouble, tries } => trouble.page(*tries),
    }
}

#[cfg(target_os = "macos")]
fn under_the_icon(window: &WebviewWindow) {
    use tauri_plugin_positioner::{Position, WindowExt};
    if let Err(error) = window.move_window(Position::TrayBottomCenter) {
        tracing::debug!(%error, "the panel does not know where its icon is");
    }
}

#[cfg(not(target_os = "macos"))]
fn under_the_icon(_window: &WebviewWindow) {}

#[cfg(target_os = "macos")]
fn platform(
    builder: WebviewWindowBuilder<'_, tauri::Wry, AppHandle>,
) -> WebviewWindowBuilder<'_, tauri::Wry, AppHandle> {
    builder.decorations(false).resizable(false).always_on_top(true).skip_taskbar(true).visible(false)
}

#[cfg(not(target_os = "macos"))]
fn platform(
    builder: WebviewWindowBuilder<'_, tauri::Wry, AppHandle>,
) -> WebviewWindowBuilder<'_, tauri::Wry, AppHandle> {
    builder.decorations(true).resizable(true)
}

/// On a Mac the app itself is told when the process that draws a page has ended.
#[cfg(target_os = "macos")]
pub(crate) fn follow_pages(
    builder: tauri::Builder<tauri::Wry>,
    events: &mpsc::UnboundedSender<Event>,
) -> tauri::Builder<tauri::Wry> {
    let events = events.clone();
    builder.on_web_content_process_terminate(move |_| send(&events, Event::PageDied))
}

/// Elsewhere each window is.
#[cfg(not(target_os = "macos"))]
pub(crate) fn follow_pages(
    builder: tauri::Builder<tauri::Wry>,
    _events: &mpsc::UnboundedSender<Event>,
) -> tauri::Builder<tauri::Wry> {
    builder
}

/// The app is told.
#[cfg(not(target_os = "linux"))]
fn follow_page(_window: &WebviewWindow, _events: &mpsc::UnboundedSender<Event>) -> tauri::Result<()> {
    Ok(())
}

/// The page has a process of its own, which the system may end.
#[cfg(target_os = "linux")]
fn follow_page(window: &WebviewWindow, events: &mpsc::UnboundedSender<Event>) -> tauri::Result<()> {
    use webkit2gtk::WebViewExt;
    let events = events.clone();
    window.with_webview(move |view| {
        view.inner().connect_web_process_terminated(move |_, _| send(&events, Event::PageDied));
    })
}
