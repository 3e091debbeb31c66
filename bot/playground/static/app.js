// The chat page of the playground: puts the parts together and follows what happens.

import { Events } from "./api.js";
import { forgetOffered } from "./commands.js";
import { announce, fill, icon, newer } from "./dom.js";
import { Composer } from "./composer.js";
import { interact } from "./modals.js";
import { attempt, closeAll, notice } from "./popups.js";
import { readHere } from "./seat.js";
import { Sidebar } from "./sidebar.js";
import * as store from "./store.js";
import { Timeline } from "./timeline.js";

const { state } = store;
const TYPING_MILLISECONDS = 10_000;
const ROOM_ICONS = { text: "hash", forum: "hash", thread: "thread", dm: "at" };

const sidebar = new Sidebar({ onPerson: (id) => go(id, wanted().channel) });
const timeline = new Timeline({
  onReply: (message) => composer.reply(message),
  onGoTo: (id) => go(state.me, id),
  onCommand: interact,
});
const composer = new Composer({ onEditLast: (message) => timeline.edit(message) });
const events = new Events({ onOpen: () => attempt(refresh), onEvent: happened, onLost: lost });

// Where one is: #/person/channel

function go(person, channel) {
  location.hash = `#/${person}/${channel}`;
}

function wanted() {
  const [, person, channel] = location.hash.split("/");
  return { person: person || store.rememberedPerson(), channel };
}

addEventListener("hashchange", () => attempt(follow));

async function follow() {
  const { person, channel } = wanted();
  if (person !== state.me || !state.world) return sit(person);
  return enter(channel);
}

/** Take a person's seat. Nothing that another saw stays on the page. */
async function sit(id) {
  events.close();
  store.forget();
  forgetOffered();
  closeAll();
  composer.close();
  timeline.clear();
  const world = await readHere("world", id ? { as: id } : {});
  state.me = world.me;
  store.rememberPerson(world.me);
  store.takeWorld(world);
  showBanner(world.banner);
  await attempt(() => enter(wanted().channel));
  if (state.me === world.me) events.follow(world.me); // and nobody else sits here by now
}

async function enter(id) {
  const known = state.channels.get(id) ?? state.world.guilds[0]?.channels[0] ?? state.world.dms[0];
  if (!known) return notice("There is no conversation to show.");
  state.current = known.id;
  if (id !== known.id) history.replaceState(null, "", `#/${state.me}/${known.id}`);
  document.title = `${known.kind === "text" ? "#" : ""}${known.name} · Inglenook playground`;
  showHead(known);
  sidebar.show();
  composer.enter();
  timeline.clear();
  showTyping();
  await loadMessages(known.id);
  return undefined;
}

async function loadMessages(id) {
  const meanwhile = [];
  heard.add(meanwhile);
  const page = await readShown(id).finally(() => heard.delete(meanwhile));
  if (state.current !== id) return;
  state.messages.set(id, new Map());
  page.messages.forEach(store.putMessage);
  meanwhile.forEach(keep);
  if (page.more) state.complete.delete(id);
  else state.complete.add(id);
  timeline.showAll();
  timeline.setBusy(!events.isOpen);
  store.markRead(id);
  sidebar.show();
}

/** Read the newest messages of a conversation: as far back as it is shown already. */
async function readShown(id) {
  const first = timeline.shown === id ? store.messagesOf(id)[0] : null;
  let { messages, more } = await readHere("messages", { channel: id });
  while (first && more && newer(messages[0].id, first.id)) {
    const earlier = await readHere("messages", { channel: id, before: messages[0].id });
    messages = [...earlier.messages, ...messages];
    more = earlier.more;
  }
  return { messages, more };
}

function showHead(here) {
  const guild = state.guilds.get(here.guild);
  fill(document.getElementById("room-icon"), icon(ROOM_ICONS[here.kind] ?? "hash"));
  fill(document.getElementById("room-name"), here.name);
  fill(document.getElementById("room-topic"), here.topic || (guild ? guild.name : "Direct message"));
}

function showBanner(text) {
  const node = document.getElementById("banner");
  node.hidden = !text;
  fill(node, text);
}

// What happens

let endNotice = null;

function lost() {
  endNotice ??= notice("The playground went away. Trying to reach it again…", Infinity);
  timeline.setBusy(true);
}

/** After each (re)connection: read the world, the commands and the conversation anew. */
async function refresh() {
  endNotice?.();
  endNotice = null;
  await reloadWorld();
  await Promise.all([reloadCommands(), state.current && loadMessages(state.current)]);
}

function reloadCommands() {
  forgetOffered();
  return composer.loadCommands();
}

let worldsAsked = 0;

async function reloadWorld() {
  worldsAsked += 1;
  const mine = worldsAsked;
  const world = await readHere("world");
  if (mine !== worldsAsked) return; // a newer one is on its way
  store.takeWorld(world);
  const here = store.channel();
  if (here) showHead(here);
  else await enter(null);
  sidebar.show();
}

/** What comes while messages are read, of which the answer may not know yet: a list for each reading. */
const heard = new Set();

function keep(event) {
  if (event.type === "message") store.putMessage(event.message);
  if (event.type === "gone") store.dropMessages(event.channel, event.ids);
}

function happened(event) {
  heard.forEach((meanwhile) => meanwhile.push(event));
  switch (event.type) {
    case "message": return onMessage(event.message, event.fresh);
    case "gone": return onGone(event);
    case "typing": return onTyping(event);
    case "world": return attempt(reloadWorld);
    case "bot": return attempt(() => Promise.all([reloadWorld(), reloadCommands()]));
    default: return undefined;
  }
}

function onMessage(message, fresh) {
  const isNew = store.putMessage(message);
  state.typing.get(message.channel_id)?.delete(message.author.id);
  const here = message.channel_id === state.current;
  if (here) {
    if (timeline.shown === state.current) timeline.put(message);
    showTyping();
  }
  if (!isNew || !fresh || message.author.id === state.me) {
    if (here) store.markRead(state.current);
    return;
  }
  if (here && document.hasFocus()) store.markRead(state.current);
  else {
    store.markUnread(message);
    announce(`New message in ${state.channels.get(message.channel_id)?.name ?? "another conversation"}`);
  }
  sidebar.show();
}

function onGone({ channel, ids }) {
  store.dropMessages(channel, ids);
  if (channel === state.current) timeline.drop(ids);
}

function onTyping({ channel, user }) {
  if (!state.typing.has(channel)) state.typing.set(channel, new Map());
  state.typing.get(channel).set(user, Date.now() + TYPING_MILLISECONDS);
  showTyping();
  setTimeout(showTyping, TYPING_MILLISECONDS + 50);
}

function showTyping() {
  const now = Date.now();
  const here = [...(state.typing.get(state.current) ?? [])];
  composer.showTyping(here.filter(([, until]) => until > now).map(([id]) => id));
}

addEventListener("focus", () => {
  if (!state.current || !state.unread.has(state.current)) return;
  store.markRead(state.current);
  sidebar.show();
});

attempt(follow);
