// The parts of a message beside its text: files, embeds, buttons, selects and newer layouts.

import { fill, h, icon, sizeText } from "./dom.js";
import { markdown } from "./markdown.js";
import { interact } from "./modals.js";
import { lightbox } from "./popups.js";
import { channelsHere, membersHere, names, rolesHere, state } from "./store.js";

const ROW = 1, BUTTON = 2, STRING = 3, SECTION = 9, TEXT = 10, THUMBNAIL = 11, GALLERY = 12, FILE = 13, SEPARATOR = 14, CONTAINER = 17;
const SELECTS = new Set([STRING, 5, 6, 7, 8]);
const STYLES = { 1: "primary", 2: "", 3: "good", 4: "danger", 5: "link" };
const TEXT_PREVIEW_BYTES = 200_000;
const PREVIEW_LINES = 12;

// Files

export function attachments(message) {
  return h("div", { class: "files" }, message.attachments.map((file) => attachment(file)));
}

function attachment(file) {
  const type = file.content_type ?? "";
  if (/^image\/(png|jpeg|gif|webp)$/.test(type)) return picture(file);
  const readable = /^(text\/|application\/(json|xml|x-ndjson|toml))/.test(type) && file.size <= TEXT_PREVIEW_BYTES;
  return readable ? textFile(file) : h("div", { class: "file" }, fileHead(file));
}

function fileHead(file, ...more) {
  return h("div", { class: "file-head" },
    icon("file"),
    h("span", { class: "file-name" }, file.filename),
    h("span", { class: "file-size" }, sizeText(file.size)),
    more,
    h("a", { class: "icon-button", href: `${file.url}?download=1`, download: file.filename, "aria-label": `Download ${file.filename}`, title: "Download" }, icon("download")));
}

function picture(file) {
  const image = () => h("img", { src: file.url, alt: file.description ?? file.filename, loading: "lazy", decoding: "async" });
  const large = () => lightbox(file.filename, image(), [h("a", { class: "icon-button", href: `${file.url}?download=1`, download: file.filename, "aria-label": "Download" }, icon("download"))]);
  return h("button", { type: "button", class: "picture", "aria-label": `Show ${file.filename}`, onclick: large }, image());
}

/** A text file: its beginning at once, all of it on demand. */
function textFile(file) {
  const body = h("pre", { class: "file-text", tabIndex: 0, "aria-label": file.filename }, "…");
  const expand = h("button", { type: "button", class: "button small", "aria-expanded": "false", hidden: true }, "Show all");
  const node = h("div", { class: "file" }, fileHead(file, expand), body);
  loadText(file).then((text) => {
    const lines = text.replace(/\n$/, "").split("\n");
    const long = lines.length > PREVIEW_LINES;
    const paint = (all) => fill(body, all ? text : lines.slice(0, PREVIEW_LINES).join("\n"));
    paint(!long);
    expand.hidden = !long;
    expand.addEventListener("click", () => {
      const all = expand.getAttribute("aria-expanded") !== "true";
      expand.setAttribute("aria-expanded", String(all));
      fill(expand, all ? "Show less" : `Show all ${lines.length} lines`);
      paint(all);
    });
    fill(expand, `Show all ${lines.length} lines`);
  }, () => body.remove());
  return node;
}

async function loadText(file) {
  const response = await fetch(file.url, { credentials: "same-origin" });
  if (!response.ok) throw new Error("gone");
  return new TextDecoder("utf-8").decode(await response.arrayBuffer());
}

// Embeds

export function embeds(message) {
  return message.embeds.map((embed) => {
    const node = h("div", { class: "embed" },
      embed.author?.name ? h("p", { class: "embed-author" }, embed.author.name) : null,
      embed.title ? h("div", { class: "embed-title" }, markdown(embed.title, names)) : null,
      embed.description ? h("div", { class: "embed-text" }, markdown(embed.description, names)) : null,
      embed.fields?.length ? h("dl", { class: "embed-fields" }, embed.fields.map((field) =>
        h("div", { class: field.inline ? "inline" : "" }, h("dt", {}, markdown(field.name, names)), h("dd", {}, markdown(field.value, names))))) : null,
      embed.footer?.text ? h("p", { class: "embed-foot" }, embed.footer.text) : null);
    if (Number.isInteger(embed.color) && embed.color > 0) node.style.borderLeftColor = `#${embed.color.toString(16).padStart(6, "0")}`;
    return node;
  });
}

