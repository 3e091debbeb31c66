// What opens above the page: menus, the emoji tray, dialogs, short notices.

import { h, icon, iconButton } from "./dom.js";
import { Left } from "./seat.js";

const NOTICE_MILLISECONDS = 7000;
const EMOJI = [
  ["👍", "thumbs up"], ["👎", "thumbs down"], ["❤️", "heart"], ["😂", "laughing"], ["🎉", "party"], ["👀", "eyes"],
  ["🔥", "fire"], ["✅", "check"], ["❌", "cross"], ["🙏", "thanks"], ["🤔", "thinking"], ["😮", "surprised"],
  ["😢", "sad"], ["👏", "clapping"], ["🙂", "smile"], ["☕", "coffee"], ["🌱", "seedling"], ["⭐", "star"],
];

let open = null;

/** Close whatever menu is open, and give the focus back. */
export function closePopup({ focus = true } = {}) {
  if (!open) return;
  const { node, opener } = open;
  open = null;
  node.remove();
  opener?.setAttribute?.("aria-expanded", "false");
  if (focus) inPlace(opener)?.focus?.();
}

/** Close whatever is open above the page. */
export function closeAll() {
  closePopup({ focus: false });
  document.querySelectorAll("dialog").forEach((dialog) => dialog.close());
}

/** The opener, or what has come in the place of its part of the page. */
function inPlace(opener) {
  return !opener || opener.isConnected ? opener : document.getElementById(opener.closest("[id]")?.id);
}

function show(node, opener, at) {
  closePopup({ focus: false });
  document.body.append(node);
  opener?.setAttribute?.("aria-expanded", "true");
  const box = node.getBoundingClientRect();
  const from = at ?? opener.getBoundingClientRect();
  const left = Math.min(Math.max(8, from.right - (at ? 0 : box.width)), innerWidth - box.width - 8);
  const below = from.bottom + 4;
  const top = below + box.height > innerHeight - 8 ? Math.max(8, from.top - box.height - 4) : below;
  node.style.left = `${left}px`;
  node.style.top = `${top}px`;
  open = { node, opener };
}

/** Open a menu of `{label, icon, run, danger}` or `{heading}`, at its button or at the pointer. */
export function menu(items, opener, at) {
  const node = h("div", { class: "popup menu", role: "menu" }, items.map((item) => menuRow(item)));
  node.addEventListener("keydown", (event) => arrows(event, node, 1));
  show(node, opener, at);
  node.querySelector("[role=menuitem]")?.focus();
}

function menuRow(item) {
  if (item.heading) return h("p", { class: "menu-heading", role: "presentation" }, item.heading);
  const run = () => {
    closePopup();
    item.run();
  };
  return h("button", { type: "button", role: "menuitem", class: item.danger ? "danger" : "", tabIndex: -1, onclick: run }, icon(item.icon), item.label);
}

/** Open the emoji tray and hand the chosen one on. */
export function emojiTray(opener, pick) {
  const buttons = EMOJI.map(([emoji, name]) =>
    h("button", {
      type: "button", role: "menuitem", tabIndex: -1, "aria-label": name, title: name,
      onclick: () => {
        closePopup();
        pick(emoji);
      },
    }, emoji));
  const node = h("div", { class: "popup emoji-tray", role: "menu", "aria-label": "Reactions" }, buttons);
  node.addEventListener("keydown", (event) => arrows(event, node, 6));
  show(node, opener);
  buttons[0].focus();
}

function arrows(event, node, columns) {
  const items = [...node.querySelectorAll("[role=menuitem]")];
  const at = items.indexOf(document.activeElement);
  const steps = { ArrowDown: columns, ArrowUp: -columns };
  if (columns > 1) Object.assign(steps, { ArrowRight: 1, ArrowLeft: -1 });
  if (event.key in steps) {
    event.preventDefault();
    items[(at + steps[event.key] + items.length) % items.length].focus();
  } else if (event.key === "Home" || event.key === "End") {
    event.preventDefault();
    items.at(event.key === "Home" ? 0 : -1).focus();
  } else if (event.key === "Tab") {
    closePopup();
    event.preventDefault();
  }
}

document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || !open) return;
  event.stopPropagation();
  closePopup();
}, true);
document.addEventListener("pointerdown", (event) => {
  if (open && !open.node.contains(event.target) && !open.opener?.contains?.(event.target)) closePopup({ focus: false });
}, true);
addEventListener("resize", () => closePopup({ focus: false }));

/** Ask in a dialog; gives the form's values, or null when the person left. */
export function ask({ title, text, fields = [], confirm = "OK", danger = false }) {
  return new Promise((resolve) => {
    const titleId = `dialog-${crypto.randomUUID()}`;
    const form = h("form", { method: "dialog" },
      h("header", {}, h("h2", { id: titleId }, title), iconButton("close", "Close", () => dialog.close())),
      text ? h("p", { class: "dialog-text" }, text) : null,
      fields,
      h("footer", {},
        h("button", { type: "button", class: "button", onclick: () => dialog.close() }, "Cancel"),
        h("button", { type: "submit", class: `button ${danger ? "danger" : "primary"}`, value: "yes" }, confirm)));
    const dialog = h("dialog", { "aria-labelledby": titleId }, form);
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes" ? form : null);
    });
    document.body.append(dialog);
    dialog.showModal();
    dialog.querySelector("input, textarea, select")?.focus();
  });
}

/** Show a picture or a text file whole. */
export function lightbox(title, content, actions = []) {
  const dialog = h("dialog", { class: "lightbox", "aria-label": title },
    h("header", {}, h("h2", {}, title), actions, iconButton("close", "Close", () => dialog.close())),
    h("div", { class: "lightbox-body", tabIndex: 0 }, content));
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  document.body.append(dialog);
  dialog.showModal();
}

/** Say what went wrong, for a few seconds unless told otherwise. Gives what takes it away. */
export function notice(text, milliseconds = NOTICE_MILLISECONDS) {
  const holder = document.getElementById("toasts");
  const node = h("div", { class: "toast" }, h("span", {}, text), iconButton("close", "Dismiss", () => node.remove()));
  holder.append(node);
  while (holder.children.length > 3) holder.firstChild.remove();
  if (milliseconds < Infinity) setTimeout(() => node.remove(), milliseconds);
  return () => node.remove();
}

/** Run what a person asked for and tell them if it was refused. */
export async function attempt(work) {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Left)) notice(error.message);
    return undefined;
  }
}

