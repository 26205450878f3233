//! The stages in their order: from settings and events to a transcript, and the account of what became of each.
//!
//! A plan is made before the first event is read: it tells [`crate::select`] how far to go. What was selected completes it.
//! Everything follows from the policy and the events up to one version, so the same context can be made again at any time.

mod fit;
mod written;

use std::collections::BTreeSet;

use domain::{ClientContext, Version};
use redact::Rules;

use crate::account::{Account, Epoch, LeftOut, Reason, Sections};
use crate::policy::Policy;
use crate::stages::budget::{Allowance, NoRoom, Room};
use crate::stages::clear::{Cleared, clear};
use crate::stages::inject::{InjectError, inject};
use crate::stages::own_instructions::{OWN_INSTRUCTIONS_PART, OwnInstructions};
use crate::stages::redact::{Redactions, redact_client, redact_text};
use crate::stages::repair::{Repaired, repair, repeated};
use crate::stages::select::{Beginning, Extent, MessageCount, Selected};
use crate::stages::summarise::{self, Gap, Summary};
use crate::stages::tool_digest::{tokens_max, tool_digest};
use crate::transcript::Transcript;
use crate::unit::Unit;
use fit::{Begins, Weight};
use written::{Standing, mark, places};

/// Most messages of a context that is bounded by tokens; where it has more, it begins at a block's edge among these.
pub const BUDGETED_MESSAGES_MAX: usize = 2_000;
/// What frames a section: its role and separators, tokens.
const SECTION_TOKENS: u64 = 16;

/// What a context is made of, besides the events.
#[derive(Debug, Clone)]
pub struct Settings<'a> {
    /// How it is made.
    pub policy: &'a Policy,
    /// The policy's rules of redaction, compiled.
    pub rules: &'a Rules,
    /// Where the client was when the conversation began.
    pub client: &'a ClientContext,
    /// The newest summary at or before the version, if the policy uses one.
    pub summary: Option<Summary>,
    /// The instructions that the conversation begins with, where its beginning may not go in; `None`: it goes in, or has none.
    pub own: Option<OwnInstructions>,
    /// The last version that a fork shares with what it goes on from: calls up to there that have no result by then never
    /// get one here. [`Version::ZERO`]: it is no fork.
    pub shared: Version,
    /// The version of the newest rewind: from there on earlier events have other places in the count of tokens than they had.
    /// [`Version::ZERO`]: there is none.
    pub rewound: Version,
}

/// What is known before the first event is read.
#[derive(Debug, Clone)]
pub struct Plan<'a> {
    settings: Settings<'a>,
    instructions: Vec<String>,
    redactions: Redactions,
    sections: Sections,
    room: Room,
}

/// There can be no context.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// There is no room.
    #[error(transparent)]
    NoRoom(#[from] NoRoom),
    /// A template cannot be rendered.
    #[error(transparent)]
    Inject(#[from] InjectError),
}

/// A context before it takes a form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assembled {
    /// The context.
    pub transcript: Transcript,
    /// How it came about.
    pub account: Account,
}

impl<'a> Plan<'a> {
    /// Makes the sections that do not hang on events, and what room they leave.
    ///
    /// # Errors
    /// [`PlanError`].
    pub fn new(mut settings: Settings<'a>) -> Result<Self, PlanError> {
        let mut client = settings.client.clone();
        let mut redactions = redact_client(&mut client, settings.rules);
        if let Some(summary) = &mut settings.summary {
            redactions.merge(&redact_text(&mut summary.text, settings.rules));
        }
        let instructions = inject(settings.policy, &client)?;
        // Both are reserved whether or not they are needed: the room must not change from turn to turn.
        let opening = summarise::opening(settings.summary.as_ref(), Gap::LeftOut);
        let closing = settings.policy.tool_digest.as_ref();
        let closing = closing.map_or(0, |digest| u64::from(tokens_max(digest)) + SECTION_TOKENS);
        let sections = Sections {
            instructions: instructions.iter().map(|text| weigh(text)).sum(),
            opening: opening.as_deref().map_or(0, weigh),
            turns: 0,
            closing,
        };
        let mut plan = Self {
            room: Room::of(settings.policy, sections.fixed())?,
            settings,
            instructions,
            redactions,
            sections,
        };
        plan.take_own_instructions()?;
        Ok(plan)
    }

