// Where one writes: text, files, mentions, replies; "/" leads to the commands.

import { addressed } from "./address.js";
import { act, read } from "./api.js";
import { CommandForm, leaves, matching } from "./commands.js";
import { avatar, fill, h, icon, iconButton, sizeText } from "./dom.js";
import { excerpt } from "./message.js";
import { askModal } from "./modals.js";
import { attempt, notice } from "./popups.js";
import { botName, channel, membersHere, messagesOf, nameOf, rolesHere, state } from "./store.js";
import { Suggest } from "./suggest.js";

const TYPING_MILLISECONDS = 7000;
const LIMIT_CHARS = 2000;
const FILES = 10;
const SUGGESTIONS = 8;
const COMMAND_SUGGESTIONS = 40;

export class Composer {
  constructor({ onEditLast }) {
    this.onEditLast = onEditLast;
    this.node = document.getElementById("composer");
    this.replyTo = null;
    this.files = [];
    this.typedAt = 0;
    this.drafts = new Map();
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
    this.line = h("div", { class: "entry-line" },
      iconButton("clip", "Attach files", () => this.picker.click()),
      this.entry,
      iconButton("slash", "Commands", () => this.startCommand()),
      h("button", { type: "button", class: "send", "aria-label": "Send", title: "Send", onclick: () => this.send() }, icon("send")));
    this.slot = h("div", { class: "command-slot" });
    fill(this.node, this.suggest.list, this.replyBar, this.fileBar, this.slot, this.line, h("div", { class: "under" }, this.typing, this.count), this.picker);
    this.entry.addEventListener("input", () => this.#changed());
    this.entry.addEventListener("keydown", (event) => this.#keys(event));
    this.entry.addEventListener("paste", (event) => event.clipboardData.files.length && (event.preventDefault(), this.addFiles(event.clipboardData.files)));
    const room = document.querySelector(".room");
    room.addEventListener("dragover", (event) => event.dataTransfer.types.includes("Files") && event.preventDefault());
    room.addEventListener("drop", (event) => event.dataTransfer.files.length && (event.preventDefault(), this.addFiles(event.dataTransfer.files)));
  }

  /** Follow to another conversation; what was being written there comes back. */
  enter() {
    this.#leaveCommand();
    this.reply(null);
    this.commands = null;
    const here = channel();
    this.entry.value = this.drafts.get(this.#key()) ?? "";
    const shut = here?.can_send === false;
    this.entry.disabled = shut;
    this.entry.placeholder = shut ? "You cannot write here" : `Message ${here?.kind === "text" ? "#" : ""}${here?.name ?? ""}`;
    this.#fit();
    this.#loadCommands();
  }

  #key() {
    return `${state.me}/${state.current}`;
  }

  async #loadCommands() {
    const key = this.#key();
    const answer = await read("commands", { as: state.me, channel: state.current }).catch(() => ({ commands: [] }));
    if (key === this.#key()) this.commands = leaves(answer.commands);
  }

  // Typing

  #changed() {
    this.drafts.set(this.#key(), this.entry.value);
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

  async #suggestions() {
    const text = this.entry.value.slice(0, this.entry.selectionStart);
    if (/^\/[^\n]*$/.test(text)) {
      if (!this.commands) await this.#loadCommands();
      return this.#suggestCommands(text.slice(1));
    }
    const word = /(?:^|\s)@([\p{L}\p{N}_ ]{0,20})$/u.exec(text);
    return word ? this.#suggestPeople(word[1]) : this.suggest.show([]);
  }

  #suggestCommands(typed) {
    const exact = this.commands.find((leaf) => typed === `${leaf.path} `);
    if (exact) return this.#openCommand(exact);
    return this.suggest.show(matching(this.commands, typed).slice(0, COMMAND_SUGGESTIONS).map((leaf) => ({
      label: `/${leaf.path}`, detail: leaf.description, take: () => this.#openCommand(leaf),
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
    } else if (event.key === "Escape" && this.replyTo) {
      this.reply(null);
    } else if (event.key === "ArrowUp" && !this.entry.value) {
      event.preventDefault();
      const mine = messagesOf(state.current).findLast((message) => message.author.id === state.me);
      if (mine) this.onEditLast(mine);
    }
  }

  // Replies and files

  reply(message) {
    this.replyTo = message;
    this.replyBar.hidden = !message;
    if (!message) return;
    fill(this.replyBar, icon("reply"), h("span", {}, "Replying to ", h("strong", {}, nameOf(message.author.id) ?? "someone"), `: ${excerpt(message)}`), iconButton("close", "Do not reply", () => this.reply(null)));
    this.entry.focus();
  }

  addFiles(list) {
    this.files.push(...list);
    if (this.files.length > FILES) notice(`At most ${FILES} files go along with one message.`);
    this.files = this.files.slice(0, FILES);
    this.picker.value = "";
    this.#showFiles();
    this.entry.focus();
  }

  #showFiles() {
    this.fileBar.hidden = !this.files.length;
    fill(this.fileBar, this.files.map((file) => h("li", {}, icon("file"), h("span", {}, file.name), h("small", {}, sizeText(file.size)), iconButton("close", `Leave out ${file.name}`, () => {
      this.files = this.files.filter((other) => other !== file);
      this.#showFiles();
    }))));
  }

  async send() {
    const content = addressed(this.entry.value.trimEnd());
    if ((!content.trim() && !this.files.length) || this.sending) return;
    if (content.startsWith("/") && !this.files.length && this.#runTyped(content)) return;
    this.sending = true;
    const body = { as: state.me, channel: state.current, content, reply_to: this.replyTo?.id };
    const key = this.#key();
    const done = await attempt(() => act("say", body, this.files));
    this.sending = false;
    if (!done) return;
    this.drafts.delete(key);
    this.typedAt = 0;
    this.files = [];
    this.#showFiles();
    if (key !== this.#key()) return;
    this.reply(null);
    this.entry.value = "";
    this.suggest.show([]);
    this.#fit();
    this.entry.focus();
  }

  /** A whole command typed out opens its form instead of being said. */
  #runTyped(text) {
    const leaf = this.commands?.find((one) => text.slice(1).trim() === one.path);
    if (leaf) this.#openCommand(leaf);
    return Boolean(leaf);
  }

  // Commands

  startCommand() {
    this.#leaveCommand();
    this.entry.value = "/";
    this.entry.focus();
    this.#suggestions();
  }

  #openCommand(leaf) {
    this.suggest.show([]);
    this.entry.value = "";
    this.drafts.delete(this.#key());
    this.form = new CommandForm(leaf, {
      run: (path, options, files) => this.#runCommand(path, options, files),
      leave: () => {
        this.#leaveCommand();
        this.entry.focus();
      },
    });
    this.line.hidden = true;
    fill(this.slot, this.form.node);
    this.form.focus();
  }

  #leaveCommand() {
    this.form = null;
    fill(this.slot);
    this.line.hidden = false;
  }

  #runCommand(path, options, files) {
    this.#leaveCommand();
    this.entry.focus();
    const body = { as: state.me, channel: state.current, name: path, options, files: files.map((one) => one.name) };
    return this.interact("slash", body, files.map((one) => one.file));
  }

  /** Use a command or a menu entry; the answer itself comes as a message. */
  async interact(what, body, files = []) {
    const result = await attempt(() => act(what, body, files));
    if (result?.modal) await askModal(result);
    if (result?.silent) notice(`${botName()} did not answer in time.`);
  }

  showTyping(ids) {
    const who = ids.filter((id) => id !== state.me).map((id) => nameOf(id) ?? "Someone");
    const text = who.length > 2 ? "Several people are typing…" : who.length ? `${who.join(" and ")} ${who.length > 1 ? "are" : "is"} typing…` : "";
    if (this.typing.textContent !== text) fill(this.typing, text ? h("span", { class: "dots", "aria-hidden": "true" }, h("i"), h("i"), h("i")) : null, text);
  }
}
