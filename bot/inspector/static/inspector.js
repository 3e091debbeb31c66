// What a script adds: the page follows its run, and a private text opens in its place.
// Without it everything is there as well, by links.

const LEAST_WAIT = 400; // milliseconds between two looks
const COVER = "revealed-row";

const announcer = document.getElementById("announcer");
const state = document.getElementById("live");

// --- following

const follow = document.body.dataset.follow;
let stream = null;
let looking = false;
let again = false;
let lookMs = 0;

function show(text, on) {
  if (!state) return;
  state.hidden = false;
  state.textContent = text;
  state.classList.toggle("on", on);
}

function connect() {
  if (!follow || stream || document.hidden) return;
  stream = new EventSource(follow);
  stream.addEventListener("open", () => {
    show("live", true);
    look(); // what changed since the page was made was told to nobody
  });
  stream.addEventListener("changed", () => look());
  stream.addEventListener("error", () => {
    const over = stream?.readyState === EventSource.CLOSED;
    show(over ? "not live; load the page again" : "connecting…", false);
  });
}

function disconnect() {
  stream?.close();
  stream = null;
  show("paused", false);
}

async function look() {
  if (looking) {
    again = true;
    return;
  }
  looking = true;
  const began = performance.now();
  try {
    const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
    if (answer.ok) renew(new DOMParser().parseFromString(await answer.text(), "text/html"));
    else if (answer.status === 401) location.reload();
  } catch {
    show("connecting…", false); // the stream tells when it is back
  }
  lookMs = performance.now() - began;
  setTimeout(() => {
    looking = false;
    if (again) {
      again = false;
      look();
    }
  }, Math.max(LEAST_WAIT, 3 * lookMs));
}

function renew(fresh) {
  for (const old of document.querySelectorAll("[data-live]")) {
    const next = fresh.getElementById(old.id);
    if (!next || old.querySelector(".revealed")) continue;
    const said = next.dataset.said;
    if (said && said !== old.dataset.said && announcer) announcer.textContent = said;
    const open = new Set([...old.querySelectorAll("details[open]")].map((each) => each.id));
    const bare = old.cloneNode(true); // as it came, without what was done to it here
    for (const each of bare.querySelectorAll("details[open]")) each.removeAttribute("open");
    for (const each of bare.querySelectorAll("a.cover")) {
      each.removeAttribute("aria-busy");
      each.removeAttribute("aria-expanded");
      delete each.dataset.covered;
    }
    if (bare.outerHTML === next.outerHTML) continue;
    const focused = old.contains(document.activeElement) ? document.activeElement.id : "";
    for (const id of open) if (id) next.querySelector(`#${CSS.escape(id)}`)?.setAttribute("open", "");
    become(old, document.adoptNode(next));
    if (focused && document.activeElement.id !== focused) document.getElementById(focused)?.focus({ preventScroll: true });
  }
}

// What is the same stays where it is, with a click that has begun, what is selected and the place.
function become(old, next) {
  if (old.isEqualNode(next)) return;
  if (old.nodeName !== next.nodeName || !old.attributes) {
    old.replaceWith(next);
    return;
  }
  for (const { name } of [...old.attributes]) if (!next.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of next.attributes) old.setAttribute(name, value);
  const [held, wanted] = [[...old.childNodes], [...next.childNodes]];
  held.forEach((each, at) => (at < wanted.length ? become(each, wanted[at]) : each.remove()));
  old.append(...wanted.slice(held.length));
}

// --- private texts

function cover(link) {
  const row = link.closest("tr")?.nextElementSibling;
  if (row?.classList.contains(COVER)) row.remove();
  link.setAttribute("aria-expanded", "false");
  const words = link.firstChild;
  words.textContent = link.dataset.covered ?? words.textContent;
}

async function uncover(asked) {
  asked.setAttribute("aria-busy", "true");
  let link = asked;
  try {
    const answer = await fetch(link.href, { headers: { Accept: "text/html" } });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const part = page.querySelector("[data-part]");
    if (!answer.ok || !part) {
      location.href = link.href;
      return;
    }
    link = document.getElementById(link.id) ?? link; // the page may have been renewed meanwhile
    if (document.hidden || link.getAttribute("aria-expanded") === "true") return;
    for (const each of part.querySelectorAll("a[href^='?']")) {
      each.href = new URL(each.getAttribute("href"), link.href).pathname + each.getAttribute("href");
    }
    const row = document.createElement("tr");
    row.className = COVER;
    const cell = row.insertCell();
    const own = link.closest("tr");
    cell.colSpan = own.cells.length;
    cell.append(document.adoptNode(part));
    own.after(row);
    link.dataset.covered = link.firstChild.textContent;
    link.firstChild.textContent = "hide";
    link.setAttribute("aria-expanded", "true");
  } catch {
    location.href = link.href;
  } finally {
    for (const each of [asked, link]) each.removeAttribute("aria-busy");
  }
}

document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a.cover");
  if (!link || !link.closest("tr") || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  if (link.getAttribute("aria-expanded") === "true") cover(link);
  else if (link.getAttribute("aria-busy") !== "true") uncover(link);
});

// --- coming and going

document.addEventListener("visibilitychange", () => {
  if (document.hidden) {
    if (follow) disconnect();
    for (const link of document.querySelectorAll("a.cover[aria-expanded='true']")) cover(link);
  } else if (follow) connect();
});
window.addEventListener("pagehide", disconnect);
window.addEventListener("pageshow", connect);
