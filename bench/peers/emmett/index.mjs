// The event store of Emmett on Postgres: a stream for each conversation, an event for each message.

import { getPostgreSQLEventStore } from '@event-driven-io/emmett-postgresql';
import { readFileSync } from 'node:fs';
import pg from 'pg';

import { NEWEST, main } from '../load.mjs';

const PACKAGES = JSON.parse(readFileSync(new URL('package.json', import.meta.url))).dependencies;

/** A stream, and the version that its next append expects. */
class Stream {
  version = 0n;

  constructor(store, name) {
    this.store = store;
    this.name = `conversation-${name}`;
  }

  async append(messages) {
    const events = messages.map(data => ({ type: 'MessageAppended', data }));
    const options = { expectedStreamVersion: this.version === 0n ? 'STREAM_DOES_NOT_EXIST' : this.version };
    const appended = await this.store.appendToStream(this.name, events, options);
    this.version = appended.nextExpectedStreamVersion;
  }

  async read() {
    const { events } = await this.store.readStream(this.name, { from: this.version - BigInt(NEWEST) + 1n });
    return events.map(event => event.data.content);
  }
}

const emmett = {
  name: 'emmett',
  version: PACKAGES['@event-driven-io/emmett-postgresql'],
  notes: {
    append: 'two events with an expected version',
    read: 'the events from the position of the 20th newest, which the caller knows',
  },
  async open(pool) {
    const store = getPostgreSQLEventStore(process.env.DATABASE_URL, { connectionOptions: { pool } });
    await store.schema.migrate();
    return name => new Stream(store, name);
  },
};

await main(emmett, pg.Pool);
