//! The in-process floor: a Python process that drives the engine with nothing around it.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use hangar_provision::{Runtime, worker_environment};
use serde_json::{Value, json};

use super::BenchError;

const WHO: &str = "the in-process floor";

/// A running floor.
#[derive(Debug)]
pub(crate) struct Floor {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Floor {
    /// Writes the model that never ends its answer.
    pub(crate) fn make_model(
        runtime: &Runtime,
        script: &Path,
        source: &Path,
        target: &Path,
    ) -> Result<(), BenchError> {
        let made = python(runtime, script).arg("make").arg(source).arg(target).output();
        let made = made.map_err(|error| process(error.to_string()))?;
        if made.status.success() {
            Ok(())
        } else {
            Err(process(String::from_utf8_lossy(&made.stderr).into_owned()))
        }
    }

    /// Loads a model and waits until it is ready.
    pub(crate) fn start(runtime: &Runtime, script: &Path, model: &Path) -> Result<Self, BenchError> {
        let mut command = python(runtime, script);
        command.arg("serve").arg(model).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(|error| process(error.to_string()))?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(process("has no pipes".to_owned()));
        };
        let mut floor = Self { child, stdin, stdout: BufReader::new(stdout) };
        floor.answer()?;
        Ok(floor)
    }

    /// Milliseconds to the first token, and the prompt's tokens.
    pub(crate) fn first(&mut self, text: &str) -> Result<(f64, f64), BenchError> {
        let answer = self.ask(&json!({ "ask": "first", "text": text }))?;
        Ok((number(&answer, "first_ms")?, number(&answer, "prompt_tokens")?))
    }

    /// Tokens a second through our engine.
    pub(crate) fn decode(&mut self, text: &str, tokens: u32) -> Result<f64, BenchError> {
        number(&self.ask(&json!({ "ask": "decode", "text": text, "tokens": tokens }))?, "tokens_per_second")
    }

    /// Tokens a second through mlx-vlm's own loop.
    pub(crate) fn upstream(&mut self, text: &str, tokens: u32) -> Result<f64, BenchError> {
        number(&self.ask(&json!({ "ask": "upstream", "text": text, "tokens": tokens }))?, "tokens_per_second")
    }

    fn ask(&mut self, question: &Value) -> Result<Value, BenchError> {
        writeln!(self.stdin, "{question}")
            .and_then(|()| self.stdin.flush())
            .map_err(|error| process(error.to_string()))?;
        self.answer()
    }

    fn answer(&mut self) -> Result<Value, BenchError> {
        let mut line = String::new();
        match self.stdout.read_line(&mut line) {
            Ok(0) => Err(process("ended".to_owned())),
            Ok(_) => serde_json::from_str(&line)
                .map_err(|error| BenchError::Answer { who: WHO, what: error.to_string() }),
            Err(error) => Err(process(error.to_string())),
        }
    }
}

impl Drop for Floor {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Where the floor's program lies in a checkout.
pub(crate) fn script(resources_root: &Path) -> Result<PathBuf, BenchError> {
    let path = resources_root.join("tests/benchmarks/floor.py");
    match std::fs::metadata(&path) {
        Ok(_) => Ok(path),
        Err(source) => Err(BenchError::File { path, source }),
    }
}

fn python(runtime: &Runtime, script: &Path) -> Command {
    let mut command = Command::new(&runtime.python);
    command.env_clear().envs(worker_environment(runtime)).arg("-I").arg(script);
    command
}

fn process(what: String) -> BenchError {
    BenchError::Process { who: WHO, what }
}

fn number(answer: &Value, key: &str) -> Result<f64, BenchError> {
    answer[key].as_f64().ok_or_else(|| BenchError::Answer { who: WHO, what: answer.to_string() })
}
