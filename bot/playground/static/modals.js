// Dialogs that the bot asks for.

import { act } from "./api.js";
import { h } from "./dom.js";
import { markdown } from "./markdown.js";
import { ask, attempt, notice } from "./popups.js";
import { selectControl } from "./components.js";
import { botName, names, state } from "./store.js";

const ROW = 1, INPUT = 4, TEXT = 10, LABEL = 18;

/** Show the modal of an interaction and send what was filled in. */
export async function askModal({ interaction, modal }) {
  const form = await ask({ title: modal.title, fields: (modal.components ?? []).map((part) => field(part)), confirm: "Send" });
  if (!form) return;
  const values = {};
  for (const control of form.querySelectorAll("[data-custom-id]")) {
    const chosen = control.tagName === "SELECT" ? [...control.selectedOptions].map((option) => option.value).filter(Boolean) : control.value;
    values[control.dataset.customId] = chosen;
  }
  const result = await attempt(() => act("modal", { as: state.me, interaction, values }));
  if (result?.silent) notice(`${botName()} did not answer in time.`);
}

function field(part, label) {
  switch (part.type) {
    case ROW: return (part.components ?? []).map((child) => field(child));
    case LABEL: return field(part.component, part);
    case TEXT: return h("div", {}, markdown(part.content, names));
    case INPUT: return labelled(label?.label ?? part.label, label?.description, textInput(part));
    default: return part.custom_id ? labelled(label?.label ?? "", label?.description, selectControl(part, { dataset: { customId: part.custom_id } })) : null;
  }
}

function labelled(label, description, control) {
  return h("label", { class: "field" }, h("span", {}, label), description ? h("small", {}, description) : null, control);
}

function textInput(part) {
  return h(part.style === 2 ? "textarea" : "input", {
    dataset: { customId: part.custom_id },
    value: part.value ?? "",
    placeholder: part.placeholder,
    required: part.required ?? true,
    minlength: part.min_length,
    maxlength: part.max_length ?? 4000,
    rows: part.style === 2 ? 5 : undefined,
  });
}
