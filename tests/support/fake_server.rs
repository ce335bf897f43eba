//! A server with a scripted worker: `fake-server FOLDER`, where `FOLDER/script.json` holds the worker's lives.

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use hangar_config::{Environment, Home};
use hangar_server::{Server, follow_signals, open_listeners};
use hangar_tests::{ScriptedLaunch, ScriptedWorkshop};

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> ExitCode {
    let Some(folder) = std::env::args_os().nth(1) else {
        return ExitCode::from(2);
    };
    match serve(folder.into()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&mut std::io::stderr(), &error.to_string());
            ExitCode::FAILURE
        }
    }
}

async fn serve(folder: PathBuf) -> Result<(), Box<dyn Error>> {
    let home = Home::from_environment(|name| (name == "HANGAR_HOME").then(|| folder.display().to_string()))?;
    let settings = hangar_config::load(&home, &Environment::default())?.settings;
    let program = std::env::current_exe()?.with_file_name("fake-worker");
    let launch = ScriptedLaunch { program, script: folder.join("script.json") };
    let workshop = Arc::new(ScriptedWorkshop::new(launch, settings.profiles.default_profile()));
    let listeners = open_listeners(&home, settings.server.host, None).await?;
    let server = Server::builder(settings, workshop).port(listeners.port).build();
    say(&mut std::io::stdout(), &format!("Hangar is listening on http://127.0.0.1:{}", listeners.port));
    server.serve(listeners.sockets, follow_signals()?).await;
    Ok(())
}

fn say(out: &mut impl std::io::Write, text: &str) {
    drop(writeln!(out, "{text}").and_then(|()| out.flush()));
}
