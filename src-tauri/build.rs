//! Reads the app's configuration into the program.

fn main() {
    tauri_build::build();
}
