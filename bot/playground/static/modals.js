// Dialogs that the bot asks for.

import { act } from "./api.js";
import { h } from "./dom.js";
import { markdown } from "./markdown.js";
import { ask, attempt, notice } from "./popups.js";
import { selectControl } from "./components.js";
import { sitting } from "./seat.js";
import { botName, names, state } from "./store.js";

const ROW = 1, INPUT = 4, TEXT = 10, LABEL = 18;

/**
 * Use a command, a button or a menu entry, and fill in the form that the bot may ask for. The answer
 * itself comes as a message. Gives whether the playground took it.
 */
export async function interact(what, body, files = []) {
  const result = await attempt(() => sitting(act(what, body, files)));
  if (result?.modal) await askModal(result);
  if (result?.silent) notice(`${botName()} did not answer in time.`);
  return Boolean(result);
}

/** Show the modal of an interaction and send what was filled in; a refusal shows it again. */
async function askModal({ interaction, modal }) {
  const fields = (modal.components ?? []).map((part) => field(part));
  let taken = false;
  while (!taken) {
    const form = await ask({ title: modal.title, fields, confirm: "Send" });
    if (!form) return;
    taken = await interact("modal", { as: state.me, interaction, values: valuesOf(form) });
  }
}

function valuesOf(form) {
  const values = {};
  for (const control of form.querySelectorAll("[data-custom-id]")) {
    const chosen = control.tagName === "SELECT" ? [...control.selectedOptions].map((option) => option.value).filter(Boolean) : control.value;
    values[control.dataset.customId] = chosen;
  }
  return values;
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
