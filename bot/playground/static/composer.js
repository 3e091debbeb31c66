// Where one writes: text, files, mentions, replies; "/" leads to the commands.

import { addressed } from "./address.js";
import { act } from "./api.js";
import { CommandForm, leaves, matching, offered } from "./commands.js";
import { avatar, fill, h, icon, iconButton, sizeText } from "./dom.js";
import { excerpt } from "./message.js";
import { interact } from "./modals.js";
import { attempt, notice } from "./popups.js";
import { channel, membersHere, messagesOf, nameOf, rolesHere, state } from "./store.js";
import { Suggest } from "./suggest.js";

const TYPING_MILLISECONDS = 7000;
const LIMIT_CHARS = 2000;
const FILES = 10;
const SUGGESTIONS = 8;
const COMMAND_SUGGESTIONS = 40;
/** A draft; `aside` is a text that waits until a command is chosen. */
const NOTHING = { text: "", aside: "", files: [], replyTo: null };

export class Composer {
  constructor({ onEditLast }) {
    this.onEditLast = onEditLast;
    this.node = document.getElementById("composer");
    this.typedAt = 0;
    /** What is being written, by person and conversation: like `NOTHING`. */
    this.drafts = new Map();
    /** Ends when everything that was sent has arrived: in the order in which it was written. */
    this.sent = Promise.resolve();
    this.#build();
  }

  #build() {
    this.entry = h("textarea", { id: "entry", rows: 1, "aria-label": "Message", placeholder: "Message" });
    this.suggest = new Suggest(this.entry, { label: "Suggestions", take: (item) => item.take() });
    this.picker = h("input", { type: "file", multiple: true, hidden: true, onchange: () => this.addFiles(this.picker.files) });
    this.count = h("span", { class: "count", "aria-live": "polite" });
    this.replyBar = h("div", { class: "reply-bar", hidden: true });
    this.fileBar = h("ul", { class: "file-bar", "aria-label": "Files to send", hidden: true });
    this.typing = h("p", { class: "typing", "aria-live": "polite" });
    this.sending = h("span", { class: "sending", hidden: true }, "Sending…");
    this.line = h("div", { class: "entry-line" },
      iconButton("clip", "Attach files", () => this.picker.click()),
      this.entry,
      iconButton("slash", "Commands", () => this.startCommand()),
      h("button", { type: "button", class: "send", "aria-label": "Send", title: "Send", onclick: () => this.send() }, icon("send")));
    this.slot = h("div", { class: "command-slot" });
    fill(this.node, this.suggest.list, this.replyBar, this.fileBar, this.slot, this.line, h("div", { class: "under" }, this.typing, this.sending, this.count), this.picker);
    this.entry.addEventListener("input", () => this.#changed());
    this.entry.addEventListener("keydown", (event) => this.#keys(event));
    this.entry.addEventListener("paste", (event) => event.clipboardData.files.length && (event.preventDefault(), this.addFiles(event.clipboardData.files)));
    const room = document.querySelector(".room");
    room.addEventListener("dragover", (event) => event.dataTransfer.types.includes("Files") && event.preventDefault());
    room.addEventListener("drop", (event) => event.dataTransfer.files.length && (event.preventDefault(), this.addFiles(event.dataTransfer.files)));
  }

  /** Follow to another conversation; what was being written there comes back. */
  enter() {
    this.node.inert = false;
    this.#leaveCommand();
    this.#showDraft();
    const here = channel();
    const shut = here?.can_send === false;
    this.entry.disabled = shut;
    this.entry.placeholder = shut ? "You cannot write here" : `Message ${here?.kind === "text" ? "#" : ""}${here?.name ?? ""}`;
    this.loadCommands();
  }

  /** Take nothing until somebody enters a conversation. */
  close() {
    this.node.inert = true;
    this.#leaveCommand();
    this.#showDraft();
  }

  /** Learn what is offered here, anew when that has been forgotten. */
  async loadCommands() {
    const key = this.#key();
    this.commands = null;
    const found = await offered(state.current).catch(() => null);
    if (key !== this.#key() || !found) return;
    this.commands = leaves(found);
    if (this.commands.length && document.activeElement === this.entry && this.entry.value.startsWith("/")) this.#suggestions();
  }

  // What is being written

  #key() {
    return `${state.me}/${state.current}`;
  }

  #draft() {
    return this.drafts.get(this.#key()) ?? NOTHING;
  }

  #keep(changes) {
    this.drafts.set(this.#key(), { ...this.#draft(), ...changes });
  }

  #showDraft() {
    const { text } = this.#draft();
    if (this.entry.value !== text) this.entry.value = text;
    this.suggest.show([]);
    this.#fit();
    this.#showReply();
    this.#showFiles();
  }

