// Live regions, keys, filters. The page works without any of it: links and forms do the work.
"use strict";

const policy = window.trustedTypes
  ? trustedTypes.createPolicy("recall", { createHTML: (text) => text })
  : { createHTML: (text) => text };
const body = document.body;

// --- what changed is fetched as the whole page, and its regions put in the place of the old ones

function parsed(text) {
  return new DOMParser().parseFromString(policy.createHTML(text), "text/html");
}

function openness(region) {
  const kept = new Map();
  region.querySelectorAll("details[data-keep]").forEach((one) => kept.set(one.dataset.keep, one.open));
  return kept;
}

function trail(region, element) {
  // Where the focus is, in words that hold in the new region too.
  if (!element || !region.contains(element)) return null;
  const place = element.closest("[data-card]");
  const all = (root) => [...root.querySelectorAll("a, button, input, [tabindex]")];
  return {
    id: element.id,
    href: element.getAttribute("href"),
    card: place && place.id,
    key: element.dataset.key,
    index: all(region).indexOf(element),
    all,
  };
}

function refocus(region, was) {
  if (!was) return;
  const card = was.card && document.getElementById(was.card);
  const found =
    (was.id && document.getElementById(was.id)) ||
    (card && was.key && card.querySelector(`[data-key="${was.key}"]`)) ||
    card ||
    (was.href && [...region.querySelectorAll("a")].find((one) => one.getAttribute("href") === was.href)) ||
    was.all(region)[Math.max(0, Math.min(was.index, was.all(region).length - 1))] ||
    document.getElementById("main");
  found.focus({ preventScroll: true });
}

function swap(old, fresh) {
  if (old.innerHTML === fresh.innerHTML) return false;
  const kept = openness(old);
  const was = trail(old, document.activeElement);
  const unfolded = [...old.querySelectorAll("[data-unfold][aria-expanded=true]")].length > 0;
  old.replaceChildren(...fresh.childNodes);
  old.querySelectorAll("details[data-keep]").forEach((one) => {
    if (kept.has(one.dataset.keep)) one.open = kept.get(one.dataset.keep);
  });
  prepare(old, unfolded);
  refocus(old, was);
  return true;
}

let fetching = false;
let again = new Set();

async function refresh(topics) {
  topics.forEach((topic) => again.add(topic));
  if (fetching) return;
  fetching = true;
  while (again.size) {
    const wanted = again;
    again = new Set();
    const regions = [...document.querySelectorAll("[data-live]")].filter((one) =>
      one.dataset.live.split(" ").some((topic) => wanted.has(topic)));
    if (!regions.length) continue;
    try {
      const answer = await fetch(location.href, { cache: "no-store" });
      if (!answer.ok) continue;
      const fresh = parsed(await answer.text());
      const changed = regions.filter((one) => {
        const next = fresh.getElementById(one.id);
        return next && swap(one, document.importNode(next, true));
      });
      if (changed.length) say(`${body.dataset.updated} ${new Date().toLocaleTimeString()}`);
    } catch {
      // The server is gone, or goes: the stream says so.
    }
  }
  fetching = false;
}

// --- the stream; a page that nobody sees holds no connection

let stream = null;
let lastSeen = false;

function say(text) {
  const live = document.getElementById("live");
  if (live) live.textContent = text;
}

function listen() {
  if (stream || document.hidden || !body.dataset.events) return;
  stream = new EventSource(body.dataset.events);
  stream.addEventListener("hello", () => {
    document.documentElement.dataset.stream = "on";
    say(body.dataset.liveOn);
    if (lastSeen) refresh(["memories", "sessions", "proposals", "audit", "hosts", "beat"]);
    lastSeen = true;
  });
  stream.addEventListener("error", () => {
    document.documentElement.dataset.stream = "off";
    say(body.dataset.liveOff);
  });
  for (const topic of ["memories", "sessions", "proposals", "audit", "hosts", "beat"]) {
    stream.addEventListener(topic, () => refresh([topic]));
  }
}

function hush() {
  if (stream) stream.close();
  stream = null;
}

document.addEventListener("visibilitychange", () => (document.hidden ? hush() : listen()));
window.addEventListener("pagehide", hush);
window.addEventListener("pageshow", listen);

// --- keys act only where the focus is: j and k inside of a list, a, e and d on a proposal

function step(list, by) {
  const rows = [...list.querySelectorAll("[data-row]")];
  const at = rows.findIndex((one) => one === document.activeElement || one.contains(document.activeElement));
  const next = rows[Math.max(0, Math.min(rows.length - 1, at + by))];
  if (next) next.focus();
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  const target = event.target;
  if (target.matches("input, textarea, select")) return;
  const list = target.closest("[data-list]");
  if (list && (event.key === "j" || event.key === "k")) {
    event.preventDefault();
    step(list, event.key === "j" ? 1 : -1);
    return;
  }
  const card = target.closest("[data-card]");
  const control = card && /^[aed]$/.test(event.key) && card.querySelector(`[data-key="${event.key}"]`);
  if (control) {
    // The focus goes there; it is Enter that decides.
    event.preventDefault();
    control.focus();
  }
});

// --- filters are sent when they are chosen; long unchanged stretches fold away

document.querySelectorAll("[data-submit]").forEach((group) =>
  group.addEventListener("change", () => group.form.requestSubmit()));

document.querySelectorAll("form[role=search]").forEach((form) =>
  form.addEventListener("submit", () => {
    for (const field of form.elements) if (!field.value && field.name) field.disabled = true;
  }));

window.addEventListener("pageshow", () =>
  document.querySelectorAll("form[role=search] :disabled").forEach((one) => (one.disabled = false)));

function prepare(region, unfolded) {
  region.querySelectorAll("[data-unfold]").forEach((button) => {
    const folded = button.closest("tbody").nextElementSibling;
    button.hidden = false;
    folded.hidden = !unfolded;
    button.setAttribute("aria-expanded", String(Boolean(unfolded)));
    button.addEventListener("click", () => {
      folded.hidden = !folded.hidden;
      button.setAttribute("aria-expanded", String(!folded.hidden));
    });
  });
}

prepare(document, false);
if (window.matchMedia("(max-width: 52rem)").matches) {
  document.querySelectorAll("details.fold").forEach((one) => (one.open = false));
}
listen();
performance.mark("interactive");
