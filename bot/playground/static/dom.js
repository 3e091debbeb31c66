// Building of page elements. Texts of people only ever become text nodes: nothing here, or anywhere
// else on the page, reads markup from a string.

const SVG = "http://www.w3.org/2000/svg";

const ICONS = {
  hash: "M9 4 7 20M17 4l-2 16M4 9h16M4 15h16",
  thread: "M4 5h16v10H11l-4 4v-4H4zM8 9h8M8 12h5",
  at: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zm4 0v5.5a2.5 2.5 0 0 0 5 0V12a9 9 0 1 0-4 7.5",
  menu: "M4 7h16M4 12h16M4 17h16",
  reply: "M10 6 4 12l6 6M4 12h10a6 6 0 0 1 6 6v1",
  edit: "M4 20h4L19 9l-4-4L4 16zM13 7l4 4",
  trash: "M5 7h14M10 4h4M7 7l1 13h8l1-13M10 11v5M14 11v5",
  smile: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM8.5 14.5a4.5 4.5 0 0 0 7 0M9 9.5v.5M15 9.5v.5",
  dots: "M5 12h.01M12 12h.01M19 12h.01",
  clip: "M20 11.5 12 19.5a5 5 0 0 1-7-7L13.5 4a3.3 3.3 0 0 1 4.7 4.7L10 17a1.7 1.7 0 0 1-2.4-2.4L15 7.5",
  send: "M4 12 20 4l-5 16-3.5-6.5zM11.5 13.5 20 4",
  close: "M6 6l12 12M18 6 6 18",
  file: "M7 3h7l5 5v13H7zM14 3v5h5",
  download: "M12 4v11M7 11l5 5 5-5M5 20h14",
  eye: "M3 12s3.5-6 9-6 9 6 9 6-3.5 6-9 6-9-6-9-6zM12 9.5a2.5 2.5 0 1 0 0 5 2.5 2.5 0 0 0 0-5z",
  flame: "M12 3c1 4 5 5.5 5 10.5a5 5 0 0 1-10 0C7 11 8.500 9.500 9 8c1 1 1.500 2 1.500 3C12 9 12.500 6 12 3z",
  slash: "M5 4h14v16H5zM14 8l-4 8",
  down: "M6 9l6 6 6-6",
  copy: "M8 8h11v12H8zM5 16V4h11",
};

const PROPERTIES = new Set(["value", "checked", "selected", "disabled", "multiple", "hidden", "tabIndex"]);

/** Make an element. Keys that begin with "on" are listeners; missing values leave the key out. */
export function h(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(props ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (key === "class") node.className = value;
    else if (key === "dataset") Object.assign(node.dataset, value);
    else if (PROPERTIES.has(key)) node[key] = value;
    else node.setAttribute(key, value === true ? "" : String(value));
  }
  node.append(...flat(children));
  return node;
}

function flat(children) {
  return children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false);
}

/** Replace what an element holds. */
export function fill(node, ...children) {
  node.replaceChildren(...flat(children));
  return node;
}

/**
 * Make what an element holds like what a fresh one holds, and leave alone what is the same: a click
 * that has begun, an open list and the place are kept. Listeners stay those of the first.
 */
export function renew(node, fresh) {
  const [old, now] = [[...node.childNodes], [...fresh.childNodes]];
  old.forEach((each, at) => (at < now.length ? become(each, now[at]) : each.remove()));
  node.append(...now.slice(old.length));
}

function become(old, now) {
  if (old.isEqualNode(now)) return;
  if (old.nodeName !== now.nodeName || !old.attributes) {
    old.replaceWith(now);
    return;
  }
  for (const { name } of [...old.attributes]) if (!now.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of now.attributes) old.setAttribute(name, value);
  renew(old, now);
}

/** Draw one of our icons; it means nothing to a screen reader, its button carries the name. */
export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", ICONS[name]);
  svg.append(path);
  return svg;
}

/** A button that shows an icon and says its name. */
export function iconButton(name, label, onclick, props = {}) {
  return h("button", { type: "button", class: "icon-button", "aria-label": label, title: label, onclick, ...props }, icon(name));
}

/** A person's round picture: the first letter on a colour of their own, the flame for a bot. */
export function avatar(person, small = false) {
  const hue = person ? Number(BigInt(person.id) % 7n) : 0;
  const classes = `avatar hue-${hue}${person?.bot ? " bot" : ""}${small ? " small" : ""}`;
  return h("span", { class: classes, "aria-hidden": "true" }, person?.bot ? icon("flame") : [...(person?.name ?? "?")][0]);
}

/** Ids are snowflakes: longer than what a number holds, in order as integers. */
export function newer(one, other) {
  return BigInt(one ?? 0) > BigInt(other ?? 0);
}

/** Say a size as people do. */
export function sizeText(bytes) {
  if (bytes < 1000) return `${bytes} bytes`;
  if (bytes < 1_000_000) return `${(bytes / 1000).toFixed(1)} kB`;
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}

/** Say something to screen readers alone. */
export function announce(text) {
  document.getElementById("announcer").textContent = text;
}
