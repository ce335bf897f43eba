//! Launch at login: the desktop's own entry for this program, with the variables it was started with.
//!
//! At login nobody sets what `npm start` sets, so the entry carries it. One entry a state folder.

use std::path::Path;

use auto_launch::{AutoLaunch, AutoLaunchBuilder};

use crate::AT_LOGIN;

/// Variables that name files and folders: what they say is made absolute.
const PATHS: [&str; 4] = ["HANGAR_HOME", "HANGAR_CONFIG", "HANGAR_RESOURCES", "HANGAR_RUNTIME"];
/// Variables that are carried as they are.
const PLAIN: [&str; 1] = ["HANGAR_PORT"];
const NAME: &str = "Hangar";
/// A state folder's path may be longer than a file's name.
const LONGEST_NAME: usize = 120;

/// The entry could not be thought of, read or written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LoginError {
    /// The system does not tell where the running program is.
    #[error("the running program is not found: {0}")]
    Program(#[from] std::io::Error),
    /// The entry's file.
    #[error("the entry for the login cannot be used: {0}")]
    Entry(#[from] auto_launch::Error),
}

/// The entry of this program for the state folder it serves.
pub(crate) fn entry() -> Result<AutoLaunch, LoginError> {
    let program = std::env::current_exe()?;
    let variables = carried(|name| std::env::var(name).ok());
    let mut builder = AutoLaunchBuilder::new();
    builder.set_app_name(&name(&variables));
    describe(&mut builder, &program.to_string_lossy(), &variables);
    Ok(builder.build()?)
}

/// What was set, by name.
type Variables = Vec<(&'static str, String)>;

fn carried(variable: impl Fn(&str) -> Option<String>) -> Variables {
    let set = |name| variable(name).filter(|value| !value.is_empty());
    let paths = PATHS.into_iter().filter_map(|name| Some((name, absolute(set(name)?))));
    paths.chain(PLAIN.into_iter().filter_map(|name| Some((name, set(name)?)))).collect()
}

fn absolute(path: String) -> String {
    std::path::absolute(Path::new(&path)).map_or(path, |whole| whole.to_string_lossy().into_owned())
}

/// The usual state folder has the plain name.
fn name(variables: &Variables) -> String {
    let home = variables.iter().find(|(name, _)| *name == "HANGAR_HOME");
    let Some((_, home)) = home else { return NAME.to_owned() };
    let spelled: Vec<char> = home.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let last = spelled.len().saturating_sub(LONGEST_NAME);
    format!("{NAME}{}", spelled.iter().skip(last).collect::<String>())
}

#[cfg(target_os = "macos")]
fn describe(builder: &mut AutoLaunchBuilder, program: &str, variables: &Variables) {
    builder.set_macos_launch_mode(auto_launch::MacOSLaunchMode::LaunchAgent);
    builder.set_app_path(program).set_args(&[AT_LOGIN]).set_agent_extra_config(&property_list(variables));
}

#[cfg(not(target_os = "macos"))]
fn describe(builder: &mut AutoLaunchBuilder, program: &str, variables: &Variables) {
    builder.set_app_path("/usr/bin/env").set_args(&arguments(program, variables));
}

/// Arguments of `env`, quoted as the Exec key of a desktop entry wants it.
#[cfg(any(test, not(target_os = "macos")))]
fn arguments(program: &str, variables: &Variables) -> Vec<String> {
    let settings = variables.iter().map(|(name, value)| quoted(&format!("{name}={value}")));
    settings.chain([quoted(program), AT_LOGIN.to_owned()]).collect()
}

/// First the rule for arguments, then the one for values: a backslash is doubled by each.
#[cfg(any(test, not(target_os = "macos")))]
fn quoted(argument: &str) -> String {
    let mut text = String::from("\"");
    for letter in argument.chars() {
        match letter {
            '\\' => text.push_str(r"\\\\"),
            '"' | '`' | '$' => text.extend([r"\\", letter.encode_utf8(&mut [0; 4])]),
            '\n' => text.push_str(r"\n"),
            '%' => text.push_str("%%"),
            _ => text.push(letter),
        }
    }
    text.push('"');
    text
}

/// The part of a launch agent that sets variables.
#[cfg(any(test, target_os = "macos"))]
fn property_list(variables: &Variables) -> String {
    let escaped = |value: &str| value.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let pairs: String = variables
        .iter()
        .map(|(name, value)| format!("<key>{name}</key><string>{}</string>", escaped(value)))
        .collect();
    format!("<key>EnvironmentVariables</key>\n  <dict>{pairs}</dict>")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(pairs: &[(&str, &str)]) -> Variables {
        carried(|name| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned()))
    }

    #[test]
    fn what_names_folders_and_port_is_carried_and_nothing_else() {
        let variables = with(&[
            ("HANGAR_RUNTIME", "/cache/runtimes/1"),
            ("HANGAR_PORT", "5000"),
            ("HANGAR_HOME", ""),
            ("HANGAR_LOG", "trace"),
            ("PATH", "/bin"),
        ]);
        assert_eq!(
            variables,
            [("HANGAR_RUNTIME", "/cache/runtimes/1".to_owned()), ("HANGAR_PORT", "5000".to_owned())]
        );
    }

    #[test]
    fn a_folder_that_depends_on_where_one_stands_is_made_absolute() {
        let variables = with(&[("HANGAR_HOME", "state")]);
        let here = std::env::current_dir().unwrap().join("state");
        assert_eq!(variables, [("HANGAR_HOME", here.to_str().unwrap().to_owned())]);
    }

    #[test]
    fn each_state_folder_has_an_entry_of_its_own() {
        assert_eq!(name(&with(&[])), "Hangar");
        assert_eq!(name(&with(&[("HANGAR_HOME", "/a b/ü")])), "Hangar-a-b--");
        let long = format!("/{}", "x".repeat(400));
        assert_eq!(name(&with(&[("HANGAR_HOME", &long)])).len(), NAME.len() + LONGEST_NAME);
    }

    #[test]
    fn a_desktop_entry_quotes_whatever_a_path_holds() {
        let variables = with(&[("HANGAR_HOME", "/a b/$x\"`\\50%")]);
        assert_eq!(
            arguments("/my clone/hangar-app", &variables),
            [r#""HANGAR_HOME=/a b/\\$x\\"\\`\\\\50%%""#, r#""/my clone/hangar-app""#, "--at-login"]
        );
    }

    #[test]
    fn a_launch_agent_sets_the_same_variables() {
        let list = property_list(&with(&[("HANGAR_HOME", "/a & <b>"), ("HANGAR_PORT", "5000")]));
        assert_eq!(
            list,
            "<key>EnvironmentVariables</key>\n  <dict><key>HANGAR_HOME</key><string>/a &amp; &lt;b&gt;</string>\
             <key>HANGAR_PORT</key><string>5000</string></dict>"
        );
    }
}
