use std::future::{pending, ready};
use std::sync::Mutex;

use futures::FutureExt as _;
use futures::future::join_all;
use tokio::task::JoinHandle;

use super::*;

/// No slot expires.
const BOUNDS: Bounds = Bounds { slots: 1, batch_calls: 16, slot_time: Duration::from_hours(1) };
/// Every slot expires.
const SHORT_SLOTS: Bounds = Bounds { slot_time: Duration::from_millis(1), ..BOUNDS };

/// The keys and the calls of batches.
type Batches = Vec<(char, Vec<usize>)>;

/// Answers each call with itself and logs the batches.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Batches>>);

impl Log {
    fn batcher(&self, slots: usize) -> Batcher<char, usize, usize> {
        let bounds = Bounds { slots, ..BOUNDS };
        self.with_bounds(bounds)
    }

    fn with_bounds(&self, bounds: Bounds) -> Batcher<char, usize, usize> {
        let log = self.clone();
        Batcher::new(bounds, move |key, calls: Vec<usize>| {
            log.0.lock().unwrap().push((key, calls.clone()));
            ready(calls).boxed()
        })
    }

    fn batches(&self) -> Batches {
        self.0.lock().unwrap().clone()
    }
}

/// The call of a caller that runs alone.
fn never() -> (char, usize) {
    panic!("the call waits")
}

/// Starts a call that occupies its slot until the task is aborted.
async fn blocked(batcher: &Batcher<char, usize, usize>) -> JoinHandle<()> {
    let batcher = batcher.clone();
    let (started, is_started) = oneshot::channel();
    let task = tokio::spawn(async move {
        let alone = async {
            started.send(()).unwrap();
            pending().await
        };
        batcher.run(never, alone).await;
    });
    is_started.await.unwrap();
    task
}

/// Starts calls, in this order, while every slot is occupied. None of them runs alone.
fn waiting(
    batcher: &Batcher<char, usize, usize>,
    calls: impl IntoIterator<Item = (char, usize)>,
) -> Vec<JoinHandle<Option<usize>>> {
    let start = |(key, call): (char, usize)| {
        let batcher = batcher.clone();
        let mut run = async move { batcher.run(|| (key, call), pending()).await }.boxed();
        assert!(run.as_mut().now_or_never().is_none());
        tokio::spawn(run)
    };
    calls.into_iter().map(start).collect()
}

async fn answers(tasks: Vec<JoinHandle<Option<usize>>>) -> Vec<usize> {
    let answers = join_all(tasks).await;
    answers.into_iter().map(|answer| answer.unwrap().unwrap()).collect()
}

#[tokio::test]
async fn a_call_runs_alone_while_a_slot_is_free() {
    let log = Log::default();
    let batcher = log.batcher(2);
    for call in 0..3 {
        assert_eq!(batcher.run(never, ready(call)).await, Some(call));
    }
    let first = blocked(&batcher).await;
    assert_eq!(batcher.run(never, ready(7)).await, Some(7));
    first.abort();
    assert_eq!(log.batches(), []);
}

#[tokio::test]
async fn calls_that_waited_run_as_one_batch() {
    check(&[('a', 1), ('a', 2), ('a', 3)], &[('a', &[1, 2, 3])]).await;
}

#[tokio::test]
async fn a_batch_has_one_key() {
    check(&[('a', 1), ('b', 2), ('a', 3), ('b', 4)], &[('a', &[1, 3]), ('b', &[2, 4])]).await;
}

#[tokio::test]
async fn the_number_of_calls_of_a_batch_is_bounded() {
    let calls: Vec<_> = (0..17).map(|call| ('a', call)).collect();
    let numbers: Vec<usize> = (0..16).collect();
    check(&calls[..16], &[('a', &numbers)]).await;
    check(&calls, &[('a', &numbers), ('a', &[16])]).await;
}

/// Runs calls that wait for the only slot, and compares the batches. Each call gets its own answer.
async fn check(calls: &[(char, usize)], expected: &[(char, &[usize])]) {
    let log = Log::default();
    let batcher = log.batcher(1);
    let first = blocked(&batcher).await;
    let tasks = waiting(&batcher, calls.iter().copied());
    assert_eq!(log.batches(), []);
    // A caller that leaves frees its slot, as one that got its answer.
    first.abort();
    let numbers: Vec<usize> = calls.iter().map(|(_, call)| *call).collect();
    assert_eq!(answers(tasks).await, numbers);
    let expected = expected.iter().map(|(key, calls)| (*key, calls.to_vec()));
    assert_eq!(log.batches(), expected.collect::<Batches>());
    assert_eq!(batcher.run(never, ready(9)).await, Some(9));
}

#[tokio::test]
async fn the_calls_of_callers_that_left_do_not_run() {
    let log = Log::default();
    let batcher = log.batcher(1);
    let first = blocked(&batcher).await;
    let mut tasks = waiting(&batcher, [('a', 1), ('a', 2), ('a', 3)]);
    let left = tasks.remove(1);
    left.abort();
    assert!(left.await.unwrap_err().is_cancelled());
    first.abort();
    assert_eq!(answers(tasks).await, [1, 3]);
    assert_eq!(log.batches(), [('a', vec![1, 3])]);
}

#[tokio::test]
async fn a_slow_call_does_not_delay_the_others() {
    let batcher = Log::default().with_bounds(SHORT_SLOTS);
    let slow = blocked(&batcher).await;
    assert_eq!(batcher.run(|| ('a', 1), ready(1)).await, Some(1));
    assert!(!slow.is_finished());
    slow.abort();
}

#[tokio::test]
async fn a_slow_batch_does_not_delay_the_others() {
    let batcher = Batcher::new(SHORT_SLOTS, |key: char, calls: Vec<usize>| match key {
        'a' => pending().boxed(),
        _ => ready(calls).boxed(),
    });
    let first = blocked(&batcher).await;
    let slow = waiting(&batcher, [('a', 1)]);
    assert_eq!(batcher.run(|| ('b', 2), ready(2)).await, Some(2));
    assert!(slow.iter().all(|slow| !slow.is_finished()));
    slow.iter().for_each(JoinHandle::abort);
    first.abort();
}

#[tokio::test]
async fn a_panic_in_a_batch_ends_its_calls_and_frees_the_slot() {
    let batcher = Batcher::new(BOUNDS, |_: char, _: Vec<usize>| -> BoxFuture<'static, Vec<usize>> {
        async { panic!("in a batch") }.boxed()
    });
    let first = blocked(&batcher).await;
    let tasks = waiting(&batcher, [('a', 1), ('a', 2)]);
    first.abort();
    for answer in join_all(tasks).await {
        assert_eq!(answer.unwrap(), None);
    }
    // The slot is free when the task of the batch has ended.
    while batcher.0.queue().in_flight > 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(batcher.run(never, ready(3)).await, Some(3));
}
