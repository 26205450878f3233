//! Operations and faults in a row, under a steady load at half of the capacity: a nats-server is replaced, partitions are added, a projector
//! and a replica of Postgres are killed, and every process is upgraded from the last release, or restarted if its program is not known.

use std::time::Duration;

use devstack::{NatsConfig, NatsServer, PostgresServer};
use read_model::REPLICA_LAG_MS_MAX;
use tempfile::TempDir;
use tests::checker::Call;
use tests::stack::Setup;
use tests::{cluster, folder, program, settings};

use crate::fixture::{FaultTarget, Fixture, PreparedFixture};
use crate::injection::seed;
use crate::upgrade::last_release;
use crate::verdict::check_all;
use crate::workload::Workload;

/// The servers at the start; another one replaces the first.
const SERVERS: usize = 3;
/// The partitions after the growth.
const AFTER: u16 = 24;
/// Acknowledgements by which the capacity is measured.
const CAPACITY: usize = 1_000;
/// Acknowledgements without operations.
const QUIET: usize = 2_000;
/// Acknowledgements around each operation.
const PASSED: usize = 200;
/// How many times that without operations, and with as many partitions, the p99 of appends may be.
const P99_MAX: u32 = 3;

struct Operated {
    fixture: Fixture,
    standby: PostgresServer,
    joining: NatsConfig,
    // Dropped after the servers.
    _folders: Vec<TempDir>,
}

impl Operated {
    async fn start() -> Self {
        let folders: Vec<_> = (0..=SERVERS).map(|_| folder::enterable()).collect();
        let mut configs = cluster::configs(&folders, SERVERS);
        let joining = configs.pop().unwrap();
        let first = last_release().unwrap_or_else(|_| program!());
        let setup = Setup::processes(first).with_own_postgres();
        let mut prepared = PreparedFixture::of(setup.with_nats(configs)).await;
        let primary = prepared.stack.servers.postgres_mut();
        let standby = devstack::test::standby(primary).await;
        let replicas = vec![standby.database_url("hansard")];
        prepared.stack.change(|settings| {
            let model = &mut settings.gateway.read_model;
            model.replica_urls.clone_from(&replicas);
            model.replica_lag_ms_max = REPLICA_LAG_MS_MAX;
        });
        cluster::create_record(&settings::record(&prepared.stack.servers)).await;
        Self { fixture: prepared.start().await, standby, joining, _folders: folders }
    }

    /// Runs a command on partitions; `fourth` is the new server.
    async fn partitions(&self, action: &str, fourth: &NatsServer) {
        // The first server leaves.
        let servers = self.fixture.stack.servers.cluster().iter().skip(1);
        let urls: Vec<_> = servers.chain([fourth]).map(NatsServer::url).collect();
        let line = format!("partitions {action} --nats-url {}", urls.join(","));
        let ended = program!().run(line.split(' '), &[]).await;
        assert_eq!(ended.code, Some(0), "{line}: {ended:?}");
    }

    /// The operations in a row, each with acknowledgements around it. Returns the server that has joined, too.
    async fn operate(&mut self, load: &Workload) -> (Phases, NatsServer) {
        let mut phases = Phases::default();
        phases.begin("without", load);
        pass(load, QUIET).await;

        phases.begin("drain", load);
        let fourth = NatsServer::start(self.joining.clone(), &devstack::quiet).await.unwrap();
        self.partitions("balance --drain n0", &fourth).await;
        phases.begin("loss of the drained server", load);
        self.fixture.stack.servers.nats_mut().kill();
        pass(load, PASSED).await;
        phases.begin("24 partitions", load);
        let add = format!("add {AFTER} --stage-seconds 11");
        self.partitions(&add, &fourth).await;
        pass(load, PASSED).await;
        phases.begin("without, 24 partitions", load);
        pass(load, QUIET).await;
        phases.begin("loss of a projector", load);
        self.fixture.kill(FaultTarget::Projector);
        pass(load, PASSED).await;
        self.fixture.restart(FaultTarget::Projector).await;
        phases.begin("loss of the replica", load);
        self.standby.kill();
        pass(load, PASSED).await;
        phases.begin("upgrade", load);
        self.upgrade(load).await;
        phases.begin("end", load);
        (phases, fourth)
    }

