//! Making runtimes with a uv that copies instead of downloading.

use super::*;
use crate::expected::tests::{AFTER, BEFORE, project};
use crate::python::tests::{fake, script};
use std::sync::mpsc;

/// A uv that makes what the real one would; `before_packages` runs before the locked packages are there.
fn uv(folder: &Path, before_packages: &str) -> PathBuf {
    let path = folder.join("tools/uv");
    let machine = Platform::current().unwrap().python_machine();
    let body = format!(
        r#"
case "$*" in
--version) echo uv 0 ;;
venv*) for root; do :; done
    mkdir -p "$root/bin" "$root/lib/python3.12/site-packages"
    cat >"$root/bin/python" <<'PYTHON'
#!/bin/sh
root=$(dirname "$(dirname "$0")")
if [ "$2" = -m ]; then
    echo '{{"ok":true,"rows":[{{"name":"python","ok":true,"expected":"","found":"","cure":""}}]}}'
else
    echo '{{"executable":"/base/python3.12","version":"3.12.1","implementation":"cpython","machine":"{machine}",'
    echo '"free_threaded":false,"packages":{{}},"site_packages":"'"$root"'/lib/python3.12/site-packages"}}'
fi
PYTHON
    chmod +x "$root/bin/python" ;;
*--require-hashes*) packages="$(dirname "$(dirname "$4")")/lib/python3.12/site-packages"
    {before_packages}
    echo 'Installed 1 package' >&2
    mkdir -p "$packages/mlx_vlm/__pycache__" "$packages/mlx_vlm-0.7.10.dist-info"
    ln '{cache}' "$packages/mlx_vlm/a.py"
    : >"$packages/mlx_vlm/__pycache__/a.cpython-312.pyc" ;;
*--no-index*) [ -f "$8" ] || exit 7
    packages="$(dirname "$(dirname "$4")")/lib/python3.12/site-packages"
    mkdir -p "$packages/hangar_worker" "$packages/hangar_worker-0.1.0.dist-info"
    printf library >"$packages/hangar_worker/_native.abi3.so"
    echo 'hangar_worker/_native.abi3.so,sha256=x,7' >"$packages/hangar_worker-0.1.0.dist-info/RECORD" ;;
*) exit 9 ;;
esac"#,
        cache = folder.join("cache.py").display()
    );
    script(&path, &body);
    fs::write(folder.join("cache.py"), BEFORE).unwrap();
    path
}

fn request(folder: &Path, before_packages: &str) -> Request {
    let python = folder.join("base/python3.12");
    fake(&python, "3.12.1", "{}");
    let environment =
        Environment::from_pairs([("HANGAR_UV", uv(folder, before_packages)), ("HANGAR_PYTHON", python)]);
    let resources = project(folder);
    let root = folder.join("runtimes/here");
    Request { resources, root, environment }
}

fn told(request: &Request) -> (Result<Runtime, ProvisionError>, Vec<Step>) {
    let mut steps = Vec::new();
    let result = ensure(request, &mut |step| steps.push(step));
    (result, steps)
}

fn in_runtimes(request: &Request) -> Vec<String> {
    files::entries(parent(&request.root)).unwrap().iter().map(|path| name(path)).collect()
}

const SOURCE: &str = "lib/python3.12/site-packages/mlx_vlm/a.py";

#[test]
fn a_runtime_is_made_patched_and_marked_and_the_cache_stays_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let request = request(folder.path(), "");
    let (runtime, steps) = told(&request);
    let runtime = runtime.unwrap();
    assert_eq!(runtime.python, real(&request.root).join("bin/python"));
    assert_eq!(fs::read_to_string(request.root.join(SOURCE)).unwrap(), AFTER);
    assert_eq!(fs::read_to_string(folder.path().join("cache.py")).unwrap(), BEFORE);
    assert!(
        !request.root.join("lib/python3.12/site-packages/mlx_vlm/__pycache__/a.cpython-312.pyc").exists()
    );
    assert!(steps.contains(&Step::Said { line: "Installed 1 package".into() }), "{steps:?}");
    assert!(matches!(steps.last(), Some(Step::Finished { .. })));
    assert_eq!(in_runtimes(&request), ["here", "here.lock"]);
    let (again, steps) = told(&request);
    assert_eq!((again.unwrap(), steps), (runtime, Vec::new()));
}

