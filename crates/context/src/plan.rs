//! Runs the stages in order: from settings and events to a transcript and its report.
//!
//! A plan is made before the first event is read, and limits what [`crate::select`] selects. The selected units complete it.
//! The result depends only on the policy and the events up to one version, so any context can be assembled again later.

mod fit;
mod omitted;
mod prefix;

use std::collections::BTreeSet;

use domain::{ClientContext, Version};
use redact::{Redactor, Rules};

use crate::outcome::Outcome;
use crate::policy::Policy;
use crate::report::{Epoch, Report, Sections};
use crate::stages::budget::{Allowance, NoRoom, Room};
use crate::stages::clear::clear;
use crate::stages::inject::{InjectError, inject};
use crate::stages::own_instructions::{OWN_INSTRUCTIONS_PART, OwnInstructions};
use crate::stages::redact::{Redactions, redact_client, redact_text};
use crate::stages::repair::{Repaired, repair};
use crate::stages::select::{Extent, MessageCount, Selected, Start};
use crate::stages::summarise::{self, Gap, Summary};
use crate::stages::tool_digest::{Digest, tokens_max, tool_digest};
use crate::transcript::Transcript;
use fit::{FirstTurn, Weight};
use prefix::{Prefix, mark, token_counts};

/// Most messages of a context that is bounded by tokens. A longer one begins at a block's edge within these messages.
pub const BUDGETED_MESSAGES_MAX: usize = 2_000;
/// Tokens of a section's role and separators.
const SECTION_TOKENS: u64 = 16;

/// The inputs of a context besides the events.
#[derive(Debug, Clone)]
pub struct Settings<'a> {
    /// The policy.
    pub policy: &'a Policy,
    /// The policy's compiled redaction rules.
    pub rules: &'a Rules,
    /// The client context of the conversation's first event.
    pub client: &'a ClientContext,
    /// Instructions of the request, which follow those of the policy. `None`: it has none.
    pub instructions: Option<&'a str>,
    /// The newest summary at or before the version, if the policy uses summaries.
    pub summary: Option<Summary>,
    /// The instructions that the conversation begins with, if the turns may not contain its beginning. `None`: they do, or there are
    /// no such instructions.
    pub own: Option<OwnInstructions>,
    /// The last version that a fork inherits. An inherited call without a result is not waited for. [`Version::ZERO`]: no fork.
    pub shared: Version,
    /// The version of the newest rewind. It changes the token counts of earlier events. [`Version::ZERO`]: none.
    pub rewound: Version,
}

/// The part of a context that is known before the first event is read.
#[derive(Debug)]
pub struct Plan<'a> {
    settings: Settings<'a>,
    redactor: Redactor<'a>,
    instructions: Vec<String>,
    redactions: Redactions,
    sections: Sections,
    room: Room,
}

/// Why no context can be assembled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// The budget is too small.
    #[error(transparent)]
    NoRoom(#[from] NoRoom),
    /// A template cannot be rendered.
    #[error(transparent)]
    Inject(#[from] InjectError),
}

/// A context before it is rendered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assembled {
    /// The context.
    pub transcript: Transcript,
    /// How it was assembled.
    pub report: Report,
}

impl<'a> Plan<'a> {
    /// Makes the sections that do not depend on events, and computes the room for turns.
    ///
    /// # Errors
    /// [`PlanError`].
    pub fn new(mut settings: Settings<'a>) -> Result<Self, PlanError> {
        let redactor = settings.rules.redactor();
        let mut client = settings.client.clone();
        let mut redactions = redact_client(&mut client, &redactor);
        if let Some(summary) = &mut settings.summary {
            redactions.merge(&redact_text(&mut summary.text, &redactor));
        }
        let mut instructions = inject(settings.policy, &client)?;
        if let Some(given) = settings.instructions.filter(|given| !given.trim().is_empty()) {
            let mut text = given.to_owned();
            redactions.merge(&redact_text(&mut text, &redactor));
            instructions.push(text);
        }
        // Both are always reserved: the room for turns must not change from turn to turn.
        let opening = summarise::opening(settings.summary.as_ref(), Gap::LeftOut);
        let closing =
            settings.policy.tool_digest.as_ref().map_or(0, |digest| u64::from(tokens_max(digest)) + SECTION_TOKENS);
        let sections = Sections {
            instructions: instructions.iter().map(|text| weigh(text)).sum(),
            opening: opening.as_deref().map_or(0, weigh),
            turns: 0,
            closing,
        };
        let mut plan = Self {
            room: Room::of(settings.policy, sections.fixed())?,
            settings,
            redactor,
            instructions,
            redactions,
            sections,
        };
        plan.take_own_instructions()?;
        Ok(plan)
    }

