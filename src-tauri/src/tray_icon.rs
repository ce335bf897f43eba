//! Draws a [`TrayModel`]: the entries are made once, and then only what differs is set.

use std::sync::{Arc, Mutex, PoisonError};

use tauri::AppHandle;
use tauri::image::Image;
use tauri::menu::{CheckMenuItem, Menu, MenuItem, MenuItemKind, PredefinedMenuItem};
use tauri::tray::{MouseButton, MouseButtonState, TrayIcon, TrayIconBuilder, TrayIconEvent};
use tokio::sync::mpsc;

use crate::controller::Event;
use crate::service::send;
use crate::tray::{Entry, Mark, TrayModel};

/// Icon and menu of the desktop.
pub(crate) struct DrawnTray {
    icon: TrayIcon,
    entries: Vec<MenuItemKind<tauri::Wry>>,
    drawn: Arc<Mutex<TrayModel>>,
}

impl DrawnTray {
    /// Makes icon and menu.
    pub(crate) fn new(
        app: &AppHandle,
        model: TrayModel,
        events: &mpsc::UnboundedSender<Event>,
    ) -> tauri::Result<Self> {
        let entries: Vec<_> = model
            .entries
            .iter()
            .enumerate()
            .map(|(place, entry)| make(app, place, entry))
            .collect::<Result<_, _>>()?;
        let menu = Menu::new(app)?;
        for entry in &entries {
            menu.append(entry)?;
        }
        let mark = model.mark;
        let drawn = Arc::new(Mutex::new(model));
        let (shown, chosen, pressed) = (drawn.clone(), events.clone(), events.clone());
        let icon = TrayIconBuilder::with_id("hangar")
            .icon(image(mark)?)
            .icon_as_template(true)
            .tooltip("Hangar")
            .menu(&menu)
            .show_menu_on_left_click(false)
            .on_menu_event(move |_, event| {
                let place = event.id().as_ref().parse().ok();
                let shown = shown.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(action) = place.and_then(|place| shown.action_at(place)) {
                    send(&chosen, Event::Chosen(action));
                }
            })
            .on_tray_icon_event(move |icon, event| icon_happened(icon, &event, &pressed))
            .build(app)?;
        Ok(Self { icon, entries, drawn })
    }

    /// Sets what differs from what is drawn.
    pub(crate) fn draw(&mut self, model: &TrayModel) -> tauri::Result<()> {
        let before =
            std::mem::replace(&mut *self.drawn.lock().unwrap_or_else(PoisonError::into_inner), model.clone());
        if before.mark != model.mark {
            self.icon.set_icon_with_as_template(Some(image(model.mark)?), true)?;
        }
        for (drawn, entry) in self.entries.iter().zip(&model.entries) {
            set(drawn, entry)?;
        }
        Ok(())
    }
}

fn make(app: &AppHandle, place: usize, entry: &Entry) -> tauri::Result<MenuItemKind<tauri::Wry>> {
    let id = place.to_string();
    Ok(match entry {
        Entry::Line(text) => {
            MenuItemKind::MenuItem(MenuItem::with_id(app, id, literal(text), false, None::<&str>)?)
        }
        Entry::Rule => MenuItemKind::Predefined(PredefinedMenuItem::separator(app)?),
        Entry::Choice { text, enabled, .. } => {
            MenuItemKind::MenuItem(MenuItem::with_id(app, id, text, *enabled, None::<&str>)?)
        }
        Entry::Tick { text, on, .. } => {
            MenuItemKind::Check(CheckMenuItem::with_id(app, id, text, true, *on, None::<&str>)?)
        }
    })
}

fn set(drawn: &MenuItemKind<tauri::Wry>, entry: &Entry) -> tauri::Result<()> {
    match entry {
        Entry::Line(text) => drawn.as_menuitem().map_or(Ok(()), |item| item.set_text(literal(text))),
        Entry::Rule => Ok(()),
        Entry::Choice { text, enabled, .. } => drawn.as_menuitem().map_or(Ok(()), |item| {
            item.set_text(text)?;
            item.set_enabled(*enabled)
        }),
        Entry::Tick { on, .. } => drawn.as_check_menuitem().map_or(Ok(()), |item| item.set_checked(*on)),
    }
}

/// In a menu, one `&` marks a key.
fn literal(text: &str) -> String {
    text.replace('&', "&&")
}

fn icon_happened(icon: &TrayIcon, event: &TrayIconEvent, events: &mpsc::UnboundedSender<Event>) {
    remember_place(icon, event);
    let pressed = matches!(
        event,
        TrayIconEvent::Click { button: MouseButton::Left, button_state: MouseButtonState::Up, .. }
    );
    if pressed {
        send(events, Event::IconPressed);
    }
}

#[cfg(target_os = "macos")]
fn remember_place(icon: &TrayIcon, event: &TrayIconEvent) {
    tauri_plugin_positioner::on_tray_event(icon.app_handle(), event);
}

#[cfg(not(target_os = "macos"))]
fn remember_place(_icon: &TrayIcon, _event: &TrayIconEvent) {}

fn image(mark: Mark) -> tauri::Result<Image<'static>> {
    let image = Image::from_bytes(match mark {
        Mark::Stopped => include_bytes!("../../icons/tray/stopped@2x.png"),
        Mark::Loading => include_bytes!("../../icons/tray/loading@2x.png"),
        Mark::Ready => include_bytes!("../../icons/tray/ready@2x.png"),
        Mark::Busy => include_bytes!("../../icons/tray/busy@2x.png"),
        Mark::Trouble => include_bytes!("../../icons/tray/trouble@2x.png"),
    })?;
    Ok(if cfg!(target_os = "macos") { image } else { readable(&image) })
}

/// Only macOS colours a template by its menu bar; this grey has a contrast of about 4 to 1 on white and near-black.
fn readable(template: &Image<'_>) -> Image<'static> {
    const GREY: [u8; 3] = [0x80, 0x80, 0x85];
    let rgba = template.rgba().chunks_exact(4).flat_map(|pixel| [GREY[0], GREY[1], GREY[2], pixel[3]]);
    Image::new_owned(rgba.collect(), template.width(), template.height())
}
