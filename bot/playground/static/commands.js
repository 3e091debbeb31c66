// Slash commands: finding one, filling in its options, autocomplete.

import { act } from "./api.js";
import { h, iconButton } from "./dom.js";
import { readHere } from "./seat.js";
import { Suggest } from "./suggest.js";
import { channelsHere, membersHere, nameOf, rolesHere, state } from "./store.js";

const SLASH = 1, ON_MESSAGE = 3;
const SUBCOMMAND = 1, GROUP = 2, INTEGER = 4, BOOLEAN = 5, USER = 6, CHANNEL = 7, ROLE = 8, MENTIONABLE = 9, NUMBER = 10, FILE = 11;
const AUTOCOMPLETE_MILLISECONDS = 120;

/** What was asked for, by conversation: promises of commands. */
const asked = new Map();

/**
 * The commands that the person is offered in a conversation, asked for once until `forgetOffered`.
 * No answer, and none yet, are asked for again: a bot that starts has its commands a little later.
 */
export function offered(channel) {
  if (!asked.has(channel)) {
    const answer = readHere("commands", { channel }).then((found) => found.commands);
    const forget = () => asked.get(channel) === answer && asked.delete(channel);
    asked.set(channel, answer);
    answer.then((found) => found.length || forget(), forget);
  }
  return asked.get(channel);
}

/** Ask anew from now on: another person sits here, or the bot offers something else. */
export function forgetOffered() {
  asked.clear();
}

/** All that can be typed: `{path: "runs show", by, application, description, options}`. */
export function leaves(commands) {
  const by = bots(commands);
  return commands.filter((command) => command.type === SLASH).flatMap((command) =>
    leavesOf(command, command.name).map((leaf) => ({ ...leaf, application: command.application_id, by: by(command) })));
}

/** What a message's menu offers: `{name, by, application}`. */
export function entries(commands) {
  const by = bots(commands);
  return commands.filter((command) => command.type === ON_MESSAGE).map((command) => ({ name: command.name, application: command.application_id, by: by(command) }));
}

/** Names a command's bot where several bots offer some: two may have one of the same name. */
function bots(commands) {
  const several = new Set(commands.map((command) => command.application_id)).size > 1;
  return (command) => several ? nameOf(command.application_id) : "";
}

function leavesOf(part, path) {
  const below = (part.options ?? []).filter((option) => option.type === SUBCOMMAND || option.type === GROUP);
  if (below.length) return below.flatMap((option) => leavesOf(option, `${path} ${option.name}`));
  return [{ path, description: part.description, options: part.options ?? [] }];
}

/** Those that a person may mean, best first. */
export function matching(all, typed) {
  const wanted = typed.trim().toLowerCase();
  const score = (leaf) => (leaf.path.startsWith(wanted) ? 0 : leaf.path.includes(wanted) ? 1 : 2);
  return all.filter((leaf) => score(leaf) < 2).sort((a, b) => score(a) - score(b) || a.path.localeCompare(b.path));
}

