// The messages of one conversation, oldest first. Elements are kept by id, so that a screen reader
// hears only what is new and the place in the list is not lost.

import { addressed, readable } from "./address.js";
import { act } from "./api.js";
import { entries, offered } from "./commands.js";
import { fill, h, newer } from "./dom.js";
import { messageElement, isSystem } from "./message.js";
import { attempt, ask, menu } from "./popups.js";
import { readHere } from "./seat.js";
import { botName, channel, findMessage, messagesOf, person, putMessage, state } from "./store.js";

const TOGETHER_MILLISECONDS = 5 * 60 * 1000;
const CLICK_MILLISECONDS = 100; // a tap's click comes after its end
const NEAR_END_PIXELS = 120;
const DAY = new Intl.DateTimeFormat(undefined, { dateStyle: "full" });

export class Timeline {
  constructor({ onReply, onGoTo, onCommand }) {
    Object.assign(this, { onReply, onGoTo, onCommand });
    this.scroller = document.getElementById("timeline");
    this.list = document.getElementById("messages");
    this.jump = document.getElementById("jump");
    this.jump.addEventListener("click", () => this.toEnd());
    this.scroller.addEventListener("scroll", () => this.#scrolled());
    this.list.addEventListener("keydown", (event) => this.#keys(event));
    this.list.addEventListener("pointerdown", (event) => event.button === 0 && this.#press(event.target.closest(".message")));
    // Pictures and opened files change heights after the fact.
    new ResizeObserver(() => this.stuck && this.toEnd()).observe(this.list);
    this.stuck = true;
    /** The conversation that stands in the list; another may be on its way. */
    this.shown = null;
    /** What each element was drawn from, as JSON. */
    this.drawn = new WeakMap();
    /** The element that a click has begun in. */
    this.pressed = null;
  }

  /**
   * Show the current conversation from what is known. Read once more, it changes only where it
   * differs: whoever is in the middle of it keeps the focus, an edit and the place.
   */
  showAll() {
    if (this.shown === state.current) this.#showAgain();
    else this.#showFirst();
  }

  /** Take every message off the page; others are awaited. */
  clear() {
    if (this.list.contains(document.activeElement)) document.getElementById("entry").focus();
    fill(this.list);
    this.shown = null;
    this.jump.hidden = true;
    this.setBusy(true);
  }

  /** Not busy: everything stands here, and what happens from now on will come. */
  setBusy(busy) {
    this.list.setAttribute("aria-busy", String(busy));
  }

  #showFirst() {
    fill(this.list, this.#beginning(), messagesOf(state.current).map((message) => this.#draw(message)));
    this.#regroup();
    this.toEnd();
    this.shown = state.current;
  }

  #showAgain() {
    const messages = messagesOf(state.current);
    const last = this.#nodes().at(-1)?.dataset.id;
    const known = new Set(messages.map((message) => message.id));
    this.drop(this.#nodes().map((node) => node.dataset.id).filter((id) => !known.has(id)));
    messages.forEach((message) => this.#place(message));
    this.#showBeginning();
    this.#regroup();
    if (this.stuck) this.toEnd();
    else if (newer(messages.at(-1)?.id, last)) this.jump.hidden = false;
  }

  #showBeginning() {
    const old = this.list.querySelector(".beginning");
    const now = this.#beginning();
    if (old && now && old.isEqualNode(now)) return; // not said again to those who listen
    old?.remove();
    if (now) this.list.prepend(now);
  }

  #beginning() {
    const here = channel();
    if (!here || !state.complete.has(here.id)) return null;
    const what = here.kind === "dm" ? `This is where you and ${here.name} talk.` : `This is the beginning of ${here.kind === "thread" ? "" : "#"}${here.name}.`;
    return h("p", { class: "beginning" }, what, messagesOf(here.id).length ? "" : hint(here));
  }

  /** Put a new or changed message in its place. */
  put(message) {
    const isNew = this.#place(message);
    this.#showBeginning();
    this.#regroup();
    const mine = message.author.id === state.me || message.interaction_metadata?.user.id === state.me;
    if (this.stuck || (mine && isNew)) this.toEnd();
    else if (isNew) this.jump.hidden = false;
  }

  /** Put a message where it belongs, and tell whether it is new there; the same again stays. */
  #place(message) {
    const old = this.#element(message.id);
    if (old && (old === this.pressed || this.drawn.get(old) === JSON.stringify(message))) return false;
    const node = this.#draw(message);
    if (!old) {
      this.list.insertBefore(node, this.#nodes().find((one) => newer(one.dataset.id, message.id)) ?? null);
      return true;
    }
    const focused = old.contains(document.activeElement) ? document.activeElement : null;
    const form = old.querySelector(".edit-form");
    if (form) showForm(form, node);
    node.tabIndex = old.tabIndex;
    old.replaceWith(node);
    if (focused) (node.contains(focused) ? focused : node).focus({ preventScroll: true });
    return false;
  }

  /** Leave a message alone while a click goes on in it: of a new element it would be no click. */
  #press(node) {
    this.pressed = node;
    const release = () => {
      this.pressed = null;
      const message = node?.isConnected && findMessage(state.current, node.dataset.id);
      if (message) this.put(message);
    };
    const over = new AbortController();
    for (const end of ["pointerup", "pointercancel"]) {
      addEventListener(end, () => {
        over.abort();
        setTimeout(release, CLICK_MILLISECONDS);
      }, { signal: over.signal });
    }
  }

  #draw(message) {
    const node = messageElement(message, this.#actions());
    this.drawn.set(node, JSON.stringify(message));
    return node;
  }

  drop(ids) {
    for (const id of ids) {
      const node = this.#element(id);
      if (node?.contains(document.activeElement)) document.getElementById("entry")?.focus();
      node?.remove();
    }
    this.#regroup();
  }

  /** Go to the newest message: to its end, or to its beginning when it is taller than the room. */
  toEnd() {
    this.stuck = true;
    this.jump.hidden = true;
    const last = this.list.lastElementChild;
    const tall = last && last.offsetHeight > this.scroller.clientHeight;
    if (tall) last.scrollIntoView({ block: "start" });
    else this.scroller.scrollTop = this.scroller.scrollHeight;
  }

  focusLast() {
    this.list.querySelector(".message:last-of-type")?.focus();
  }

  #nodes() {
    return [...this.list.querySelectorAll(".message")];
  }

