// Measures a peer in JavaScript, with the same work and the same output as work.py and load.py.

import { randomUUID } from 'node:crypto';
import { parseArgs } from 'node:util';

const MESSAGES = 100;
export const NEWEST = 20;
const TEXT_BYTES = 350;
const FILLER = 'Where is my parcel, and when does it arrive at the new address? '.repeat(6);
// Conversations that a caller reads in turns.
const READ_CONVERSATIONS = 2;
const TURNS = Array.from({ length: MESSAGES / 2 }, (_, turn) => turn);

/**
 * Prints the figures of a peer: an array of rows in JSON.
 *
 * A peer has `name`, `version`, `notes` by operation, and `open(pool)`, which returns a function from a name to a conversation.
 * A conversation has `append(messages)`, which creates it at first, and `read()`, which returns the contents of the newest
 * messages, oldest first. `Pool` is the class of the package `pg`.
 */
export async function main(peer, Pool) {
  try {
    await run(peer, Pool);
  } catch (error) {
    // The last line is the cause; an error of several addresses has a code only.
    console.error(`${error.stack}\n${error.name}: ${error.message || error.code}`);
    process.exitCode = 1;
  }
}

async function run(peer, Pool) {
  const text = { type: 'string' };
  const { values } = parseArgs({ options: { concurrency: text, seconds: text, 'warm-up': text } });
  const levels = values.concurrency.split(',').map(Number);
  const plan = { warmUpMs: 1000 * Number(values['warm-up']), ms: 1000 * Number(values.seconds) };
  const schema = `bench_peers_${peer.name}`;
  const pool = new Pool({
    connectionString: process.env.DATABASE_URL,
    max: Math.max(...levels),
    options: `-c search_path=${schema} -c synchronous_commit=on`,
  });
  const drop = `DROP SCHEMA IF EXISTS ${schema} CASCADE`;
  try {
    await pool.query(`${drop}; CREATE SCHEMA ${schema}`);
    console.log(JSON.stringify(await measure(peer, pool, levels, plan)));
  } finally {
    await pool.query(drop);
    await pool.end();
  }
}

/** The figures of a peer at each level of concurrency. */
async function measure(peer, pool, levels, plan) {
  const open = await peer.open(pool);
  const filled = await Promise.all(Array.from({ length: Math.max(...levels) }, () => fill(open)));
  await vacuum(pool);
  const rows = [];
  for (const operation of ['read', 'append']) {
    for (const concurrency of levels) {
      const calls = filled.slice(0, concurrency).map(own => (operation === 'append' ? appends(open) : reads(own)));
      const figures = await closedLoop(calls, plan);
      rows.push({ peer: peer.name, version: peer.version, operation, concurrency, ...figures, note: peer.notes[operation] });
    }
  }
  return rows;
}

/** Updates the statistics of the tables, as autovacuum does later. */
async function vacuum(pool) {
  const tables = await pool.query('SELECT tablename FROM pg_tables WHERE schemaname = current_schema()');
  for (const { tablename } of tables.rows) {
    await pool.query(`VACUUM (ANALYZE) "${tablename}"`);
  }
}

/** The user's message and the assistant's answer of a turn, counted from 0. */
function pair(turn) {
  return ['user', 'assistant'].map(role => ({ role, content: `${role} ${turn}: ${FILLER}`.slice(0, TEXT_BYTES) }));
}

/** The conversations that one caller reads. Checks that reads return what was appended. */
async function fill(open) {
  const filled = Array.from({ length: READ_CONVERSATIONS }, () => open(randomUUID()));
  const newest = JSON.stringify(TURNS.flatMap(pair).slice(-NEWEST).map(message => message.content));
  for (const conversation of filled) {
    for (const turn of TURNS) {
      await conversation.append(pair(turn));
    }
    if (JSON.stringify(await conversation.read()) !== newest) {
      throw new Error(`a read did not return the newest ${NEWEST} messages`);
    }
  }
  return filled;
}

/** The appends of one caller. A conversation with all its messages is followed by a new one. */
function appends(open) {
  let conversation;
  let turn = TURNS.length;
  return async () => {
    if (turn === TURNS.length) {
      [conversation, turn] = [open(randomUUID()), 0];
    }
    await conversation.append(pair(turn));
    turn += 1;
  };
}

/** The reads of one caller. */
function reads(own) {
  let count = 0;
  return async () => {
    const found = await own[count % own.length].read();
    count += 1;
    if (found.length !== NEWEST) {
      throw new Error(`a read returned ${found.length} messages instead of ${NEWEST}`);
    }
  };
}

/** Runs each caller without pauses. Calls that begin after the warm-up count; each caller has at least one. */
async function closedLoop(calls, plan) {
  const beginsAt = performance.now() + plan.warmUpMs;
  const endsAt = beginsAt + plan.ms;
  const loop = async call => {
    const times = [];
    while (performance.now() < endsAt || times.length === 0) {
      const start = performance.now();
      await call();
      if (start >= beginsAt) {
        times.push(performance.now() - start);
      }
    }
    return times;
  };
  const callers = await Promise.all(calls.map(loop));
  const elapsedS = (performance.now() - beginsAt) / 1000;
  const times = callers.flat().sort((one, other) => one - other);
  return {
    per_second: rounded(times.length / elapsedS, 1),
    p50_ms: rounded(percentile(times, 0.5), 3),
    p99_ms: rounded(percentile(times, 0.99), 3),
  };
}

/** The smallest value that at least this share of the values does not exceed. */
function percentile(ordered, share) {
  return ordered[Math.max(Math.ceil(share * ordered.length), 1) - 1];
}

function rounded(value, digits) {
  return Number(value.toFixed(digits));
}