// Buttons, selects, layouts

export function components(message) {
  return h("div", { class: "components" }, message.components.map((part) => layout(part, message)));
}

function layout(part, message) {
  const inner = () => (part.components ?? []).map((child) => layout(child, message));
  switch (part.type) {
    case ROW: return h("div", { class: "row", role: "group" }, inner());
    case BUTTON: return button(part, message);
    case SECTION: return h("div", { class: "section" }, h("div", {}, inner()), part.accessory ? layout(part.accessory, message) : null);
    case TEXT: return h("div", { class: "text-display" }, markdown(part.content, names));
    case SEPARATOR: return h("hr", { class: part.divider === false ? "gap" : "" });
    case CONTAINER: return container(part, inner());
    case THUMBNAIL: return mediaOf(part.media, message);
    case GALLERY: return h("div", { class: "files" }, (part.items ?? []).map((item) => mediaOf(item.media, message)));
    case FILE: return mediaOf(part.file, message);
    default: return SELECTS.has(part.type) ? select(part, message) : null;
  }
}

function container(part, inner) {
  const node = h("div", { class: "container" }, inner);
  if (Number.isInteger(part.accent_color)) node.style.borderLeftColor = `#${part.accent_color.toString(16).padStart(6, "0")}`;
  return node;
}

/** Only files of the message itself are shown: the page loads nothing from elsewhere. */
function mediaOf(media, message) {
  const name = /^attachment:\/\/(.+)$/.exec(media?.url ?? "")?.[1];
  const file = message.attachments.find((item) => item.filename === name);
  return file ? attachment(file) : null;
}

function use(message, part, values) {
  return interact("click", { as: state.me, channel: message.channel_id, message: message.id, custom_id: part.custom_id, values });
}

function button(part, message) {
  const label = [part.emoji?.name && !part.emoji.id ? `${part.emoji.name} ` : null, part.label];
  if (part.style === 5) return h("span", { class: "link" }, label, " ", `(${part.url})`);
  const node = h("button", { type: "button", class: `button ${STYLES[part.style] ?? ""}`, disabled: part.disabled }, label);
  node.addEventListener("click", async () => {
    if (node.hasAttribute("aria-busy")) return; // one click acts once
    node.setAttribute("aria-busy", "true");
    await use(message, part);
    node.removeAttribute("aria-busy");
  });
  return node;
}

/** What a select offers: its own choices, or people, roles and channels. */
export function selectOptions(part) {
  const people = () => membersHere().map((one) => ({ value: one.id, label: `@${one.name}` }));
  const roles = () => rolesHere().map((role) => ({ value: role.id, label: `@${role.name}` }));
  const channels = () => channelsHere().map((one) => ({ value: one.id, label: `#${one.name}` }));
  return { 3: () => part.options ?? [], 5: people, 6: roles, 7: () => [...people(), ...roles()], 8: channels }[part.type]();
}

export function selectControl(part, props = {}) {
  const many = (part.max_values ?? 1) > 1;
  const options = selectOptions(part).map((option) => h("option", { value: option.value, selected: Boolean(option.default), title: option.description }, option.label));
  const empty = many ? null : h("option", { value: "", selected: !(part.options ?? []).some((option) => option.default) }, part.placeholder ?? "Choose…");
  return h("select", { multiple: many, disabled: part.disabled, "aria-label": part.placeholder ?? "Choose", ...props }, empty, options);
}

function select(part, message) {
  const control = selectControl(part);
  const send = () => {
    const values = [...control.selectedOptions].map((option) => option.value).filter(Boolean);
    if (values.length >= (part.min_values ?? 1)) use(message, part, values);
  };
  if (!control.multiple) {
    control.addEventListener("change", send);
    return control;
  }
  return h("div", { class: "row" }, control, h("button", { type: "button", class: "button", onclick: send }, "Choose"));
}