#[test]
fn a_folder_named_relative_to_the_current_one_is_made_there_and_answered_absolute() {
    let folder = tempfile::tempdir().unwrap();
    let request = request(folder.path(), "");
    let upwards = std::env::current_dir().unwrap().components().skip(1).map(|_| "..").collect::<PathBuf>();
    let relative = upwards.join(request.root.strip_prefix("/").unwrap());
    let runtime = ensure(&Request { root: relative, ..request.clone() }, &mut |_| ()).unwrap();
    assert_eq!(real(&runtime.root), real(&request.root));
    assert!(runtime.root.is_absolute() && runtime.python.is_absolute());
}

#[test]
fn a_link_to_a_folder_stays_a_link() {
    let folder = tempfile::tempdir().unwrap();
    let request = request(folder.path(), "");
    let elsewhere = folder.path().join("elsewhere/runtime");
    fs::create_dir_all(&elsewhere).unwrap();
    fs::create_dir_all(parent(&request.root)).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &request.root).unwrap();
    ensure(&request, &mut |_| ()).unwrap();
    assert!(request.root.is_symlink() && elsewhere.join(marker::MARKER).is_file());
}

#[test]
fn a_folder_left_by_a_kill_is_made_anew() {
    let folder = tempfile::tempdir().unwrap();
    let request = request(folder.path(), "");
    let leftover = parent(&request.root).join(".here.making-abc");
    fs::create_dir_all(leftover.join("runtime/bin")).unwrap();
    fs::create_dir_all(&request.root).unwrap();
    marker::claim(&request.root).unwrap();
    fs::write(request.root.join("half"), "").unwrap();
    let (runtime, steps) = told(&request);
    runtime.unwrap();
    assert_eq!(
        steps[0],
        Step::RemovingUnfinished { path: real(parent(&request.root)).join(".here.making-abc") }
    );
    assert!(!request.root.join("half").exists());
    assert_eq!(in_runtimes(&request), ["here", "here.lock"]);
}

#[test]
fn a_folder_left_by_a_kill_goes_also_when_the_runtime_is_whole_by_now() {
    let folder = tempfile::tempdir().unwrap();
    let request = request(folder.path(), "");
    let made = ensure(&request, &mut |_| ()).unwrap();
    let runtimes = real(parent(&request.root));
    let leftovers = [runtimes.join(".here.making-abc"), runtimes.join(".older.making-def")];
    for leftover in &leftovers {
        fs::create_dir_all(leftover.join("runtime/bin")).unwrap();
    }
    fs::write(runtimes.join("older.lock"), "").unwrap();
    let (again, steps) = told(&request);
    assert_eq!(again.unwrap(), made);
    assert_eq!(steps, leftovers.map(|path| Step::RemovingUnfinished { path }));
    assert_eq!(in_runtimes(&request), ["here", "here.lock", "older.lock"]);
}

#[test]
fn a_folder_that_is_being_filled_stays_where_the_runtime_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let request = request(folder.path(), "");
    ensure(&request, &mut |_| ()).unwrap();
    let runtimes = real(parent(&request.root));
    let (ours, others) = (runtimes.join(".here.making-abc"), runtimes.join(".nobodys.making-def"));
    fs::create_dir_all(&ours).unwrap();
    fs::create_dir_all(&others).unwrap();
    let held = lock(&real(&request.root), &mut |_| ()).unwrap();
    let (found, steps) = told(&request);
    found.unwrap();
    assert_eq!(steps, Vec::new());
    assert!(ours.exists() && others.exists());
    drop(held);
    assert_eq!(told(&request).1, [Step::RemovingUnfinished { path: ours.clone() }]);
    assert!(!ours.exists() && others.exists(), "what has no lock is nobody's to remove");
}

#[test]
fn a_runtime_that_lost_its_native_module_is_refused_by_ensure_and_mended_by_repair() {
    let folder = tempfile::tempdir().unwrap();
    let request = request(folder.path(), "");
    ensure(&request, &mut |_| ()).unwrap();
    let native = request.root.join("lib/python3.12/site-packages/hangar_worker/_native.abi3.so");
    fs::remove_file(&native).unwrap();
    let error = ensure(&request, &mut |_| ()).unwrap_err();
    assert!(matches!(error, ProvisionError::RuntimeUnverified { .. }), "{error}");
    repair(&request, &mut |_| ()).unwrap();
    assert!(native.is_file());
}

#[test]
fn a_folder_of_somebody_else_is_never_removed() {
    let folder = tempfile::tempdir().unwrap();
    let request = request(folder.path(), "");
    fs::create_dir_all(&request.root).unwrap();
    fs::write(request.root.join("letter.txt"), "mine").unwrap();
    for result in [ensure(&request, &mut |_| ()), repair(&request, &mut |_| ())] {
        let error = result.unwrap_err();
        assert!(matches!(error, ProvisionError::RuntimeForeign { .. }), "{error}");
        assert!(error.hint().unwrap().contains("HANGAR_RUNTIME"));
    }
    assert_eq!(fs::read_to_string(request.root.join("letter.txt")).unwrap(), "mine");
}

