// Runs before the first paint, so that a dark page does not begin white. The rest is in theme.js.
(() => {
  let chosen = null;
  try {
    chosen = JSON.parse(localStorage.getItem("odograph") ?? "{}").theme;
  } catch {
    // Nothing kept, or nothing that can be read: the system's word counts.
  }
  const dark = chosen === "dark" || (chosen !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.dataset.theme = dark ? "dark" : "light";
})();
