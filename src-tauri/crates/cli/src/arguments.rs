//! What can be said on the command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

/// A loopback server for Gemma 4 on this machine.
#[derive(Debug, Parser)]
#[command(
    name = "hangar",
    version,
    about = "A loopback server for Gemma 4 on this machine.",
    after_help = "Environment:\n  \
        HANGAR_HOME     folder that holds all state (local.json, logs, runtimes)\n  \
        HANGAR_CONFIG   another file than local.json in HANGAR_HOME\n  \
        HANGAR_PORT     port to listen on; it must be free\n  \
        HANGAR_RUNTIME  Python runtime to use instead of the one in HANGAR_HOME\n  \
        HANGAR_LOG      what to log, such as info or debug"
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve in this terminal until Ctrl-C.
    Serve(Serve),
    /// Serve in the background, and print the address once it answers.
    Start(Start),
    /// End the server of this HANGAR_HOME and wait until it is gone.
    Stop,
    /// Stop, then start.
    Restart(Start),
    /// Show what the server and its worker are doing.
    State(State),
    /// Look over the configuration, show it, or find its file.
    #[command(subcommand)]
    Config(Config),
    /// Make, find or mend the Python runtime.
    #[command(subcommand)]
    Runtime(Runtime),
    /// Prove that things work.
    #[command(subcommand)]
    Check(Check),
    /// Measure ratios against the engine alone and against named peers.
    #[command(subcommand)]
    Bench(Bench),
}

#[derive(Clone, Debug, Args)]
pub(crate) struct Serve {
    /// Port to listen on; without it the last one used, or the next free one from 4017.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1024..))]
    pub(crate) port: Option<u16>,
    /// Leave the terminal's session; `hangar start` says this to the process it starts.
    #[arg(long, hide = true)]
    pub(crate) detached: bool,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct Start {
    /// Port to listen on; without it the last one used, or the next free one from 4017.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1024..))]
    pub(crate) port: Option<u16>,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct State {
    /// Print JSON: what /health, /ready and /admin/stats answer.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Debug, Subcommand)]
#[command(after_help = "Example:\n  \
    hangar config check && hangar restart\n  \
    hangar config show --profile e2b\n\n\
    Every key: docs/configuration.md")]
pub(crate) enum Config {
    /// Are all keys known and all values possible? Exits 1 if not.
    Check(Json),
    /// Every value in use, and which layer it came from; a key is not shown.
    Show(ConfigShow),
    /// Where local.json is, or would be.
    Path(Json),
}

#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Json {
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct ConfigShow {
    /// Profile to show instead of the default one; JSON has all of them.
    #[arg(long, value_name = "PROFILE")]
    pub(crate) profile: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Runtime {
    /// Make the runtime where there is none; a whole one is left as it is.
    Ensure(Making),
    /// Print where the runtime is.
    Path(Where),
    /// Compare the runtime with its pins and measure its exactness.
    Verify(Verify),
    /// Make the runtime anew, whatever is there.
    Repair(Making),
}

#[derive(Clone, Debug, Args)]
pub(crate) struct Where {
    /// Folder of runtimes instead of HANGAR_HOME/runtimes; HANGAR_RUNTIME still wins.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) runtimes_dir: Option<PathBuf>,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct Making {
    #[command(flatten)]
    pub(crate) place: Where,
    /// Print the runtime's folder as the last line.
    #[arg(long)]
    pub(crate) print_path: bool,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct Verify {
    #[command(flatten)]
    pub(crate) place: Where,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Check {
    /// Ask the built-in model what it must know, through a real worker: recall, tool call, image, speech, exactness.
    #[command(name = "self")]
    Itself(CheckSelf),
    /// Follow a running server's words and codes through load, answer and unload.
    #[command(after_help = "Example:\n  hangar check ready --profile pocket --json")]
    Ready(Target),
    /// Kill the worker of a running server in mid-answer, and ask again.
    #[command(after_help = "Example:\n  hangar check recovery --url http://127.0.0.1:4017")]
    Recovery(Target),
    /// Halt the worker of a running server in mid-answer, wait for the typed end, and ask again.
    #[command(after_help = "Example:\n  hangar check timeout --json")]
    Timeout(Target),
}

/// A running server, and what to say of it.
#[derive(Clone, Debug, Args)]
pub(crate) struct Target {
    /// Address of the server; without it the one of this HANGAR_HOME.
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,
    /// Profile to ask; without it the default one.
    #[arg(long, value_name = "PROFILE")]
    pub(crate) profile: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct CheckSelf {
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Bench {
    /// What the server adds to the engine: time to first text, tokens a second, start, memory.
    Overhead(Overhead),
    /// Recovery after a kill, refusals of a full queue, and ten thousand requests in a row.
    Control(Control),
    /// What markup and events cost a token, and what a request of an agent's size costs.
    Chat(Chat),
    /// How fast sound and photos are made ready for a model, and how much memory that takes.
    Media(Media),
}

#[derive(Clone, Debug, Args)]
pub(crate) struct Chat {
    /// Rounds; each figure is the median of them.
    #[arg(long, default_value_t = 9, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) rounds: u32,
    /// Server with a scripted worker (`fake-server` of the tests); `npm run bench -- chat` builds it.
    #[arg(long, value_name = "PROGRAM")]
    pub(crate) scripted_server: PathBuf,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct Media {
    /// Rounds; each figure is the median of them.
    #[arg(long, default_value_t = 9, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) rounds: u32,
    /// Folder with `words_45s.m4a` and `photo_12mp.jpg`: tests/fixtures/media of a checkout.
    #[arg(long, value_name = "FOLDER", default_value = "tests/fixtures/media")]
    pub(crate) files: PathBuf,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct Control {
    /// Interleaved rounds of kill and cold load; each figure is the median of them.
    #[arg(long, default_value_t = 9, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) rounds: u32,
    /// Requests of the long run, after a tenth as many to warm up.
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(10..))]
    pub(crate) requests: u32,
    /// Server with a scripted worker (`fake-server` of the tests); without it the long run is left out.
    #[arg(long, value_name = "PROGRAM")]
    pub(crate) scripted_server: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct Overhead {
    /// Interleaved rounds; each figure is the median of them.
    #[arg(long, default_value_t = 9, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) rounds: u32,
    /// Python that has mlx_vlm.server, to measure it beside ours.
    #[arg(long, value_name = "PYTHON")]
    pub(crate) peer: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_arguments_are_sound() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn the_help_says_what_can_be_done() {
        let mut command = Arguments::command();
        command.build();
        let mut text = command.render_long_help().to_string();
        for name in ["serve", "start", "state", "config", "runtime", "check", "bench"] {
            let below = command.find_subcommand_mut(name).unwrap();
            text.push_str(&format!("\n==== {name}\n{}", below.render_long_help()));
        }
        insta::assert_snapshot!(text);
    }

    #[test]
    fn port_zero_is_no_port() {
        assert!(Arguments::try_parse_from(["hangar", "serve", "--port", "0"]).is_err());
        assert!(Arguments::try_parse_from(["hangar", "serve", "--port", "70000"]).is_err());
        assert!(Arguments::try_parse_from(["hangar", "serve", "--port", "4018"]).is_ok());
    }
}
