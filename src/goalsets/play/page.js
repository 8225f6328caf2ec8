// Adds what viser's page lacks: names for screen readers, sections that look and act like sections,
// room for the robot in small windows. It reads the page and marks what it finds; page.css styles
// these marks. It runs again whenever the page changes.
(() => {
  if (window.goalsetsPage) return;
  window.goalsetsPage = true;
  document.title = "goalsets playground";

  const NARROW = 1000; // pixels: below this, two panels leave the robot no room
  const FIELDS = "input:not([type=hidden]), textarea, [role=slider]";
  const ICONS = {
    adjustments: "Viewer settings",
    "arrow-back": "Back to the playground",
    maximize: "Enlarge the chart",
  };
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const set = (element, name, value) => {
    if (element.getAttribute(name) !== value) element.setAttribute(name, value);
  };

  // A label is beside its field or its row of buttons; viser connects only some of them.
  function nameFields() {
    for (const label of all("label[for]")) {
      const text = label.textContent.trim();
      let row = label.parentElement;
      while (row && !row.querySelector(`${FIELDS}, button`)) row = row.parentElement;
      if (!row || !text) continue;
      for (const field of all(FIELDS, row))
        if (field.id !== label.htmlFor) set(field, "aria-label", text);
      const buttons = all("button", row).filter((button) => button.textContent.trim());
      if (buttons.length > 1 && !row.querySelector("input")) {
        set(buttons[0].parentElement, "role", "group");
        set(buttons[0].parentElement, "aria-label", text);
      }
    }
    for (const field of all("input[placeholder]:not([aria-label])"))
      if (!field.labels?.length) set(field, "aria-label", field.placeholder || "Value");
  }

  function nameIcons() {
    for (const button of all("button:not([aria-label])")) {
      if (button.textContent.trim()) continue;
      const icon = Object.keys(ICONS).find((name) => button.querySelector(`.tabler-icon-${name}`));
      set(button, "aria-label", ICONS[icon] ?? "Close");
    }
    for (const image of all("img:not([alt])")) set(image, "alt", "");
  }

  // A tick at the start of a button's label says that it is chosen.
  function markChosen() {
    for (const button of all("button")) {
      const chosen = button.textContent.trim().startsWith("✓");
      if (chosen || button.hasAttribute("aria-pressed")) set(button, "aria-pressed", `${chosen}`);
    }
  }

  function markSections() {
    for (const icon of all(".mantine-Paper-root > .mantine-Paper-root > .tabler-icon")) {
      const head = icon.parentElement;
      const open = icon.classList.contains("tabler-icon-chevron-up");
      if (icon.style.display === "none") continue; // a section without content does not open
      set(head.parentElement, "data-section", open ? "open" : "closed");
      set(head, "data-section-head", "");
      set(head, "role", "button");
      set(head, "tabindex", "0");
      set(head, "aria-expanded", `${open}`);
    }
  }

  function markPlaces() {
    set(document.getElementById("root"), "role", "main");
    // On a phone, viser shows its panels as a sheet at the bottom.
    for (const paper of all(".mantine-Paper-root"))
      if (paper.style.position === "fixed") set(paper, "data-sheet", "");
  }

  // The right panel is folded when a window becomes narrow, and unfolded when it becomes wide.
  // In between it stays as the user left it.
  let narrow = false;
  function makeRoom() {
    const now = window.innerWidth < NARROW;
    if (now === narrow) return;
    const toggle = now
      ? document.querySelector("[data-dock-region-collapse=right]")
      : document.querySelector("[data-dock-region=right] [data-dock-minimize-all]");
    if (!toggle) return; // not there yet, or a person has folded it already
    narrow = now;
    const focused = document.activeElement;
    toggle.click();
    focused?.focus?.();
  }

  // Scroll to an error message, wherever on the page it is.
  const said = new WeakMap();
  function showProblems() {
    for (const problem of all("[data-problem]")) {
      if (said.get(problem) === problem.textContent) continue;
      said.set(problem, problem.textContent);
      problem.scrollIntoView({ block: "nearest" });
    }
  }

  // A browser that draws in software is worth a notice, but not a permanent one.
  const leaving = new WeakSet();
  function closeNotice() {
    for (const notice of all(".mantine-Notification-root")) {
      if (leaving.has(notice) || !notice.textContent.startsWith("Software WebGL")) continue;
      leaving.add(notice);
      setTimeout(() => notice.querySelector("button")?.click(), 8000);
    }
  }

  function dress() {
    markPlaces();
    closeNotice();
    markSections();
    nameFields();
    nameIcons();
    markChosen();
    makeRoom();
    showProblems();
  }

  let waiting = false;
  function soon() {
    if (waiting) return;
    waiting = true;
    setTimeout(() => {
      waiting = false;
      dress();
    }, 60);
  }

  document.addEventListener("keydown", (event) => {
    if (!(event.target instanceof Element) || !event.target.matches("[data-section-head]")) return;
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    event.target.click();
  });
  window.addEventListener("resize", soon);
  new MutationObserver(soon).observe(document.body, {
    childList: true,
    subtree: true,
    characterData: true,
  });
  dress();
})();
