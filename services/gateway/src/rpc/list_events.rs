//! Events of one conversation by version: a page, in either direction.

use std::collections::BTreeSet;

use domain::{EventKind, Sequence, Version, Violation};
use read_model::queries::EventQuery;
use tonic::{Request, Response, Status};
use wire::proto::read::v1 as proto;
use wire::status::Problem;

use crate::Gateway;
use crate::fresh::Place;
use crate::history::{self, Range};
use crate::page::{Cursor, Page, PageBounds};
use crate::page_token::{self, QueryHash, take_number};
use crate::request::{Bounded, Call, Target, first_version, known, missing, out_of_range};
use crate::{problem, render};

/// Events of a page.
pub const EVENTS_PAGE: Bounded = Bounded {
    field: "page_size",
    default: 200,
    max: 1_000,
};
/// A page ends before it passes this many bytes of events.
pub const EVENTS_PAGE_BYTES_MAX: u64 = 3 * 1024 * 1024;

pub(super) async fn handle(
    gateway: &Gateway,
    mut request: Request<proto::ListEventsRequest>,
) -> Result<Response<proto::ListEventsResponse>, Status> {
    let call = Call::of(&request);
    let target = request.get_mut().target.take();
    let asked = Asked::of(request.get_ref()).map_err(Problem::from)?;
    let target = Target::of(gateway, &call, target).await?;
    let hash = asked.hash(&target);
    let mut range = asked.range;
    let cursor = cursor(&request.get_ref().page_token, hash)?;
    let page = match asked.direction {
        Direction::Forward => {
            if let Some(cursor) = cursor {
                range.from = cursor.version;
                range.after = cursor.after;
            }
            history::forward(gateway, &target, &range).await?
        }
        Direction::Backward => {
            range.to = cursor.map_or(range.to, |cursor| cursor.version);
            history::backward(gateway, &target, &range).await?
        }
    };
    Ok(Response::new(response(&target, page, hash)?))
}

/// Which way to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    Forward,
    Backward,
}

/// What is asked for, before a page token moves it on.
struct Asked {
    range: Range,
    direction: Direction,
}

impl Asked {
    fn of(request: &proto::ListEventsRequest) -> Result<Self, Violation> {
        let from = first_version(request.from_version);
        let to = match request.to_version {
            0 => EventQuery::TO_THE_END,
            to if to < from.0 => {
                let description =
                    format!("is {to}, before from_version {from}: give a later one, or 0");
                return Err(out_of_range(description).within("to_version"));
            }
            to => Version(to),
        };
        let direction = match known(request.direction, "direction")? {
            proto::Direction::Unspecified | proto::Direction::Forward => Direction::Forward,
            proto::Direction::Backward => Direction::Backward,
        };
        let range = Range {
            from,
            to,
            kinds: kinds(&request.kinds)?,
            after: Place::default(),
            bounds: PageBounds {
                events_max: EVENTS_PAGE.take(request.page_size)?,
                bytes_max: EVENTS_PAGE_BYTES_MAX,
            },
        };
        Ok(Self { range, direction })
    }

    fn hash(&self, target: &Target) -> QueryHash {
        let kinds: Vec<u8> = self
            .range
            .kinds
            .iter()
            .flat_map(|kind| kind.code().to_be_bytes())
            .collect();
        QueryHash::of(&[
            b"events",
            target.key.tenant.as_str().as_bytes(),
            target.access.agent.as_str().as_bytes(),
            target.key.conversation.as_str().as_bytes(),
            &self.range.from.0.to_be_bytes(),
            &self.range.to.0.to_be_bytes(),
            match self.direction {
                Direction::Forward => b"forward",
                Direction::Backward => b"backward",
            },
            &kinds,
        ])
    }
}

fn kinds(kinds: &[i32]) -> Result<BTreeSet<EventKind>, Violation> {
    let kind = |(index, kind): (usize, &i32)| {
        let within = |violation: Violation| violation.at(index).within("kinds");
        let kind = known::<proto::EventKind>(*kind, "").map_err(within)?;
        wire::event::kind_from_proto(kind).ok_or_else(|| within(missing()))
    };
    kinds.iter().enumerate().map(kind).collect()
}

fn response(
    target: &Target,
    page: Page,
    hash: QueryHash,
) -> Result<proto::ListEventsResponse, Problem> {
    let events = page.events.into_iter();
    let events = events.map(|event| render::recorded_event(&target.key, event));
    Ok(proto::ListEventsResponse {
        events: events.collect::<Result<_, _>>()?,
        next_page_token: page.next.map(|next| token(hash, next)).unwrap_or_default(),
        version: page.place.version.0,
    })
}

fn token(hash: QueryHash, cursor: Cursor) -> String {
    let numbers = [
        cursor.version.0,
        cursor.after.version.0,
        cursor.after.sequence.0,
    ];
    page_token::encode(hash, numbers.map(u64::to_be_bytes).as_flattened())
}

fn cursor(token: &str, hash: QueryHash) -> Result<Option<Cursor>, Problem> {
    let cursor = page_token::decode(token, hash)?;
    let cursor = cursor.map(|bytes| read_cursor(&bytes).ok_or_else(problem::page_token_invalid));
    cursor.transpose()
}

fn read_cursor(bytes: &[u8]) -> Option<Cursor> {
    let (version, bytes) = take_number(bytes)?;
    let (after_version, bytes) = take_number(bytes)?;
    let (after_sequence, bytes) = take_number(bytes)?;
    let after = Place {
        version: Version(after_version),
        sequence: Sequence(after_sequence),
    };
    let version = Version(version);
    (bytes.is_empty() && after.version < version).then_some(Cursor { version, after })
}
