'use client';
// A React hook for live conversations.

import { useMemo, useSyncExternalStore } from 'react';

import { liveStore, LOADING, type LiveConversation, type Watched } from './store.js';

export interface UseConversationOptions {
  /** How many of the newest events are kept; 1,000 if absent. */
  eventsMax?: number;
}

/**
 * The conversation as it is recorded, and what happens in it: also in other tabs, on other devices and by back ends. It is read again
 * from the start when the id of the source changes.
 */
export function useConversation(source: Watched, { eventsMax }: UseConversationOptions = {}): LiveConversation {
  // A component can make its source in each render: only the id counts.
  const store = useMemo(() => liveStore(source, eventsMax), [source.id, eventsMax]);
  return useSyncExternalStore(store.subscribe, store.getSnapshot, () => LOADING);
}
