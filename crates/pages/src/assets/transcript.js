// Adds to transcripts: search on the page, live events, and links to events of other pages. The page works without it.

import { localTimes } from "./dashboard.js";

/** Most events of the page; later ones are on a page of their own. */
const EVENTS_MAX = 500;
/** New events are fetched together after this time, in milliseconds. */
const GATHER_MS = 250;

const list = document.querySelector("#events");
const query = new URLSearchParams(location.search);

/** Opens the page of the event that the URL names, if it is not on this one. */
function openNamedEvent() {
  const match = /^#v([1-9][0-9]{0,18})$/.exec(location.hash);
  if (match === null || document.getElementById(location.hash.slice(1)) !== null) return;
  if (query.get("at") === match[1] && query.get("depth") === "everything") return;
  location.replace(`?depth=everything&at=${match[1]}${location.hash}`);
}

function search() {
  const input = document.querySelector("[data-page-search]");
  const status = document.querySelector("#page-search-status");
  if (input === null) return;
  input.addEventListener("input", () => {
    const term = input.value.trim().toLocaleLowerCase();
    let found = 0;
    for (const event of list.children) {
      const matches = term === "" || event.textContent.toLocaleLowerCase().includes(term);
      event.hidden = !matches;
      if (!matches || term === "") continue;
      found += 1;
      for (const part of event.querySelectorAll("details")) {
        if (part.textContent.toLocaleLowerCase().includes(term)) part.open = true;
      }
    }
    status.textContent = term === "" ? "" : `${found} found`;
  });
}

function openAll() {
  const button = document.querySelector("[data-open-all]");
  button?.addEventListener("click", () => {
    const parts = [...list.querySelectorAll("details")];
    const open = parts.some((part) => !part.open);
    for (const part of parts) part.open = open;
    button.textContent = open ? "Close all" : "Open all";
  });
}

/** The page of the events after a version, as a document: its scripts do not run. */
function pageAfter(version) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.responseType = "document";
    request.open("GET", `?depth=${encodeURIComponent(list.dataset.depth)}&after=${version}`);
    request.onload = () => (request.status === 200 ? resolve(request.response) : reject(new Error(`${request.status}`)));
    request.onerror = () => reject(new Error("network"));
    request.send();
  });
}

function say(text) {
  const status = document.querySelector("#live");
  if (status !== null) status.textContent = text;
}

/** Appends the new events. Returns whether the page may grow further. */
async function grow() {
  const page = await pageAfter(list.dataset.through);
  const events = page.querySelector("#events");
  if (events === null) return true;
  for (const event of [...events.children]) {
    if (document.getElementById(event.id) !== null) continue;
    if (list.children.length >= EVENTS_MAX) {
      say("There are more events: reload the page.");
      return false;
    }
    const own = document.importNode(event, true);
    localTimes(own);
    for (const node of own.querySelectorAll("[data-needs-script]")) node.hidden = false;
    list.append(own);
  }
  list.dataset.through = events.dataset.through;
  return true;
}

function follow() {
  if (list.dataset.live === undefined) return;
  const path = `/dashboard/conversations/${encodeURIComponent(list.dataset.conversation)}/stream`;
  const stream = new EventSource(`${path}?after=${list.dataset.through}`);
  let timer = null;
  let newest = Number(list.dataset.through);
  const gather = async () => {
    try {
      while (newest > Number(list.dataset.through)) {
        if (!(await grow())) {
          stream.close();
          break;
        }
      }
    } catch (error) {
      say("New events cannot be loaded: reload the page.");
      stream.close();
    }
    timer = null;
  };
  stream.addEventListener("message", (event) => {
    newest = Math.max(newest, Number(event.lastEventId));
    timer ??= setTimeout(gather, GATHER_MS);
  });
  stream.addEventListener("end", (event) => {
    const end = JSON.parse(event.data);
    if (end.code !== "CONVERSATION_ERASED" && end.code !== "CONVERSATION_NOT_FOUND") return;
    stream.close();
    say("The conversation was erased. What is shown is not stored any more: close this page.");
  });
}

if (list !== null) {
  openNamedEvent();
  window.addEventListener("hashchange", openNamedEvent);
  search();
  openAll();
  follow();
}