/** The form of one command; `run(options, files)` when sent, `leave()` when given up. */
export class CommandForm {
  constructor(leaf, { run, leave }) {
    Object.assign(this, { leaf, run, leave });
    this.fields = leaf.options.map((option) => ({ option, control: this.#control(option) }));
    this.node = h("form", { class: "command-form", "aria-label": `Command ${leaf.path}`, onsubmit: (event) => this.#submit(event) },
      h("div", { class: "command-head" }, h("strong", {}, `/${leaf.path}`), leaf.by ? h("span", {}, leaf.by) : null, h("span", {}, leaf.description), iconButton("close", "Leave the command", () => leave())),
      this.fields.length ? h("div", { class: "command-fields" }, this.fields.map((field) => this.#labelled(field))) : null,
      h("div", { class: "command-foot" }, h("button", { type: "submit", class: "button primary" }, "Run"), h("span", { class: "subtext" }, "Enter runs it, Escape leaves.")));
    this.node.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && !event.defaultPrevented) leave();
    });
  }

  focus() {
    (this.fields[0]?.control ?? this.node.querySelector("[type=submit]")).focus();
  }

  #labelled({ option, control }) {
    const popup = control.suggest?.list ?? null;
    return h("label", { class: "field" }, h("span", {}, option.name, option.required ? "" : h("i", {}, " optional")), h("small", {}, option.description), control, popup);
  }

  #control(option) {
    const props = { required: option.required, name: option.name };
    const pick = (items) => h("select", props, h("option", { value: "" }, "–"), items.map(([value, label]) => h("option", { value }, label)));
    const people = membersHere().map((one) => [one.id, `@${one.name}`]);
    const roles = rolesHere().map((role) => [role.id, `@${role.name}`]);
    if (option.choices?.length) return pick(option.choices.map((choice, index) => [String(index), choice.name]));
    switch (option.type) {
      case BOOLEAN: return pick([["true", "Yes"], ["false", "No"]]);
      case USER: return pick(people);
      case ROLE: return pick(roles);
      case MENTIONABLE: return pick([...people, ...roles]);
      case CHANNEL: return pick(channelsHere().map((one) => [one.id, `#${one.name}`]));
      case FILE: return h("input", { ...props, type: "file" });
      default: return this.#text(option, props);
    }
  }

  #text(option, props) {
    const numeric = option.type === INTEGER || option.type === NUMBER;
    const control = h("input", {
      ...props, type: numeric ? "number" : "text", step: option.type === NUMBER ? "any" : undefined,
      min: option.min_value, max: option.max_value, minlength: option.min_length, maxlength: option.max_length,
    });
    if (option.autocomplete) this.#complete(option, control);
    return control;
  }

  /** Ask the bot for choices while the person types; only the newest question counts. */
  #complete(option, control) {
    const suggest = new Suggest(control, {
      label: `Choices for ${option.name}`,
      take: (item) => {
        stopAsking();
        control.value = item.label;
        control.chosen = { label: item.label, value: item.value };
      },
    });
    let timer = 0;
    let questions = 0;
    const stopAsking = () => {
      clearTimeout(timer);
      questions += 1; // what is on its way comes too late
    };
    const askBot = async () => {
      stopAsking();
      const mine = questions;
      const answer = await act("autocomplete", {
        as: state.me, channel: state.current, application: this.leaf.application, name: this.leaf.path, focused: option.name, options: this.#values(true),
      }).catch(() => ({ choices: [] }));
      if (mine !== questions || document.activeElement !== control) return;
      suggest.show(answer.choices.map((choice) => ({ label: choice.name, value: choice.value })));
    };
    control.addEventListener("input", () => {
      stopAsking();
      suggest.show([]); // those were for other words
      timer = setTimeout(askBot, AUTOCOMPLETE_MILLISECONDS);
    });
    control.addEventListener("focus", askBot);
    control.suggest = suggest;
  }

  /** The options by name; what was left empty is left out, save the one being typed. */
  #values(typing = false) {
    const values = {};
    for (const { option, control } of this.fields) {
      if (option.type === FILE) continue;
      if (control.value === "" && !(typing && control === document.activeElement)) continue;
      values[option.name] = valueOf(option, control, typing);
    }
    return values;
  }

  #submit(event) {
    event.preventDefault();
    const files = this.fields.filter(({ option, control }) => option.type === FILE && control.files[0]);
    this.run(this.#values(), files.map(({ option, control }) => ({ name: option.name, file: control.files[0] })));
  }
}

function valueOf(option, control, typing) {
  if (option.choices?.length) return option.choices[Number(control.value)].value;
  if (control.chosen?.label === control.value) return control.chosen.value;
  if (option.type === BOOLEAN) return control.value === "true";
  const numeric = option.type === INTEGER || option.type === NUMBER;
  return numeric && !typing ? Number(control.value) : control.value;
}