#[test]
fn a_changed_runtime_is_refused_by_ensure_and_mended_by_repair() {
    let folder = tempfile::tempdir().unwrap();
    let request = request(folder.path(), "");
    ensure(&request, &mut |_| ()).unwrap();
    fs::write(request.root.join(SOURCE), "edited\n").unwrap();
    let error = ensure(&request, &mut |_| ()).unwrap_err();
    assert!(matches!(error, ProvisionError::RuntimeUnverified { .. }), "{error}");
    repair(&request, &mut |_| ()).unwrap();
    assert_eq!(fs::read_to_string(request.root.join(SOURCE)).unwrap(), AFTER);
    ensure(&request, &mut |_| ()).unwrap();
}

#[test]
fn a_failed_repair_keeps_the_old_runtime_and_names_the_cure() {
    let folder = tempfile::tempdir().unwrap();
    let request = request(folder.path(), "");
    ensure(&request, &mut |_| ()).unwrap();
    uv(folder.path(), "echo 'dns error: failed to lookup address' >&2; exit 2");
    let error = repair(&request, &mut |_| ()).unwrap_err();
    assert!(
        error.to_string().contains("exit status 2") && error.to_string().contains("dns error"),
        "{error}"
    );
    assert!(error.hint().unwrap().contains("network"));
    ensure(&request, &mut |_| ()).unwrap();
    assert_eq!(in_runtimes(&request), ["here", "here.lock"]);
}

#[test]
fn a_runtime_of_other_pins_is_made_anew_in_the_same_folder() {
    let folder = tempfile::tempdir().unwrap();
    let request = request(folder.path(), "");
    ensure(&request, &mut |_| ()).unwrap();
    let wheel = request.resources.worker_wheel().unwrap();
    fs::write(wheel, "another worker").unwrap();
    let error = Expected::read(&request.resources).unwrap().inspect(&request.root).unwrap_err();
    assert!(matches!(error, ProvisionError::RuntimeUnverified { .. }), "{error}");
    let (runtime, steps) = told(&request);
    runtime.unwrap();
    assert!(matches!(steps.last(), Some(Step::Finished { .. })));
}

#[test]
fn a_download_that_the_patch_was_not_made_for_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let request = request(folder.path(), "");
    fs::write(folder.path().join("cache.py"), "another release\n").unwrap();
    let error = ensure(&request, &mut |_| ()).unwrap_err();
    assert!(matches!(error, ProvisionError::PatchRefused { .. }), "{error}");
    assert_eq!(in_runtimes(&request), ["here.lock"]);
}

#[test]
fn a_second_builder_waits_for_the_first_and_makes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let request = request(folder.path(), "while [ ! -e \"$(dirname \"$0\")/go\" ]; do sleep 0.01; done");
    let (first_is_installing, installing) = mpsc::channel();
    let (second_waits, waiting) = mpsc::channel();
    let first = {
        let request = request.clone();
        std::thread::spawn(move || {
            ensure(&request, &mut |step| {
                if matches!(step, Step::InstallingPackages { .. }) {
                    first_is_installing.send(()).unwrap();
                }
            })
        })
    };
    installing.recv().unwrap();
    let second = {
        let request = request.clone();
        std::thread::spawn(move || {
            let mut steps = Vec::new();
            let result = ensure(&request, &mut |step| {
                steps.push(step);
                second_waits.send(()).ok();
            });
            (result, steps)
        })
    };
    waiting.recv().unwrap();
    fs::write(folder.path().join("tools/go"), "").unwrap();
    let made = first.join().unwrap().unwrap();
    let (found, steps) = second.join().unwrap();
    assert_eq!(found.unwrap(), made);
    assert!(matches!(steps.as_slice(), [Step::WaitingForOtherBuilder { .. }]), "{steps:?}");
}

#[test]
fn the_folder_is_named_by_its_key_unless_it_is_named_itself() {
    let folder = tempfile::tempdir().unwrap();
    let resources = project(folder.path());
    let runtimes = folder.path().join("runtimes");
    let key = Expected::read(&resources).unwrap().key;
    let found = locate_from(&runtimes, &resources, &Environment::default()).unwrap();
    assert_eq!(found, runtimes.join(key.as_str()));
    let named = Environment::from_pairs([("HANGAR_RUNTIME", "/shared/runtime")]);
    assert_eq!(locate_from(&runtimes, &resources, &named).unwrap(), Path::new("/shared/runtime"));
}
