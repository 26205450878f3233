//! Lists the events of one conversation by version, by pages, in either direction.

use std::collections::BTreeSet;

use domain::{EventKind, Sequence, Version, Violation};
use history::{Bounds, CommitPosition, Direction, Page, PageStart, Range, Target};
use read_model::queries::EventQuery;
use tonic::{Request, Response, Status};
use wire::proto::read::v1 as proto;
use wire::status::Problem;

use crate::render;
use conversations::Gateway;
use conversations::page_token::{self, QueryHash, take_number};
use conversations::request::{BoundedNumber, Call, first_version, missing, out_of_range, parse_enum, read_target};

/// The number of events of a page.
pub const EVENTS_PAGE: BoundedNumber = BoundedNumber { field: "page_size", default: 200, max: 1_000 };
/// Maximum size of the events of a page, in bytes.
pub const EVENTS_PAGE_BYTES_MAX: u64 = 3 * 1024 * 1024;

pub(super) async fn handle(
    gateway: &Gateway,
    mut request: Request<proto::ListEventsRequest>,
) -> Result<Response<proto::ListEventsResponse>, Status> {
    let call = Call::of(&request);
    let target = request.get_mut().target.take();
    let range = EventRange::of(request.get_ref()).map_err(Problem::from)?;
    let target = read_target(gateway, &call, target).await?;
    let hash = range.hash(&target);
    let kinds: Vec<EventKind> = range.kinds.iter().copied().collect();
    let mut query = Range { from: range.from, to: range.to, kinds: &kinds, ..Range::all(range.direction) };
    let start = page_token::cursor(&request.get_ref().page_token, hash, read_start)?;
    match (range.direction, start) {
        (Direction::Forward, Some(start)) => {
            (query.from, query.after) = (start.version, start.after);
        }
        (Direction::Backward, Some(start)) => query.to = start.version,
        (_, None) => {}
    }
    let page = Page::recorded(&gateway.reader, &target, query, range.bounds).await?;
    Ok(Response::new(response(&target, page, hash)?))
}

/// The requested range, without the page token.
struct EventRange {
    from: Version,
    to: Version,
    kinds: BTreeSet<EventKind>,
    direction: Direction,
    bounds: Bounds,
}

impl EventRange {
    fn of(request: &proto::ListEventsRequest) -> Result<Self, Violation> {
        let from = first_version(request.from_version);
        let to = match request.to_version {
            0 => EventQuery::OPEN_END,
            to if to < from.0 => {
                let description = format!("is {to}, less than from_version {from}: send a later version, or 0");
                return Err(out_of_range(description).within("to_version"));
            }
            to => Version(to),
        };
        let direction = match parse_enum(request.direction, "direction")? {
            proto::Direction::Unspecified | proto::Direction::Forward => Direction::Forward,
            proto::Direction::Backward => Direction::Backward,
        };
        Ok(Self {
            from,
            to,
            kinds: kinds(&request.kinds)?,
            direction,
            bounds: Bounds::of(EVENTS_PAGE.take(request.page_size)?, EVENTS_PAGE_BYTES_MAX),
        })
    }

    fn hash(&self, target: &Target) -> QueryHash {
        let kinds: Vec<u8> = self.kinds.iter().flat_map(|kind| kind.code().to_be_bytes()).collect();
        QueryHash::of(&[
            b"events",
            target.key.tenant.as_str().as_bytes(),
            target.access.agent.as_str().as_bytes(),
            target.key.conversation.as_str().as_bytes(),
            &self.from.0.to_be_bytes(),
            &self.to.0.to_be_bytes(),
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
        let kind = parse_enum::<proto::EventKind>(*kind, "").map_err(within)?;
        wire::event::kind_from_proto(kind).ok_or_else(|| within(missing()))
    };
    kinds.iter().enumerate().map(kind).collect()
}

fn response(target: &Target, page: Page, hash: QueryHash) -> Result<proto::ListEventsResponse, Problem> {
    let events = page.events.into_iter().map(|event| render::recorded_event(&target.key, event));
    Ok(proto::ListEventsResponse {
        events: events.collect::<Result<_, _>>()?,
        next_page_token: page.next.map(|next| token(hash, next)).unwrap_or_default(),
        version: page.position.version.0,
    })
}

fn token(hash: QueryHash, start: PageStart) -> String {
    let numbers = [start.version.0, start.after.version.0, start.after.sequence.0];
    page_token::encode(hash, numbers.map(u64::to_be_bytes).as_flattened())
}

fn read_start(bytes: &[u8]) -> Option<PageStart> {
    let (version, bytes) = take_number(bytes)?;
    let (after_version, bytes) = take_number(bytes)?;
    let (after_sequence, bytes) = take_number(bytes)?;
    let after = CommitPosition { version: Version(after_version), sequence: Sequence(after_sequence) };
    let version = Version(version);
    (bytes.is_empty() && after.version < version).then_some(PageStart { version, after })
}