    /// Moves the conversation's own instructions to the policy's, unless they would leave too little room.
    fn take_own_instructions(&mut self) -> Result<(), NoRoom> {
        let Some(mut own) = self.settings.own.take() else {
            return Ok(());
        };
        let mut redactions = Redactions::default();
        for text in &mut own.texts {
            redactions.merge(&redact_text(text, self.settings.rules));
        }
        let tokens: u64 = own.texts.iter().map(|text| weigh(text)).sum();
        if tokens > self.room.turns / OWN_INSTRUCTIONS_PART {
            return Ok(());
        }
        self.sections.instructions += tokens;
        self.room = Room::of(self.settings.policy, self.sections.fixed())?;
        self.redactions.merge(&redactions);
        self.instructions.append(&mut own.texts);
        self.settings.own = Some(own);
        Ok(())
    }

    /// What to select: at most so many messages; none given: as many as there is room for.
    #[must_use]
    pub fn extent(&self, messages_max: Option<MessageCount>) -> Extent<'a> {
        let summary = self.settings.summary.as_ref();
        let summarised = summary.map_or(Version::ZERO, |summary| summary.through);
        Extent {
            messages_max: messages_max.unwrap_or(MessageCount(BUDGETED_MESSAGES_MAX)),
            after: summarised.max(self.own_through()),
            allowance: Some(Allowance::new(self.settings.policy, self.room)),
            // Who asks for a count gets it; the bound of all others must not move with every message.
            beginning: match messages_max {
                Some(_) => Beginning::AtTheBound,
                None => Beginning::AtAnEdge,
            },
        }
    }

    /// The last version of the conversation's own instructions that go in with the policy's.
    fn own_through(&self) -> Version {
        let own = self.settings.own.as_ref();
        own.map_or(Version::ZERO, |own| own.through)
    }

    /// The room for turns.
    #[must_use]
    pub fn room(&self) -> Room {
        self.room
    }

    /// Makes the context of what was selected.
    ///
    /// # Errors
    /// [`NoRoom::NewestTurn`].
    pub fn complete(self, mut selected: Selected) -> Result<Assembled, NoRoom> {
        if let (true, Some(needed)) = (selected.units.is_empty(), selected.measure.refused) {
            let room = self.room.turns;
            return Err(NoRoom::NewestTurn { needed, room });
        }
        let line = selected.measure.line;
        let mut weights = fit::weights(&selected, self.settings.policy);
        let repeats = repeated(&selected.units);
        let mut carried = self.carried(&selected.units);
        let places = places(&selected.units);
        let clearing = self.settings.policy.clear.as_ref();
        let cleared = clearing.map_or_else(Vec::new, |settings| {
            clear(&mut selected.units, line, settings)
        });
        let stubs: BTreeSet<Version> = cleared.iter().map(|cleared| cleared.version).collect();
        let mut repaired = repair(
            std::mem::take(&mut selected.units),
            repeats,
            &stubs,
            self.settings.shared,
        );
        let redacted = fit::redact_turns(&mut repaired, &self.settings, &mut weights);
        let begins = fit::begins(&weights, self.room)?;
        carried.retain(|(unit, _)| *unit >= begins.first);
        let redactions = begins.redactions(&redacted);
        repaired.begin_at(begins.first);
        self.mark_thoughts(&mut repaired, &selected, &places, &weights, begins);
        Ok(self.account(
            selected,
            repaired,
            Outcome {
                begins,
                carried: carried.into_iter().map(|(_, version)| version).collect(),
                cleared,
                redactions,
            },
        ))
    }

    /// Marks the turns whose thoughts were written behind another beginning: they read otherwise from then on.
    fn mark_thoughts(
        &self,
        repaired: &mut Repaired,
        selected: &Selected,
        places: &[(Version, u64)],
        weights: &[Weight],
        begins: Begins,
    ) {
        let measure = selected.measure;
        let summary = self.settings.summary.as_ref();
        let summarised = summary.map(|summary| summary.version);
        let standing = Standing {
            room: self.room,
            line: measure.line,
            places,
            weights,
            begins,
            since: summarised.max(repaired.revised).unwrap_or_default(),
            moved_at: self.settings.rewound,
            by_bound: measure.beside_line || selected.truncated && measure.refused.is_none(),
        };
        let revised = mark(&mut repaired.turns, &standing);
        repaired.revised = repaired.revised.max(revised);
    }

    /// The events at or before the summary's end, each with its unit: those that the summary does not stand for alone.
    fn carried(&self, units: &[Unit]) -> Vec<(Version, Version)> {
        let summary = self.settings.summary.as_ref();
        let through = summary.map_or(Version::ZERO, |summary| summary.through);
        let early = units.iter().take_while(|unit| unit.version <= through);
        let versions =
            early.flat_map(|unit| unit.versions().map(|version| (unit.version, version)));
        let mut carried: Vec<_> = versions
            .filter(|(_, version)| *version <= through)
            .collect();
        carried.sort_unstable_by_key(|(_, version)| *version);
        carried
    }

    fn account(self, selected: Selected, repaired: Repaired, outcome: Outcome) -> Assembled {
        let Outcome {
            begins,
            carried,
            mut cleared,
            mut redactions,
        } = outcome;
        redactions.merge(&self.redactions);
        if !begins.fits_all {
            let kept = repaired.cleared();
            cleared.retain(|cleared| kept.contains(&cleared.version));
        }
        let summary = self.settings.summary.as_ref();
        let is_left_out = selected.truncated || !begins.fits_all;
        let gap = if is_left_out { Gap::LeftOut } else { Gap::None };
        let opening = summarise::opening(summary, gap);
        let digest = self.settings.policy.tool_digest.as_ref();
        let (turns, closing, digest) = match digest {
            Some(settings) => {
                let (turns, closing, told) = tool_digest(repaired.turns, settings);
                (turns, closing, Some(told))
            }
            None => (repaired.turns, None, None),
        };
        let sections = Sections {
            opening: opening.as_deref().map_or(0, weigh),
            turns: begins.tokens,
            closing: closing.as_deref().map_or(0, weigh),
            ..self.sections
        };
        let account = Account {
            epoch: Epoch {
                first: begins.first,
                line: selected.measure.line,
                summary: summary.map_or(Version::ZERO, |summary| summary.version),
                revised: repaired.revised.unwrap_or_default(),
            },
            sections,
            room: self.room.turns,
            left_out: is_left_out.then(|| left_out(&selected, &begins)),
            summarised: summary.map(|summary| summary.through),
            own_instructions: self.own_through(),
            carried,
            cleared,
            digest,
            redactions,
            repeated: repaired.repeated,
            orphans: selected.orphans,
            pending: repaired.pending,
            interrupted: repaired.interrupted,
        };
        let transcript = Transcript {
            instructions: self.instructions,
            opening,
            turns,
            closing,
        };
        Assembled {
            transcript,
            account,
        }
    }
}

fn left_out(selected: &Selected, begins: &Begins) -> LeftOut {
    let by_budget = selected.measure.refused.is_some() || !begins.fits_all;
    LeftOut {
        before: begins.first,
        tokens: begins.before,
        reason: if by_budget {
            Reason::Budget
        } else {
            Reason::Bound
        },
    }
}

struct Outcome {
    begins: Begins,
    carried: Vec<Version>,
    cleared: Vec<Cleared>,
    redactions: Redactions,
}

fn weigh(text: &str) -> u64 {
    u64::from(tokens::count_text(text)) + SECTION_TOKENS
}
