// Keeps a page current, and its keys. Without it every page works by reloading.
"use strict";

const made = (html) => {
  const holder = document.createElement(html.startsWith("<tr") ? "tbody" : "div");
  holder.innerHTML = html;
  return holder.firstElementChild;
};

// Elements without a place in the page belong to the list of their prefix, after the one that they follow.
const place = (id, html, after) => {
  const element = made(html);
  const old = document.getElementById(id);
  if (old) {
    const focused = old.contains(document.activeElement) && document.activeElement.getAttribute("href");
    if (old.classList.contains("at")) element.classList.add("at");
    old.replaceWith(element);
    if (focused) element.querySelector(`[href="${CSS.escape(focused)}"]`)?.focus();
    return;
  }
  const list = [...document.querySelectorAll("[data-list]")].find((each) => id.startsWith(each.dataset.list));
  if (!list) return;
  const before = after && document.getElementById(after);
  if (before && before.parentElement === list) before.after(element);
  else list.prepend(element);
};

// Keeps a stream open while the page can be seen: nobody looks at a hidden one, and it asks for nothing.
const live = document.getElementById("live");
const streamed = (query, take) => {
  const address = new URL(location.href);
  let source;
  const open = (more = {}) => {
    source?.close();
    for (const [name, value] of Object.entries({ ...query, ...more })) address.searchParams.set(name, value);
    source = new EventSource(address);
    source.onopen = () => { live.hidden = false; live.textContent = "live"; live.classList.remove("lost"); };
    source.onerror = () => { live.textContent = "connection lost"; live.classList.add("lost"); };
    source.onmessage = (event) => take(JSON.parse(event.data));
  };
  let over = false;
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) source?.close();
    else if (!over && (!source || source.readyState === EventSource.CLOSED)) open();
  });
  if (!document.hidden) open();
  const stop = (sentence) => {
    over = true;
    source.close();
    live.hidden = true;
    const problem = document.getElementById("problem");
    problem.textContent = sentence;
    problem.hidden = false;
  };
  return { open, stop };
};

const body = document.body;
if (body.dataset.since) {
  const { open, stop } = streamed({ since: body.dataset.since }, (message) => {
    if (message.problem) return stop(message.problem);
    for (const id of message.gone) document.getElementById(id)?.remove();
    for (const [id, html, after] of message.set) place(id, html, after);
    ages();
    watchEnd();
  });
  // The end of a table that goes on comes into sight: the stream is opened for more rows.
  const end = new IntersectionObserver((entries) => {
    if (entries.some((each) => each.isIntersecting)) open({ rows: document.getElementById("more").dataset.rows });
  }, { rootMargin: "1500px" });
  let watched;
  const watchEnd = () => {
    const more = document.getElementById("more");
    if (more === watched) return;
    end.disconnect();
    watched = more;
    if (more && !more.hidden) end.observe(more);
  };
  watchEnd();
}

const log = document.getElementById("log");
if (log && !new URLSearchParams(location.search).has("previous")) {
  const follow = document.getElementById("follow");
  const most = 20000;
  streamed({ since: log.lastElementChild?.dataset.stamp ?? "" }, (message) => {
    log.insertAdjacentHTML("beforeend", message.append.join(""));
    while (log.childElementCount > most) log.firstElementChild.remove();
    if (follow.checked) log.scrollTop = log.scrollHeight;
  });
  log.scrollTop = log.scrollHeight;
}

const span = (seconds) => {
  const pair = (large, a, small, b) => {
    const rest = Math.floor((seconds % large) / small);
    return `${Math.floor(seconds / large)}${a}${rest ? rest + b : ""}`;
  };
  if (seconds < 120) return `${Math.floor(seconds)}s`;
  if (seconds < 600) return pair(60, "m", 1, "s");
  if (seconds < 10800) return `${Math.floor(seconds / 60)}m`;
  if (seconds < 28800) return pair(3600, "h", 60, "m");
  if (seconds < 172800) return `${Math.floor(seconds / 3600)}h`;
  if (seconds < 691200) return pair(86400, "d", 3600, "h");
  return `${Math.floor(seconds / 86400)}d`;
};
const ages = () => {
  for (const each of document.querySelectorAll("time")) {
    each.textContent = span(Math.max((Date.now() - Date.parse(each.dateTime)) / 1000, 0));
  }
};
ages();
setInterval(() => { if (!document.hidden) ages(); }, 5000);

const step = (by) => {
  const rows = [...document.querySelectorAll("[data-rows] > tr")];
  if (!rows.length) return;
  const at = rows.findIndex((row) => row.classList.contains("at"));
  rows[at]?.classList.remove("at");
  const row = rows[at < 0 ? 0 : Math.min(Math.max(at + by, 0), rows.length - 1)];
  row.classList.add("at");
  row.querySelector("a")?.focus();
  row.scrollIntoView({ block: "nearest" });
};
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, select, textarea")) return;
  const keys = {
    "/": () => document.querySelector("[data-search]")?.focus(),
    "?": () => document.getElementById("help").showModal(),
    j: () => step(1),
    k: () => step(-1),
  };
  if (keys[event.key]) {
    keys[event.key]();
    event.preventDefault();
  }
});
for (const form of document.querySelectorAll("form.filters")) {
  form.addEventListener("change", (event) => { if (event.target.matches("select, [type=checkbox]")) form.requestSubmit(); });
}
