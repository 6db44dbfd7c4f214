"use strict";
// Fills the page from the events of the query. The browser connects again by itself where the connection is lost.
const state = document.getElementById("state");

function put(id, svg, seen) {
  if (seen[id] === svg) return;
  seen[id] = svg;
  const at = document.getElementById(id);
  if (!svg) { at.replaceChildren(); return; }
  const read = new DOMParser().parseFromString(svg, "image/svg+xml").documentElement;
  at.replaceChildren(document.importNode(read, true));
}

const seen = {};
const events = new EventSource("events");
events.onopen = () => { document.body.className = "open"; };
events.onerror = () => {
  document.body.className = "lost";
  state.textContent = events.readyState === EventSource.CLOSED ? "refused; reload the page" : "connection lost, trying again";
};
events.onmessage = (event) => {
  const told = JSON.parse(event.data);
  for (const [id, text] of Object.entries(told.texts)) {
    const at = document.getElementById(id);
    if (at && at.textContent !== text) at.textContent = text;
  }
  for (const [id, svg] of Object.entries(told.lines)) put(id + "_line", svg, seen);
  put("picture", told.picture, seen);
};
