//! Shows what happens while it happens: a live line on a terminal, plain lines elsewhere.

use std::io::Write as _;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// A line on standard output. Where nobody reads any more (a closed pipe, a full disk) the way is taken all the same.
pub(crate) fn say(text: &str) {
    let _ = writeln!(std::io::stdout(), "{text}");
}

/// Where progress goes.
#[derive(Debug)]
pub(crate) struct ProgressLog {
    began: Instant,
    bar: Option<ProgressBar>,
    last: String,
}

impl ProgressLog {
    /// Progress on standard error when that is a terminal, plain lines on standard output otherwise.
    pub(crate) fn new() -> Self {
        let bar = ProgressBar::new_spinner();
        let bar = (!bar.is_hidden()).then(|| {
            bar.set_style(
                ProgressStyle::with_template("{spinner} {elapsed_precise} {wide_msg}")
                    .expect("the template is valid"),
            );
            bar.enable_steady_tick(Duration::from_millis(120));
            bar
        });
        Self {
            began: Instant::now(),
            bar,
            last: String::new(),
        }
    }

    /// Something that stays on the screen.
    pub(crate) fn line(&mut self, text: &str) {
        let stamped = format!("{:7.1} s  {text}", self.began.elapsed().as_secs_f64());
        match &self.bar {
            Some(bar) => bar.suspend(|| say(&stamped)),
            None => say(&stamped),
        }
    }

    /// Something that the next step overwrites on a terminal; elsewhere a line when it differs from the last.
    pub(crate) fn step(&mut self, text: &str) {
        if self.last == text {
            return;
        }
        text.clone_into(&mut self.last);
        match &self.bar {
            Some(bar) => bar.set_message(text.to_owned()),
            None => self.line(text),
        }
    }

    /// Ends the live line.
    pub(crate) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
