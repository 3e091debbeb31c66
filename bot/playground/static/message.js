// One message as an element. It is built anew when the message changes.

import { act } from "./api.js";
import { attachments, components, embeds } from "./components.js";
import { avatar, h, icon, iconButton } from "./dom.js";
import { markdown } from "./markdown.js";
import { attempt, emojiTray } from "./popups.js";
import { nameOf, names, person, state } from "./store.js";

const LOADING = 1 << 7;
const FORM = 5;
const SYSTEM_TEXT = { 6: "pinned a message.", 7: "came in.", 18: "started a thread:", 8: "boosted the server." };
const EXCERPT_CHARS = 90;
const TIME = new Intl.DateTimeFormat(undefined, { timeStyle: "short" });
const FULL = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "medium" });

export const isSystem = (message) => message.type in SYSTEM_TEXT || ![0, 19, 20, 21, 23].includes(message.type);

/** The beginning of a message in one line. */
export function excerpt(message) {
  const text = message.content || message.attachments[0]?.filename || message.embeds[0]?.title || "message";
  const flat = h("span", {}, markdown(text, names)).textContent.replaceAll(/\s+/g, " ");
  return flat.length > EXCERPT_CHARS ? `${flat.slice(0, EXCERPT_CHARS)}…` : flat;
}

/** Build the element of a message; `actions` are what a person may do with it. */
export function messageElement(message, actions) {
  const author = state.people.get(message.author.id) ?? { id: message.author.id, name: message.author.global_name ?? message.author.username, bot: message.author.bot };
  const name = nameOf(author.id) ?? author.name;
  const node = h("article", {
    class: classes(message),
    id: `message-${message.id}`,
    tabIndex: -1,
    "aria-label": `${name}, ${TIME.format(new Date(message.timestamp))}`,
    dataset: { id: message.id, author: author.id, at: message.timestamp },
  });
  if (isSystem(message)) node.append(systemLine(message, name));
  else node.append(...body(message, author, name, actions));
  node.addEventListener("contextmenu", (event) => {
    if (getSelection()?.toString() || event.target.closest("input, textarea, a, img")) return;
    event.preventDefault();
    actions.menu(message, node, { left: event.clientX, right: event.clientX, top: event.clientY, bottom: event.clientY });
  });
  return node;
}

function classes(message) {
  const marks = ["message"];
  if (message.ephemeral) marks.push("ephemeral");
  if (message.pinged) marks.push("for-me");
  if (isSystem(message)) marks.push("system");
  if (message.message_reference || message.interaction_metadata) marks.push("own-head");
  return marks.join(" ");
}

function systemLine(message, name) {
  return h("p", { class: "system-line" }, h("strong", {}, name), " ", SYSTEM_TEXT[message.type] ?? "did something this page does not know.", message.content ? ` ${message.content}` : "");
}

function body(message, author, name, actions) {
  const at = new Date(message.timestamp);
  return [
    h("div", { class: "gutter" }, avatar(author), h("time", { class: "short-time", "aria-hidden": "true" }, TIME.format(at))),
    h("div", { class: "content" },
      origin(message),
      h("header", {},
        h("span", { class: "author" }, name),
        author.bot ? h("span", { class: "badge" }, "app") : null,
        h("time", { datetime: message.timestamp, title: FULL.format(at) }, TIME.format(at))),
      words(message),
      message.embeds.length ? embeds(message) : null,
      message.attachments.length ? attachments(message) : null,
      message.components.length ? components(message) : null,
      message.reactions?.length ? reactions(message) : null,
      message.thread ? threadLink(message.thread, actions) : null,
      message.ephemeral ? onlyYou(message, actions) : null),
    toolbar(message, actions),
  ];
}

/** What a message goes back to: the one it answers, or the command that caused it. */
function origin(message) {
  if (message.message_reference) {
    const answered = message.referenced_message;
    if (!answered) return h("p", { class: "origin" }, icon("reply"), h("em", {}, "The message was deleted"));
    const jump = () => document.getElementById(`message-${answered.id}`)?.focus();
    return h("button", { type: "button", class: "origin", onclick: jump }, icon("reply"), h("strong", {}, nameOf(answered.author.id) ?? "Someone"), h("span", {}, excerpt(answered)));
  }
  const cause = message.interaction_metadata;
  if (!cause) return null;
  const who = nameOf(cause.user.id) ?? cause.user.username;
  const used = cause.name ? ["used ", h("code", {}, message.type === 20 ? `/${cause.name}` : cause.name)] : cause.type === FORM ? "filled in a form" : "pressed a button";
  return h("p", { class: "origin" }, icon("slash"), h("strong", {}, who), h("span", {}, used));
}

function words(message) {
  if (message.flags & LOADING) {
    return h("p", { class: "thinking" }, `${nameOf(message.author.id)} is thinking`, h("span", { class: "dots", "aria-hidden": "true" }, h("i"), h("i"), h("i")));
  }
  const edited = message.edited_timestamp ? h("span", { class: "edited", title: FULL.format(new Date(message.edited_timestamp)) }, "(edited)") : null;
  if (!message.content) return edited;
  const node = h("div", { class: onlyEmoji(message.content) ? "text huge" : "text" }, markdown(message.content, names));
  if (edited) (node.lastElementChild?.tagName === "P" ? node.lastElementChild : node).append(" ", edited);
  return node;
}

const onlyEmoji = (text) => text.length < 40 && /^(?:\p{Extended_Pictographic}[\u{FE0F}\u{1F3FB}-\u{1F3FF}]?(?:\u{200D}\p{Extended_Pictographic}\u{FE0F}?)*\s*){1,6}$/u.test(text);

function reactions(message) {
  const here = (one) => one.emoji.id ? `${one.emoji.name}:${one.emoji.id}` : one.emoji.name;
  return h("div", { class: "reactions" }, message.reactions.map((one) => {
    const toggle = () => attempt(() => act(one.me ? "unreact" : "react", { as: state.me, channel: message.channel_id, message: message.id, emoji: here(one) }));
    const label = `${one.emoji.name}, ${one.count}${one.me ? ", with yours" : ""}`;
    return h("button", { type: "button", class: "reaction", "aria-pressed": String(one.me), "aria-label": label, onclick: toggle }, one.emoji.id ? `:${one.emoji.name}:` : one.emoji.name, " ", h("span", {}, String(one.count)));
  }));
}

function threadLink(thread, actions) {
  return h("button", { type: "button", class: "button small thread-link", onclick: () => actions.goTo(thread.id) }, icon("thread"), thread.name);
}

function onlyYou(message, actions) {
  return h("p", { class: "only-you" }, icon("eye"), "Only you can see this. ", h("button", { type: "button", class: "plain", onclick: () => actions.dismiss(message) }, "Dismiss"));
}

function toolbar(message, actions) {
  const more = iconButton("dots", "More", () => actions.menu(message, more), { "aria-haspopup": "menu", "aria-expanded": "false" });
  if (message.ephemeral) return h("div", { class: "toolbar", role: "toolbar", "aria-label": "Message actions" }, more);
  const react = iconButton("smile", "Add a reaction", () => emojiTray(react, (emoji) => actions.react(message, emoji)), { "aria-haspopup": "menu", "aria-expanded": "false" });
  return h("div", { class: "toolbar", role: "toolbar", "aria-label": "Message actions" },
    react,
    iconButton("reply", "Reply", () => actions.reply(message)),
    message.author.id === person()?.id ? iconButton("edit", "Edit", () => actions.edit(message)) : null,
    more);
}
