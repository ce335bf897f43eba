//! The scripted worker as a process: `fake-worker SCRIPT.json`.

use std::process::ExitCode;

use hangar_worker::scripted;

fn main() -> ExitCode {
    let Some(script) = std::env::args_os().nth(1) else {
        return ExitCode::from(2);
    };
    match scripted::next_life(script.as_ref()) {
        Ok(life) => ExitCode::from(u8::try_from(scripted::live(&life)).unwrap_or(u8::MAX)),
        Err(what) => {
            drop(std::io::Write::write_all(&mut std::io::stderr(), format!("{what}\n").as_bytes()));
            ExitCode::from(3)
        }
    }
}
