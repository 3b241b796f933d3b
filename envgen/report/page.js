"use strict";
(function () {
  const all = (of, what) => Array.from(of.querySelectorAll(what));
  const make = (name, more, words) => Object.assign(document.createElement(name), more, { textContent: words });

  // The parts of the page become tabs; arrow keys go from one to the next.
  const parts = all(document, "main > section[id]"), nav = document.createElement("nav");
  const show = (part, focus) => parts.forEach((p, i) => {
    const tab = nav.children[i], here = p === part;
    p.style.display = here ? "" : "none";
    tab.setAttribute("aria-selected", here);
    tab.tabIndex = here ? 0 : -1;
    if (here && focus) tab.focus();
  });
  nav.setAttribute("role", "tablist");
  parts.forEach((p) => {
    const tab = make("button", { type: "button", id: "tab-" + p.id }, p.querySelector("h2").textContent);
    tab.setAttribute("role", "tab");
    tab.setAttribute("aria-controls", p.id);
    p.setAttribute("role", "tabpanel");
    p.setAttribute("aria-labelledby", tab.id);
    tab.onclick = () => {
      nav.classList.toggle("open"); // on a narrow page, where the tabs are a menu
      show(p);
      history.replaceState(null, "", "#" + p.id);
    };
    nav.append(tab);
  });
  nav.onkeydown = (e) => {
    const at = parts.findIndex((p) => p.style.display === ""), n = parts.length;
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1 + n, Home: 0, End: n - 1 }[e.key];
    if (to === undefined) return;
    e.preventDefault();
    show(parts[to % n], true);
  };
  const linked = () => parts.find((p) => "#" + p.id === location.hash);
  if (parts.length > 1) {
    document.querySelector("header").after(nav);
    show(linked() || parts[0]);
    addEventListener("hashchange", () => { if (linked()) show(linked()); });
  }

  // Under a plot stands what is known of the size under the pointer, or of the one that the arrow keys have come to.
  all(document, ".plot").forEach((plot) => {
    const columns = all(plot, ".at"), say = plot.querySelector("output");
    let at = -1;
    const go = (to) => {
      if (columns[at]) columns[at].classList.remove("here");
      at = to;
      columns[at].classList.add("here");
      say.textContent = columns[at].querySelector("title").textContent;
    };
    columns.forEach((c, i) => c.addEventListener("pointerenter", () => go(i)));
    plot.querySelector("svg").onkeydown = (e) => {
      const to = { ArrowRight: at + 1, ArrowLeft: at < 0 ? columns.length - 1 : at - 1 }[e.key];
      if (to === undefined || !columns[to]) return;
      e.preventDefault();
      go(to);
    };
  });
})();
