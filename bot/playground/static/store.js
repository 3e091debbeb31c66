// What the page knows: the world as one person sees it, their messages, what they have read.

import { newer } from "./dom.js";

const READ_KEY = "inglenook.read";
const PERSON_KEY = "inglenook.person";

export const state = {
  me: null,
  /** Counts who sat here, one after the other. */
  seat: 0,
  world: null,
  people: new Map(),
  channels: new Map(),
  guilds: new Map(),
  roles: new Map(),
  current: null,
  messages: new Map(),
  complete: new Set(),
  typing: new Map(),
  unread: new Map(),
};

/** Take in the world as the playground tells it. */
export function takeWorld(world) {
  state.world = world;
  state.people = new Map(world.people.map((person) => [person.id, person]));
  state.guilds = new Map(world.guilds.map((guild) => [guild.id, guild]));
  state.roles = new Map(world.guilds.flatMap((guild) => guild.roles.map((role) => [role.id, role])));
  const channels = [...world.guilds.flatMap((guild) => guild.channels), ...world.dms];
  state.channels = new Map(channels.map((channel) => [channel.id, channel]));
  for (const channel of channels) {
    if (newer(channel.last, lastRead(channel.id)) && !state.unread.has(channel.id)) {
      state.unread.set(channel.id, { count: 0, loud: channel.kind === "dm" });
    }
  }
}

export function person() {
  return state.people.get(state.me);
}

export function channel() {
  return state.channels.get(state.current);
}

/** The name of a person where they are being read: a server may know them by another. */
export function nameOf(id, guildId = channel()?.guild) {
  return state.guilds.get(guildId)?.nicks[id] ?? state.people.get(id)?.name;
}

/** What the bot is called here. */
export function botName() {
  const bot = [...state.people.values()].find((one) => one.bot);
  return bot ? nameOf(bot.id) : "the bot";
}

export const names = {
  user: (id) => nameOf(id),
  role: (id) => state.roles.get(id)?.name,
  channel: (id) => state.channels.get(id)?.name,
  isMe: (id) => id === state.me,
};

/** Who can be addressed in the current conversation. */
export function membersHere() {
  const here = channel();
  const ids = here?.guild ? state.guilds.get(here.guild).members : (here?.members ?? []);
  return ids.map((id) => state.people.get(id)).filter(Boolean);
}

export function rolesHere() {
  return channel()?.guild ? state.guilds.get(channel().guild).roles : [];
}

export function channelsHere() {
  return channel()?.guild ? state.guilds.get(channel().guild).channels : [];
}

// Messages

export function messagesOf(channelId) {
  const known = state.messages.get(channelId) ?? new Map();
  return [...known.values()].sort((a, b) => (newer(a.id, b.id) ? 1 : -1));
}

export function putMessage(message) {
  if (!state.messages.has(message.channel_id)) state.messages.set(message.channel_id, new Map());
  const known = state.messages.get(message.channel_id);
  const isNew = !known.has(message.id);
  known.set(message.id, message);
  return isNew;
}

export function dropMessages(channelId, ids) {
  for (const id of ids) state.messages.get(channelId)?.delete(id);
}

export function findMessage(channelId, id) {
  return state.messages.get(channelId)?.get(id);
}

/** Let the person leave, and forget what they saw. */
export function forget() {
  state.seat += 1;
  state.me = null;
  state.world = null;
  state.current = null;
  state.messages.clear();
  state.complete.clear();
  state.typing.clear();
  state.unread.clear();
}

// Reading

function marks() {
  try {
    return JSON.parse(localStorage.getItem(READ_KEY)) ?? {};
  } catch {
    return {};
  }
}

function lastRead(channelId) {
  return marks()[state.me]?.[channelId] ?? "0";
}

export function markRead(channelId) {
  state.unread.delete(channelId);
  const last = messagesOf(channelId).at(-1)?.id ?? state.channels.get(channelId)?.last;
  if (!last || !newer(last, lastRead(channelId))) return;
  const all = marks();
  all[state.me] = { ...all[state.me], [channelId]: last };
  localStorage.setItem(READ_KEY, JSON.stringify(all));
}

export function markUnread(message) {
  const known = state.unread.get(message.channel_id) ?? { count: 0, loud: false };
  const loud = message.pinged || state.channels.get(message.channel_id)?.kind === "dm";
  state.unread.set(message.channel_id, { count: known.count + 1, loud: known.loud || loud });
}

// Who sits here

export function rememberPerson(id) {
  sessionStorage.setItem(PERSON_KEY, id);
}

export function rememberedPerson() {
  return sessionStorage.getItem(PERSON_KEY);
}
