use domain::{ChannelId, ConversationKey, Owner, TenantId, UserId};

use super::super::scan::Entry;
use super::*;

const MARK: RequestDigest = RequestDigest([7; 16]);

fn id(text: &str) -> ConversationId {
    ConversationId::parse(text).unwrap()
}

/// A conversation written as `id`, `id<parent` for a fork, `id:user` for a user, `id@` for the channel of these tests, `id!` erased by this job, `id?` erased
/// by another, `id?2` the same with two commits left.
fn found(text: &str) -> ScannedConversation {
    let name = text.split(['<', ':', '@', '!', '?']).next().unwrap();
    let after = |mark: char| text.split_once(mark).map(|(_, rest)| rest.to_owned());
    let is_erased = text.contains(['!', '?']);
    let commits = after('?').and_then(|left| left.parse().ok()).unwrap_or(1);
    ScannedConversation {
        key: ConversationKey { tenant: TenantId::parse("acme").unwrap(), conversation: id(name) },
        is_pending: is_erased && commits > 1,
        commits,
        status: if is_erased { Status::Erased } else { Status::Active },
        owner: owner_of(text),
        forked_from: after('<').map(|parent| id(&parent)),
        mark: text.contains('!').then_some(MARK),
        entry: Entry {
            tenant: String::new(),
            conversation: String::new(),
            version: 1,
            commits: 1,
            chain: String::new(),
            erased_at: String::new(),
            partition: 0,
            sequence: 1,
        },
    }
}

fn owner_of(text: &str) -> Option<Owner> {
    if text.contains('@') {
        return Some(Owner::Channel(channel()));
    }
    let (_, user) = text.split_once(':')?;
    Some(Owner::User(UserId::parse(user).unwrap()))
}

fn channel() -> ChannelId {
    ChannelId::parse("0".repeat(64)).unwrap()
}

fn names(found: &[ScannedConversation]) -> String {
    let names: Vec<&str> = found.iter().map(|one| one.key.conversation.as_str()).collect();
    names.join(" ")
}

fn check(subject: &Subject, all: &str, expected: [&str; 4]) {
    let [conversations, forks, unfinished, done] = expected;
    let found = all.split(' ').map(found).collect();
    let plan = plan(found, subject, ForkRule::Refuse, Some(MARK));
    assert_eq!(names(&plan.conversations), conversations, "conversations of {all}");
    assert_eq!(names(&plan.forks), forks, "forks of {all}");
    assert_eq!(names(&plan.unfinished), unfinished, "unfinished of {all}");
    assert_eq!(names(&plan.done), done, "done of {all}");
}

#[test]
fn the_plan_of_each_subject() {
    let tenant = || TenantId::parse("acme").unwrap();
    let one = Subject::Conversations { tenant: tenant(), ids: [id("a")].into() };
    check(&one, "a b", ["a", "", "", ""]);
    check(&one, "b", ["", "", "", ""]);
    check(&one, "a b<a c<b d<x", ["a", "b c", "", ""]);
    check(&one, "a? b<a c<b", ["", "b c", "", "a"]);
    check(&one, "a! b! c?", ["", "", "", "a b"]);
    check(&one, "a?2 z?9", ["", "", "a z", "a"]);
    let user = Subject::User { tenant: tenant(), user: UserId::parse("ada").unwrap() };
    check(&user, "a:ada b:bob c:ada d<a e", ["a c", "d", "", ""]);
    check(&user, "a! b:bob c<a d?", ["", "c", "", "a"]);
    let of_channel = Subject::Channel { tenant: tenant(), channel: channel() };
    let user_named_alike = format!("a@ b:{} c@ d<a", channel());
    check(&of_channel, &user_named_alike, ["a c", "d", "", ""]);
    let all = Subject::Tenant(tenant());
    check(&all, "a b<a c! d? e?3", ["a b", "", "e", "c d e"]);
}

#[test]
fn requested_ids_that_do_not_exist_are_unknown() {
    let check = |all: &str, expected: &[&str]| {
        let subject =
            Subject::Conversations { tenant: TenantId::parse("acme").unwrap(), ids: [id("a"), id("b")].into() };
        let found = all.split_whitespace().map(found).collect();
        let expected: Vec<ConversationId> = expected.iter().map(|one| id(one)).collect();
        let plan = plan(found, &subject, ForkRule::Refuse, Some(MARK));
        assert_eq!(plan.unknown, expected, "{all}");
    };
    check("a b", &[]);
    check("a! b?", &[]);
    check("a c", &["b"]);
    check("c<a", &["a", "b"]);
}

/// Receipts list all that was erased, also forks.
#[test]
fn repeated_erasures_touch_only_listed_conversations() {
    let check = |all: &str, [conversations, done]: [&str; 2]| {
        let subject = Subject::Conversations {
            tenant: TenantId::parse("acme").unwrap(),
            ids: ["a", "b", "c", "d"].map(id).into(),
        };
        let found = all.split(' ').map(found).collect();
        let plan = plan(found, &subject, ForkRule::Sever, None);
        assert_eq!(names(&plan.conversations), conversations, "{all}");
        assert_eq!(names(&plan.forks), "", "{all}");
        assert_eq!(names(&plan.done), done, "{all}");
    };
    check("a b<a c<a d<b e", ["a b c d", ""]);
    // Forks that are not listed: severed before the backup, and after it.
    check("a? x<a y<x", ["", "a"]);
    check("a b<a x<a y<b", ["a b", ""]);
    // Through a fork that is not listed.
    check("a x<a d<x", ["a d", ""]);
    check("b<z d<b", ["b d", ""]);
    check("a? b? c? d?", ["", "a b c d"]);
}

#[test]
fn marks_depend_on_the_subject_and_the_secret() {
    let seed = [1; event_log::RECEIPT_SEED_BYTES];
    let tenant = |id: &str| TenantId::parse(id).unwrap();
    let user = |of: &str, user: &str| Subject::User { tenant: tenant(of), user: UserId::parse(user).unwrap() };
    let mark = user("acme", "ada").mark(&seed);
    assert_eq!(mark, user("acme", "ada").mark(&seed));
    for other in [user("acme", "bob"), user("other", "ada"), Subject::Tenant(tenant("acme"))] {
        assert_ne!(other.mark(&seed), mark);
    }
    let of_channel = Subject::Channel { tenant: tenant("acme"), channel: channel() };
    assert_ne!(of_channel.mark(&seed), user("acme", channel().as_str()).mark(&seed));
    assert_ne!(user("acme", "ada").mark(&[2; event_log::RECEIPT_SEED_BYTES]), mark);
}
