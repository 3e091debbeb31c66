// Names in a text field stand for ids in the message.

import { channel, nameOf, state } from "./store.js";

/** Turn `<@id>` into `@Name`, for editing. */
export function readable(text) {
  return text.replaceAll(/<@!?(\d+)>/g, (raw, id) => (nameOf(id) ? `@${nameOf(id)}` : raw))
    .replaceAll(/<#(\d+)>/g, (raw, id) => (state.channels.get(id) ? `#${state.channels.get(id).name}` : raw));
}

/** Turn `@Name` and `#channel` into ids, for sending; whatever else looks like it stays. */
export function addressed(text) {
  const here = channel();
  const guild = state.guilds.get(here?.guild);
  const people = (guild?.members ?? here?.members ?? []).map((id) => [`@${nameOf(id)}`, `<@${id}>`]);
  const roles = (guild?.roles ?? []).map((role) => [`@${role.name}`, `<@&${role.id}>`]);
  const channels = (guild?.channels ?? []).map((one) => [`#${one.name}`, `<#${one.id}>`]);
  const known = [...people, ...roles, ...channels].sort((a, b) => b[0].length - a[0].length);
  const parts = text.split(/(```[^]*?```|`[^`\n]*`)/);
  return parts.map((part, index) => (index % 2 ? part : replaceNames(part, known))).join("");
}

function replaceNames(text, known) {
  let out = "";
  for (let at = 0; at < text.length; ) {
    const free = !/[\w<]/.test(text[at - 1] ?? " ") && (text[at] === "@" || text[at] === "#");
    const hit = free && known.find(([name]) => text.startsWith(name, at) && !/[\p{L}\p{N}_]/u.test(text[at + name.length] ?? " "));
    out += hit ? hit[1] : text[at];
    at += hit ? hit[0].length : 1;
  }
  return out;
}
