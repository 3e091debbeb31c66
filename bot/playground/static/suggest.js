// A list of suggestions under a text field: mentions, commands, autocomplete. The field keeps the
// focus; arrows move in the list, Tab or Enter takes, Escape closes.

import { fill, h } from "./dom.js";

let count = 0;

export class Suggest {
  /** `take(item)` gets the chosen one; an item has `label` and may have `detail` and `lead`. */
  constructor(field, { take, label, above = true }) {
    Object.assign(this, { field, take });
    count += 1;
    this.id = `suggest-${count}`;
    this.items = [];
    this.at = 0;
    this.list = h("ul", { class: `suggest${above ? " above" : ""}`, role: "listbox", id: this.id, "aria-label": label, hidden: true });
    field.setAttribute("aria-controls", this.id);
    field.setAttribute("aria-autocomplete", "list");
    field.setAttribute("autocomplete", "off");
    field.addEventListener("keydown", (event) => this.#keys(event));
    field.addEventListener("blur", () => this.show([]));
  }

  get isOpen() {
    return this.items.length > 0;
  }

  show(items) {
    this.items = items;
    this.at = 0;
    this.list.hidden = !items.length;
    fill(this.list, items.map((item, index) => this.#row(item, index)));
    this.#mark();
  }

  #row(item, index) {
    const choose = (event) => {
      event.preventDefault(); // the field keeps the focus
      this.#take(index);
    };
    return h("li", { role: "option", id: `${this.id}-${index}`, onpointerdown: choose },
      item.lead ?? null, h("span", { class: "suggest-label" }, item.label), item.detail ? h("span", { class: "suggest-detail" }, item.detail) : null);
  }

  #take(index) {
    const item = this.items[index];
    this.show([]);
    this.take(item);
  }

  #mark() {
    [...this.list.children].forEach((row, index) => row.setAttribute("aria-selected", String(index === this.at)));
    const row = this.list.children[this.at];
    if (row) {
      this.field.setAttribute("aria-activedescendant", row.id);
      row.scrollIntoView({ block: "nearest" });
    } else this.field.removeAttribute("aria-activedescendant");
  }

  #keys(event) {
    if (!this.isOpen || event.isComposing) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) this.at = (this.at + step + this.items.length) % this.items.length;
    else if (event.key === "Escape") this.show([]);
    else if ((event.key === "Enter" || event.key === "Tab") && !event.shiftKey) this.#take(this.at);
    else return;
    event.preventDefault();
    event.stopImmediatePropagation();
    if (step) this.#mark();
  }
}
