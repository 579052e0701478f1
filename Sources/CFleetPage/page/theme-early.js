// Runs before the first paint, so that a dark page does not flash white. theme.js does the rest.
(() => {
  let chosen = null;
  try {
    chosen = JSON.parse(localStorage.getItem("odograph") ?? "{}").theme;
  } catch {
    // No readable preference: use the system's theme.
  }
  const dark = chosen === "dark" || (chosen !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.dataset.theme = dark ? "dark" : "light";
})();