  // Typing

  #changed() {
    this.#keep({ text: this.entry.value });
    this.#fit();
    this.#suggestions();
    if (!this.entry.value || this.entry.value.startsWith("/")) return;
    if (Date.now() - this.typedAt < TYPING_MILLISECONDS) return;
    this.typedAt = Date.now();
    act("typing", { as: state.me, channel: state.current }).catch(() => {});
  }

  #fit() {
    this.entry.style.height = "auto";
    this.entry.style.height = `${Math.min(this.entry.scrollHeight, innerHeight * 0.4)}px`;
    const left = LIMIT_CHARS - [...this.entry.value].length;
    fill(this.count, left < 200 ? (left < 0 ? `${-left} too many` : `${left} left`) : "");
    this.count.classList.toggle("over", left < 0);
  }

  #suggestions() {
    const text = this.entry.value.slice(0, this.entry.selectionStart);
    if (/^\/[^\n]*$/.test(text)) return this.#suggestCommands(text.slice(1));
    const word = /(?:^|\s)@([\p{L}\p{N}_ ]{0,20})$/u.exec(text);
    return word ? this.#suggestPeople(word[1]) : this.suggest.show([]);
  }

  #suggestCommands(typed) {
    if (!this.commands?.length) return this.loadCommands(); // which suggests them
    const exact = this.commands.filter((leaf) => typed === `${leaf.path} `);
    if (exact.length === 1) return this.#openCommand(exact[0]);
    return this.suggest.show(matching(this.commands, typed).slice(0, COMMAND_SUGGESTIONS).map((leaf) => ({
      label: `/${leaf.path}`, detail: leaf.by ? `${leaf.by}: ${leaf.description}` : leaf.description, take: () => this.#openCommand(leaf),
    })));
  }

  #suggestPeople(typed) {
    const wanted = typed.toLowerCase();
    const people = membersHere().map((one) => ({ lead: avatar(one, true), label: `@${nameOf(one.id)}`, name: nameOf(one.id), detail: one.bot ? "app" : "" }));
    const roles = rolesHere().filter((role) => role.mentionable).map((role) => ({ label: `@${role.name}`, name: role.name, detail: "role" }));
    const found = [...people, ...roles].filter((one) => one.name.toLowerCase().startsWith(wanted)).slice(0, SUGGESTIONS);
    this.suggest.show(found.map((one) => ({ ...one, take: () => this.#insertName(one.label, typed.length + 1) })));
  }

  #insertName(label, length) {
    const end = this.entry.selectionStart;
    this.entry.setRangeText(`${label} `, end - length, end, "end");
    this.#changed();
  }

  #keys(event) {
    if (event.isComposing) return;
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      this.send();
    } else if (event.key === "Escape" && this.#draft().replyTo) {
      this.reply(null);
    } else if (event.key === "ArrowUp" && !this.entry.value) {
      event.preventDefault();
      const mine = messagesOf(state.current).findLast((message) => message.author.id === state.me);
      if (mine) this.onEditLast(mine);
    }
  }

  // Replies and files

  reply(message) {
    this.#keep({ replyTo: message });
    this.#showReply();
    this.entry.focus();
  }

  #showReply() {
    const message = this.#draft().replyTo;
    this.replyBar.hidden = !message;
    if (message) fill(this.replyBar, icon("reply"), h("span", {}, "Replying to ", h("strong", {}, nameOf(message.author.id) ?? "someone"), `: ${excerpt(message)}`), iconButton("close", "Do not reply", () => this.reply(null)));
  }

  addFiles(list) {
    const files = [...this.#draft().files, ...list];
    if (files.length > FILES) notice(`At most ${FILES} files go along with one message.`);
    this.#takeFiles(files.slice(0, FILES));
    this.picker.value = "";
    this.entry.focus();
  }

  #takeFiles(files) {
    this.#keep({ files });
    this.#showFiles();
  }

  #showFiles() {
    const { files } = this.#draft();
    this.fileBar.hidden = !files.length;
    fill(this.fileBar, files.map((file) => h("li", {}, icon("file"), h("span", {}, file.name), h("small", {}, sizeText(file.size)),
      iconButton("close", `Leave out ${file.name}`, () => this.#takeFiles(files.filter((other) => other !== file))))));
  }

  // Sending

  /** Send what is written. The field is free for the next at once; what is refused comes back to it. */
  async send() {
    const key = this.#key();
    const draft = { ...this.#draft(), text: this.entry.value };
    const content = addressed(draft.text.trimEnd());
    if (!content.trim() && !draft.files.length) return;
    if (content.startsWith("/") && !draft.files.length) {
      const leaf = await this.#typedOut(content);
      if (key !== this.#key() || this.entry.value !== draft.text) return; // written on meanwhile
      if (leaf) return this.#openCommand(leaf);
    }
    const body = { as: state.me, channel: state.current, content, reply_to: draft.replyTo?.id };
    this.drafts.delete(key);
    this.typedAt = 0;
    this.#showDraft();
    this.entry.focus();
    const mine = this.sent.then(async () => {
      const done = await attempt(() => act("say", body, draft.files));
      if (!done) this.#giveBack(key, draft);
    });
    this.sent = mine;
    this.sending.hidden = false;
    await mine;
    this.sending.hidden = this.sent === mine;
  }

  #giveBack(key, { text, files, replyTo }) {
    const now = this.drafts.get(key) ?? NOTHING;
    this.drafts.set(key, {
      ...now,
      text: [text, now.text].filter(Boolean).join("\n"),
      files: [...files, ...now.files],
      replyTo: now.replyTo ?? replyTo,
    });
    if (key === this.#key()) this.#showDraft();
  }

  /** The command that a whole text names, if any: it opens its form instead of being said. */
  async #typedOut(text) {
    const known = this.commands ?? leaves(await offered(state.current).catch(() => []));
    return known.find((one) => text.slice(1).trim() === one.path);
  }

  // Commands

  startCommand() {
    const { text, aside } = this.#draft();
    this.#keep({ text: "/", aside: text.startsWith("/") ? aside : text });
    this.#showDraft();
    this.entry.focus();
    this.#suggestions();
  }

  #openCommand(leaf) {
    this.#keep({ text: this.#draft().aside, aside: "" });
    this.#showDraft();
    const form = new CommandForm(leaf, {
      run: (options, files) => this.#runCommand(form, options, files),
      leave: () => {
        this.#leaveCommand();
        this.entry.focus();
      },
    });
    this.#showCommand(form);
  }

  #showCommand(form) {
    this.line.hidden = true;
    fill(this.slot, form.node);
    form.focus();
  }

  #leaveCommand() {
    fill(this.slot);
    this.line.hidden = false;
  }

  /** Run a command; a refusal brings its form back as it was filled in. */
  async #runCommand(form, options, files) {
    const key = this.#key();
    this.#leaveCommand();
    this.entry.focus();
    const body = { as: state.me, channel: state.current, application: form.leaf.application, name: form.leaf.path, options, files: files.map((one) => one.name) };
    const taken = await interact("slash", body, files.map((one) => one.file));
    if (!taken && key === this.#key() && !this.line.hidden && !this.entry.value) this.#showCommand(form);
  }

  showTyping(ids) {
    const who = ids.filter((id) => id !== state.me).map((id) => nameOf(id) ?? "Someone");
    const text = who.length > 2 ? "Several people are typing…" : who.length ? `${who.join(" and ")} ${who.length > 1 ? "are" : "is"} typing…` : "";
    if (this.typing.textContent !== text) fill(this.typing, text ? h("span", { class: "dots", "aria-hidden": "true" }, h("i"), h("i"), h("i")) : null, text);
  }
}
