//! `memoir rewind`: returns an agent's memories to a point in time.

use std::io::{self, IsTerminal};

use memoir_app::{Point, Rewound};
use memoir_domain::Timestamp;

use crate::{
    failure::{Failure, Outcome},
    installation::Installation,
    options::Global,
    output, parse,
    show::{counted, joined, moment, thousands},
    terminal,
};

/// Return an agent's memories to what they were at a point in time
///
/// Memories that were saved since are discarded, not lost; archival memories return to where they were. Settings and
/// prompts stay as they are. To undo it, rewind to a moment before it.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The agent
    agent: String,
    /// The moment: a date, which means its beginning, or a time such as 2026-05-03T14:00:00Z
    #[arg(long, value_name = "TIME", value_parser = parse::time, required_unless_present = "to_record")]
    to: Option<Timestamp>,
    /// The place in the audit after which to return, 0 for before the first record
    #[arg(long, value_name = "RECORD", conflicts_with = "to", value_parser = parse::whole_number::<u64>(..))]
    to_record: Option<u64>,
    /// Only show what would be done
    #[arg(long)]
    dry_run: bool,
    /// Do not ask, at a terminal, before memories are discarded
    #[arg(long)]
    yes: bool,
}

pub(crate) async fn run(global: &Global, arguments: Arguments) -> Outcome {
    let (installation, agent) = Installation::of_agent(global, Some(&arguments.agent)).await?;
    let actor = installation.author();
    let to = match (arguments.to, arguments.to_record) {
        (Some(time), _) => Point::Time(time),
        // The parser requires one of the two, so that a missing time means that there is a record.
        (None, record) => Point::Record(record.unwrap_or_default()),
    };
    let rewound = if arguments.dry_run {
        agent.log().preview_rewind(to, &actor).await?
    } else {
        // Elsewhere it is not asked for: scripts rewind, and a rewind can be undone.
        if !arguments.yes && io::stdin().is_terminal() {
            confirm(&agent.log().preview_rewind(to, &actor).await?)?;
        }
        agent.log().rewind(to, &actor).await?
    };
    if global.json {
        return output::json(&rewound);
    }
    output::print(&rewound_text(&rewound, arguments.dry_run))?;
    if let Some(seq) = rewound.seq {
        terminal::note(&format!(
            "`memoir rewind {} --to-record {}` undoes it",
            terminal::word(agent.name()),
            // This cannot underflow: the first record has the number 1.
            seq - 1
        ));
    }
    Ok(())
}

/// Asks where the rewind would discard memories.
fn confirm(preview: &Rewound) -> Result<(), Failure> {
    let discarded = preview.changes.discarded;
    let memories = counted(discarded, "memory", "memories");
    if discarded == 0 || parse::is_agreed(&format!("This discards {memories}. Rewind?"))? {
        return Ok(());
    }
    Err(Failure::new("nothing was rewound")
        .hint("`--dry-run` shows what would be done, and `--yes` does it without asking"))
}

fn rewound_text(rewound: &Rewound, dry_run: bool) -> String {
    let changes = rewound.changes;
    let point = match rewound.to_seq {
        0 => format!("{}, before the first record", moment(rewound.to)),
        seq => format!("{}, after record {}", moment(rewound.to), thousands(seq)),
    };
    if changes.changed == 0 {
        return format!("nothing differs from {point}\n");
    }
    let verb = if dry_run { "would rewind" } else { "rewound" };
    let parts = [
        (changes.returning, "returned"),
        (changes.discarded, "discarded"),
        (changes.reworded, "rewritten"),
        (changes.archived, "moved to the archive"),
        (changes.promoted, "moved back into the prompt"),
    ];
    let named: u64 = parts.iter().map(|(count, _)| count).sum();
    let other = (
        changes.changed.saturating_sub(named),
        "changed in tags, flag, date or place",
    );
    let parts = parts.into_iter().chain([other]);
    let parts = parts.filter(|(count, _)| *count > 0);
    let parts = parts.map(|(count, what)| format!("{} {what}", thousands(count)));
    format!(
        "{verb} to {point}: {}; {} → {} tokens\n",
        joined(parts, ", "),
        thousands(changes.core_tokens_before),
        thousands(changes.core_tokens_after),
    )
}
