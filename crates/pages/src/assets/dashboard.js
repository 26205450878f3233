// Adds to every page: keys, local times and copying. Pages work without it.

/** The links that J and K move between: one in each row. */
const rows = () => [...document.querySelectorAll("[data-row]")];

function move(step) {
  const all = rows();
  if (all.length === 0) return;
  const at = all.indexOf(document.activeElement);
  const next = at < 0 ? (step > 0 ? 0 : all.length - 1) : Math.min(Math.max(at + step, 0), all.length - 1);
  all[next].focus();
  all[next].scrollIntoView({ block: "nearest" });
}

function leave() {
  const active = document.activeElement;
  if (active instanceof HTMLElement && active !== document.body) {
    active.blur();
    return;
  }
  const back = document.querySelector("[data-back]");
  if (back instanceof HTMLAnchorElement) back.click();
}

const help = () => document.querySelector("#keys");

const keys = {
  j: () => move(1),
  k: () => move(-1),
  "/": () => document.querySelector("[data-filter]")?.focus(),
  "?": () => help()?.showModal(),
};

function isTyping(target) {
  return target instanceof Element && target.closest("input, textarea, select, [contenteditable]") !== null;
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || help()?.open) return;
  if (event.key === "Escape") {
    leave();
    return;
  }
  const action = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  if (action === undefined || isTyping(event.target)) return;
  event.preventDefault();
  action();
});

document.addEventListener("click", async (event) => {
  const button = event.target instanceof Element ? event.target.closest("[data-copy]") : null;
  if (button === null) return;
  const source = document.getElementById(button.dataset.copy);
  const label = button.dataset.label ?? button.textContent;
  button.dataset.label = label;
  try {
    await navigator.clipboard.writeText(source?.textContent ?? "");
    button.textContent = "Copied";
  } catch {
    button.textContent = "Not copied: select the text";
  }
  setTimeout(() => { button.textContent = label; }, 2000);
});

const local = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

/** Shows the times below a node in the reader's time zone; the title keeps UTC. */
export function localTimes(node) {
  for (const time of node.querySelectorAll("time[datetime]:not([title])")) {
    const at = new Date(time.dateTime);
    if (Number.isNaN(at.valueOf())) continue;
    time.title = time.textContent;
    time.textContent = local.format(at);
  }
}

localTimes(document);
for (const node of document.querySelectorAll("[data-needs-script]")) node.hidden = false;