    /// Replaces the program of every process by the current one.
    async fn upgrade(&mut self, load: &Workload) {
        for process in 0..self.fixture.processes().len() {
            let processes = self.fixture.processes();
            let node = processes.into_iter().nth(process).expect("a process");
            node.stop().await;
            node.set_program(program!());
            Box::pin(node.start()).await;
            pass(load, PASSED).await;
        }
    }
}

/// Waits for acknowledgements.
async fn pass(load: &Workload, acknowledgements: usize) {
    for _ in 0..acknowledgements / PASSED {
        load.wait_for_acknowledgements(PASSED).await;
    }
}

/// The names and starts of the parts of the test.
#[derive(Default)]
struct Phases(Vec<(&'static str, Duration)>);

impl Phases {
    fn begin(&mut self, name: &'static str, load: &Workload) {
        self.0.push((name, load.journal.now()));
    }

    /// The p99 of the unary calls that were settled in some of the phases.
    fn p99(&self, calls: &[Call], is_in: impl Fn(usize) -> bool) -> Duration {
        let phase = |call: &Call| {
            let begun = self.0.iter().rposition(|(_, begin)| *begin <= call.settled);
            begun.filter(|phase| phase + 1 < self.0.len())
        };
        let calls =
            calls.iter().filter(|call| call.stream_place.is_none()).filter(|call| phase(call).is_some_and(&is_in));
        let mut times: Vec<_> = calls.map(|call| call.settled.saturating_sub(call.invoked)).collect();
        times.sort_unstable();
        times[times.len() * 99 / 100]
    }

    /// The p99 of each phase, in milliseconds.
    fn each(&self, calls: &[Call]) -> String {
        let names = self.0.split_last().expect("an end").1.iter().enumerate();
        let each: Vec<_> =
            names.map(|(n, (name, _))| format!("{name} {}", self.p99(calls, |phase| phase == n).as_millis())).collect();
        each.join(", ")
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes; each operation has a test of its own"]
async fn operations_under_a_steady_load() {
    let mut operated = Box::pin(Operated::start()).await;
    let load = Workload::start(&operated.fixture, seed()).await;
    let began = load.journal.now();
    pass(&load, CAPACITY).await;
    let took = load.journal.now().saturating_sub(began);
    let capacity = u32::try_from(CAPACITY).unwrap();
    load.journal.set_pace(took * 2 / capacity);
    pass(&load, PASSED).await;
    let (phases, _joined) = operated.operate(&load).await;
    let unread = load.journal.unread();
    let tried = load.finish().await;
    let p99 = |is_in: fn(&usize) -> bool| phases.p99(&tried.calls, |phase| is_in(&phase));
    let before = [p99(|phase| *phase == 0), p99(|phase| [1, 2].contains(phase))];
    let after = [p99(|phase| *phase == 4), p99(|phase| [3, 5, 6, 7].contains(phase))];
    let per_second = f64::from(capacity) / took.as_secs_f64();
    let lines = [
        ("capacity, acknowledgements per second", format!("{per_second:.0}")),
        ("p99 without and with operations, 8 partitions, ms", millis(before)),
        ("p99 without and with operations, 24 partitions, ms", millis(after)),
        ("p99 of each, ms", phases.each(&tried.calls)),
        ("fresh reads that failed", unread.to_string()),
    ];
    let title = "server replaced, 24 partitions, projector and replica killed, all upgraded";
    check_all(&mut operated.fixture, title, &tried, &lines).await;
    for [quiet, operated_p99] in [before, after] {
        assert!(operated_p99 <= quiet * P99_MAX, "{operated_p99:?} of {quiet:?}");
    }
}

fn millis(p99: [Duration; 2]) -> String {
    let [quiet, operated] = p99.map(|p99| p99.as_millis());
    format!("{quiet}, {operated}")
}
