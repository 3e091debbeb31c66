// Servers, conversations, and who sits at the keyboard.

import { avatar, fill, h, icon, renew } from "./dom.js";
import { person, state } from "./store.js";

const ICON = { text: "hash", forum: "hash", thread: "thread", dm: "at" };

export class Sidebar {
  constructor({ onPerson }) {
    this.onPerson = onPerson;
    this.node = document.getElementById("sidebar");
    this.shell = document.getElementById("shell");
    this.opener = document.getElementById("open-nav");
    this.opener.append(icon("menu"));
    this.opener.addEventListener("click", () => this.toggle());
    document.getElementById("veil").addEventListener("click", () => this.toggle(false));
    document.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && this.shell.classList.contains("nav-open")) this.toggle(false);
    });
  }

  toggle(open = !this.shell.classList.contains("nav-open")) {
    this.shell.classList.toggle("nav-open", open);
    this.opener.setAttribute("aria-expanded", String(open));
    if (open) this.node.querySelector("[aria-current]")?.focus();
    else if (this.node.contains(document.activeElement)) this.opener.focus();
  }

  /** Show the world as it is now. What did not change stays: under the pointer, too. */
  show() {
    const focused = document.activeElement?.id;
    const now = h("nav", {},
      h("div", { class: "brand" }, h("span", { class: "brand-mark" }, icon("flame")), h("span", {}, "Inglenook"), h("small", {}, "playground")),
      h("div", { class: "places" }, state.world.guilds.map((guild) => this.#guild(guild)), this.#section("Direct messages", state.world.dms)),
      this.#who());
    renew(this.node, now);
    document.getElementById("who").value = state.me;
    if (focused && document.activeElement?.id !== focused) document.getElementById(focused)?.focus();
  }

  #guild(guild) {
    const tops = guild.channels.filter((one) => one.kind !== "thread");
    const rows = tops.flatMap((one) => [one, ...guild.channels.filter((other) => other.parent === one.id && !other.archived)]);
    return this.#section(guild.name, rows);
  }

  #section(title, channels) {
    if (!channels.length) return null;
    return h("section", { "aria-label": title }, h("h2", {}, title), h("ul", {}, channels.map((one) => h("li", {}, this.#link(one)))));
  }

  #link(one) {
    const unread = state.unread.get(one.id);
    const here = one.id === state.current;
    const friend = one.kind === "dm" ? state.people.get(one.members.find((id) => id !== state.me)) : null;
    const note = unread ? h("span", { class: unread.loud ? "unread loud" : "unread" }, unread.loud && unread.count ? String(unread.count) : "", h("span", { class: "for-readers" }, " unread")) : null;
    return h("a", {
      href: `#/${state.me}/${one.id}`, id: `to-${one.id}`, class: `place ${one.kind}${unread ? " has-unread" : ""}`,
      "aria-current": here ? "page" : undefined, onclick: () => this.toggle(false),
    }, friend ? avatar(friend, true) : icon(ICON[one.kind] ?? "hash"), h("span", { class: "place-name" }, one.name), note);
  }

  #who() {
    const bot = state.world.bot;
    const people = state.world.people.filter((one) => !one.bot);
    const choose = h("select", { id: "who", onchange: (event) => this.onPerson(event.target.value) },
      people.map((one) => h("option", { value: one.id, selected: one.id === state.me }, one.owner ? `${one.name} (owner)` : one.name)));
    return h("div", { class: "who" },
      h("p", { class: bot.online ? "presence online" : "presence", role: "status" }, h("i", { "aria-hidden": "true" }), bot.online ? `${bot.name} is here` : `${bot.name} is not connected`),
      h("label", { class: "who-field" }, avatar(person()), h("span", {}, h("small", {}, "You are"), choose), icon("down")));
  }
}
