// Before anything is painted: the theme and the language, so that nothing flashes.
(function () {
  var root = document.documentElement;
  var kept = {};
  try {
    kept = JSON.parse(localStorage.getItem("roost") || "{}") || {};
  } catch (error) {
    kept = {};
  }
  var dark = kept.theme === "dark" || (kept.theme !== "light" && (location.pathname === "/wall" || matchMedia("(prefers-color-scheme: dark)").matches));
  root.dataset.theme = dark ? "roost-dark" : "roost";
  var chinese = kept.language === "zh" || (kept.language !== "en" && (navigator.language || "").toLowerCase().startsWith("zh"));
  root.lang = chinese ? "zh-CN" : "en";
})();