    /// Moves the conversation's own instructions to the policy's, unless they would take too much room.
    fn take_own_instructions(&mut self) -> Result<(), NoRoom> {
        let Some(mut own) = self.settings.own.take() else {
            return Ok(());
        };
        let mut redactions = Redactions::default();
        for text in &mut own.texts {
            redactions.merge(&redact_text(text, &self.redactor));
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

    /// How much to select: at most `messages_max` messages, or as many as the budget has room for.
    #[must_use]
    pub fn extent(&self, messages_max: Option<MessageCount>) -> Extent<'a> {
        Extent {
            messages_max: messages_max.unwrap_or(MessageCount(BUDGETED_MESSAGES_MAX)),
            after: self.summarised_through().max(self.own_through()),
            allowance: Some(Allowance::new(self.settings.policy, self.room)),
            // A requested count is exact. Otherwise the bound must not move with every message.
            beginning: match messages_max {
                Some(_) => Start::AtBound,
                None => Start::AtBlockEdge,
            },
        }
    }

    /// The last version of the conversation's own instructions that were moved; 0: none.
    fn own_through(&self) -> Version {
        let own = self.settings.own.as_ref();
        own.map_or(Version::ZERO, |own| own.through)
    }

    /// The last version that the summary covers; 0: there is no summary.
    fn summarised_through(&self) -> Version {
        let summary = self.settings.summary.as_ref();
        summary.map_or(Version::ZERO, |summary| summary.through)
    }

    /// The room for turns.
    #[must_use]
    pub fn room(&self) -> Room {
        self.room
    }

    /// Assembles the context from the selected units.
    ///
    /// # Errors
    /// [`NoRoom::NewestTurn`].
    pub fn complete(self, mut selected: Selected) -> Result<Assembled, NoRoom> {
        if let (true, Some(needed)) = (selected.units.is_empty(), selected.measure.refused) {
            let room = self.room.turns;
            return Err(NoRoom::NewestTurn { needed, room });
        }
        let threshold = selected.measure.threshold;
        let mut weights = fit::weights(&selected, self.settings.policy);
        let mut outcomes = omitted::carried(&selected.units, self.summarised_through());
        let token_counts = token_counts(&selected.units);
        let clearing = self.settings.policy.clear.as_ref();
        let cleared = clearing.map_or_else(Vec::new, |settings| clear(&mut selected.units, threshold, settings));
        let stubs: BTreeSet<Version> = cleared.iter().map(|cleared| cleared.first).collect();
        let mut repaired = repair(std::mem::take(&mut selected.units), &stubs, self.settings.shared);
        outcomes.extend(cleared);
        outcomes.append(&mut repaired.outcomes);
        let redacted = fit::redact_turns(&mut repaired, &self.redactor, self.settings.policy, &mut weights);
        let first_turn = fit::first_read_turn(&weights, self.room)?;
        let redactions = first_turn.redactions(&redacted);
        selected.omitted.extend(first_turn.apply(&mut repaired, &mut outcomes));
        self.mark_thoughts(&mut repaired, &selected, &token_counts, &weights, first_turn);
        let fitted = Fitted { first_turn, redactions, outcomes };
        Ok(self.report(&selected, repaired, fitted))
    }

    /// Marks the turns with thoughts that were written after another prefix: formats omit these thoughts.
    fn mark_thoughts(
        &self,
        repaired: &mut Repaired,
        selected: &Selected,
        token_counts: &[(Version, u64)],
        weights: &[Weight],
        first_turn: FirstTurn,
    ) {
        let measure = selected.measure;
        let summary = self.settings.summary.as_ref();
        let summarised = summary.map(|summary| summary.version);
        let prefix = Prefix {
            room: self.room,
            threshold: measure.threshold,
            token_counts,
            weights,
            first_turn,
            revised_at: summarised.max(repaired.revised).unwrap_or_default(),
            recounted_at: self.settings.rewound,
            is_cut_by_bound: measure.is_cut_elsewhere || selected.truncated && measure.refused.is_none(),
        };
        let revised = mark(&mut repaired.turns, &prefix);
        repaired.revised = repaired.revised.max(revised);
    }

    fn report(self, selected: &Selected, repaired: Repaired, fitted: Fitted) -> Assembled {
        let Fitted { first_turn, mut redactions, mut outcomes } = fitted;
        redactions.merge(&self.redactions);
        let summary = self.settings.summary.as_ref();
        let is_left_out = selected.truncated || !first_turn.fits_all;
        let gap = if is_left_out { Gap::LeftOut } else { Gap::None };
        let opening = summarise::opening(summary, gap);
        let digest = match self.settings.policy.tool_digest.as_ref() {
            Some(settings) => tool_digest(repaired.turns, settings),
            None => Digest { turns: repaired.turns, ..Digest::default() },
        };
        let left_out = is_left_out.then(|| omitted::left_out(selected, &first_turn));
        let (own, through) = (self.own_through(), self.summarised_through());
        outcomes.extend(omitted::before_the_turns(own, through, left_out));
        outcomes.extend(omitted::left_behind(selected, left_out));
        outcomes.extend(omitted::redacted(&redactions));
        outcomes.extend(digest.outcomes);
        let sections = Sections {
            opening: opening.as_deref().map_or(0, weigh),
            turns: first_turn.tokens,
            closing: digest.text.as_deref().map_or(0, weigh),
            ..self.sections
        };
        let report = Report {
            epoch: Epoch {
                first: first_turn.version,
                threshold: selected.measure.threshold,
                summary: summary.map_or(Version::ZERO, |summary| summary.version),
                revised: repaired.revised.unwrap_or_default(),
            },
            sections,
            room: self.room.turns,
            left_out,
            summarised: summary.map(|summary| summary.through),
            own_instructions: self.own_through(),
            redactions,
            outcomes,
        };
        let transcript =
            Transcript { instructions: self.instructions, opening, turns: digest.turns, closing: digest.text };
        Assembled { transcript, report }
    }
}

/// What fits.
struct Fitted {
    first_turn: FirstTurn,
    redactions: Redactions,
    outcomes: Vec<Outcome>,
}

fn weigh(text: &str) -> u64 {
    u64::from(tokens::count_text(text)) + SECTION_TOKENS
}
