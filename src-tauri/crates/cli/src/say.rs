//! What a person or a script reads.

use std::io::Write;

use crate::failure::Failure;

/// Writes a line to standard output and flushes it; a closed pipe is not worth a word.
pub(crate) fn line(text: &str) {
    let mut out = std::io::stdout().lock();
    drop(writeln!(out, "{text}").and_then(|()| out.flush()));
}

/// Writes a remark that is not the answer.
pub(crate) fn note(text: &str) {
    drop(writeln!(std::io::stderr().lock(), "{text}"));
}

/// Writes what went wrong and, indented, what to do about it.
pub(crate) fn failure(failure: &Failure) {
    note(&told(failure));
}

fn told(failure: &Failure) -> String {
    let cure = failure.cure().map_or_else(String::new, |cure| format!("\n  {cure}"));
    format!("hangar: {failure}{cure}")
}

/// A table with aligned columns, for a terminal.
pub(crate) fn table<const COLUMNS: usize>(rows: &[[String; COLUMNS]]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; COLUMNS] = std::array::from_fn(width);
    let lines = rows.iter().map(|row| {
        let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_one_line_and_its_cure_an_indented_one() {
        let failure = Failure::StopTimedOut { pid: 7, limit_s: 30 };
        assert_eq!(
            told(&failure),
            "hangar: the server (process 7) did not end within 30 s\n  end it with `kill -9 7`: its worker ends by itself"
        );
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [["a".to_owned(), "b".to_owned()], ["long".to_owned(), String::new()]];
        assert_eq!(table(&rows), "a     b\nlong");
    }
}