  #element(id) {
    return this.list.querySelector(`#message-${id}`);
  }

  /** Messages of one author in a row share one head; the first of a day names the day. */
  #regroup() {
    let before = null;
    for (const node of this.#nodes()) {
      const at = new Date(node.dataset.at);
      const newDay = before?.at.toDateString() !== at.toDateString();
      const follows = before && !newDay && before.author === node.dataset.author && at - before.at < TOGETHER_MILLISECONDS
        && !node.matches(".own-head, .system") && !before.system && node.matches(".ephemeral") === before.ephemeral;
      node.classList.toggle("follow", Boolean(follows));
      if (newDay) node.dataset.day = DAY.format(at);
      else delete node.dataset.day;
      before = { at, author: node.dataset.author, system: node.matches(".system"), ephemeral: node.matches(".ephemeral") };
    }
    const nodes = this.#nodes();
    if (nodes.length && !nodes.some((node) => node.tabIndex === 0)) nodes.at(-1).tabIndex = 0;
  }

  async #scrolled() {
    this.stuck = this.scroller.scrollHeight - this.scroller.scrollTop - this.scroller.clientHeight < NEAR_END_PIXELS;
    if (this.stuck) this.jump.hidden = true;
    if (this.scroller.scrollTop > 60 || this.loading || state.complete.has(state.current)) return;
    this.loading = true;
    await attempt(() => this.#earlier());
    this.loading = false;
  }

  async #earlier() {
    const here = state.current;
    const first = messagesOf(here)[0];
    if (!first) return;
    const page = await readHere("messages", { channel: here, before: first.id });
    page.messages.forEach(putMessage);
    if (!page.more) state.complete.add(here);
    if (state.current !== here) return;
    const fromEnd = this.scroller.scrollHeight - this.scroller.scrollTop;
    this.showAll();
    if (!this.stuck) this.scroller.scrollTop = this.scroller.scrollHeight - fromEnd;
  }

  // Moving among messages

  #keys(event) {
    const node = event.target.closest(".message");
    if (!node || event.target !== node || event.ctrlKey || event.metaKey || event.altKey) return;
    const nodes = this.#nodes();
    const at = nodes.indexOf(node);
    const to = { ArrowUp: at - 1, ArrowDown: at + 1, Home: 0, End: nodes.length - 1 }[event.key];
    const message = state.messages.get(state.current)?.get(node.dataset.id);
    if (to !== undefined) {
      event.preventDefault();
      const next = nodes[Math.max(0, to)];
      if (!next) return document.getElementById("entry")?.focus();
      node.tabIndex = -1;
      next.tabIndex = 0;
      next.focus();
    } else if (message && event.key === "Enter") {
      event.preventDefault();
      this.#actions().menu(message, node);
    } else if (message && event.key === "r" && !message.ephemeral) {
      event.preventDefault();
      this.onReply(message);
    } else if (message && event.key === "e" && message.author.id === state.me) {
      event.preventDefault();
      this.edit(message);
    }
    return undefined;
  }

  // What can be done with a message

  #actions() {
    return {
      reply: this.onReply,
      goTo: this.onGoTo,
      react: (message, emoji) => attempt(() => act("react", this.#about(message, { emoji }))),
      edit: (message) => this.edit(message),
      dismiss: (message) => attempt(() => act("dismiss", this.#about(message))),
      menu: (message, opener, at) => this.#menu(message, opener, at),
    };
  }

  #about(message, more = {}) {
    return { as: state.me, channel: message.channel_id, message: message.id, ...more };
  }

  async #menu(message, opener, at) {
    const commands = await attempt(() => offered(message.channel_id)) ?? [];
    // The message may have been drawn anew meanwhile.
    if (!opener.isConnected) opener = this.#element(message.id);
    if (!opener) return;
    const apps = message.ephemeral ? [] : entries(commands);
    menu([...this.#own(message), ...apps.length ? [{ heading: "Apps" }] : [], ...apps.map(({ name, by, application }) => ({
      label: by ? `${name} (${by})` : name, icon: "flame", run: () => this.onCommand("context", this.#about(message, { name, application })),
    }))], opener.closest?.(".icon-button") ?? opener, at ?? (opener.matches(".message") ? cornerOf(opener) : undefined));
  }

  #own(message) {
    const mine = message.author.id === state.me;
    const copy = { label: "Copy text", icon: "copy", run: () => attempt(() => navigator.clipboard.writeText(message.content)) };
    if (message.ephemeral) return [copy, { label: "Dismiss", icon: "close", run: () => this.#actions().dismiss(message) }];
    const thread = channel()?.kind === "text" && !message.thread;
    return [
      isSystem(message) ? null : { label: "Reply", icon: "reply", run: () => this.onReply(message) },
      mine ? { label: "Edit", icon: "edit", run: () => this.edit(message) } : null,
      copy,
      thread ? { label: "Start a thread", icon: "thread", run: () => this.#thread(message) } : null,
      mine || person()?.owner && channel()?.kind !== "dm" ? { label: "Delete", icon: "trash", danger: true, run: () => this.#delete(message) } : null,
    ].filter(Boolean);
  }

  async #delete(message) {
    const sure = await ask({ title: "Delete this message?", text: "It disappears for everyone.", confirm: "Delete", danger: true });
    if (sure) await attempt(() => act("delete", this.#about(message)));
  }

  async #thread(message) {
    const form = await ask({ title: "Start a thread", confirm: "Start", fields: [h("label", { class: "field" }, h("span", {}, "Name"), h("input", { name: "name", required: true, maxlength: 100 }))] });
    if (!form) return;
    const made = await attempt(() => act("thread", this.#about(message, { name: new FormData(form).get("name") })));
    if (made) this.onGoTo(made.channel);
  }

  /** Turn a message's text into a field until it is saved or left. */
  edit(message) {
    const node = this.#element(message.id);
    if (!node?.querySelector(".text") || node.querySelector(".edit-form")) return;
    const field = h("textarea", { rows: 2, "aria-label": "Edit the message", value: readable(message.content) });
    const form = h("div", { class: "edit-form" }, field, h("p", { class: "subtext" }, "Enter saves, Escape leaves it as it was."));
    const leave = () => {
      if (form.contains(document.activeElement)) document.getElementById("entry").focus();
      leaveForm(form);
    };
    const save = async () => {
      field.readOnly = true; // one Enter saves once
      const done = await attempt(() => act("edit", this.#about(message, { content: addressed(field.value) })));
      field.readOnly = false;
      if (done) leave();
    };
    field.addEventListener("keydown", (event) => {
      if (event.key === "Escape") {
        event.stopPropagation();
        leave();
      }
      if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
        event.preventDefault();
        if (!field.readOnly) save();
      }
    });
    showForm(form, node);
    field.focus();
    field.setSelectionRange(field.value.length, field.value.length);
  }
}

/** Show an edit form in place of a message's text. */
function showForm(form, node) {
  const text = node.querySelector(".text");
  if (!text) return;
  text.hidden = true;
  text.after(form);
}

function leaveForm(form) {
  if (!form.isConnected) return;
  form.previousElementSibling.hidden = false;
  form.remove();
}

function cornerOf(node) {
  const box = node.getBoundingClientRect();
  return { left: box.left + 60, right: box.left + 60, top: box.top, bottom: Math.min(box.bottom, innerHeight - 40) };
}

function hint(here) {
  const text = here.kind === "dm" ? " Say something; every message here is answered." : ` Mention @${botName()} to be answered, or type / for commands.`;
  return h("span", { class: "hint" }, text);
}
