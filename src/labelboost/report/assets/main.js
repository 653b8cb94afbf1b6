// The theme, the mark of the section in view, and the start.

const THEMES = ["auto", "light", "dark"];

function storedTheme() {
  try {
    const theme = localStorage.getItem("labelboost-report-theme");
    return THEMES.includes(theme) ? theme : "auto";
  } catch {
    return "auto"; // some browsers refuse storage to pages from disk
  }
}

function setTheme(theme) {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  byId("theme").textContent = `Theme: ${theme}`;
}

function startTheme() {
  let theme = storedTheme();
  setTheme(theme);
  byId("theme").addEventListener("click", () => {
    theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
    setTheme(theme);
    try {
      localStorage.setItem("labelboost-report-theme", theme);
    } catch {
      // The choice lasts as long as the page, then.
    }
  });
}

function markSectionInView() {
  const links = new Map([...document.querySelectorAll(".page-nav a")].map((link) => [link.hash.slice(1), link]));
  const observer = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      for (const link of links.values()) link.removeAttribute("aria-current");
      const link = links.get(entry.target.id);
      link.setAttribute("aria-current", "true");
      const list = link.closest("ul");
      list.scrollLeft = link.offsetLeft - list.clientWidth / 2 + link.offsetWidth / 2;
    }
  }, { rootMargin: "-25% 0px -70% 0px" });
  for (const section of document.querySelectorAll("main > section")) observer.observe(section);
}

startTheme();
drawSummary();
drawCurve();
drawLabels();
drawDependence();
drawFeatures();
drawRules();
drawExamples();
markSectionInView();
if (location.hash.length > 1) byId(location.hash.slice(1))?.scrollIntoView();
document.documentElement.dataset.ready = "true";
