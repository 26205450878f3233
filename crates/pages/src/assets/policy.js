// Adds to the editor of context policies: the preview follows while the person types. The page works without it.

/** A preview is requested after this time without a change, in milliseconds. */
const PAUSE_MS = 600;
const PROBLEMS = {
  401: "The session has ended. Sign in in another tab; the text stays here.",
  403: "The session has changed. Copy the text, then reload the page.",
  413: "The form is too large for a preview: at most 256 kB.",
};

const editor = document.querySelector("[data-preview-path]");
const form = editor?.querySelector("form");
let timer = null;
let request = null;

function say(text) {
  const notice = document.createElement("div");
  notice.className = "notice bad";
  notice.textContent = text;
  document.querySelector("#preview").replaceChildren(notice);
  announce(text);
}

/** Tells screen readers in a sentence; the preview itself is long. */
function announce(text) {
  document.querySelector("#preview-status").textContent = text;
}

/** Shows the preview of an answer, which is a page: its scripts do not run. */
function show(answer) {
  const preview = answer.response?.querySelector("#preview");
  if (preview === null || preview === undefined) {
    say(PROBLEMS[answer.status] ?? "The preview does not answer. It is requested again when you type.");
    return;
  }
  const errors = preview.querySelector("#policy-errors");
  const own = document.importNode(preview, true);
  for (const node of own.querySelectorAll("[data-needs-script]")) node.hidden = false;
  document.querySelector("#preview").replaceWith(own);
  if (errors !== null) form.elements.policy.setAttribute("aria-invalid", "true");
  else form.elements.policy.removeAttribute("aria-invalid");
  announce(errors?.textContent ?? preview.querySelector(".notice")?.textContent ?? "The preview is up to date.");
}

function update() {
  request?.abort();
  const sent = new XMLHttpRequest();
  request = sent;
  sent.responseType = "document";
  sent.open("POST", editor.dataset.previewPath);
  sent.onload = () => show(sent);
  sent.onerror = () => say("The gateway does not answer. The preview is requested again when you type.");
  sent.send(new URLSearchParams(new FormData(form)));
}

form?.addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(update, PAUSE_MS);
});
